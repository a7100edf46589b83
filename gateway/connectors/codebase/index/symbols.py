"""Symbols: what a file defines, and where. Files are parsed by tree-sitter; languages without a grammar are searched by
_PLAIN.

A file with syntax errors gives the definitions that its parser recognises.
"""

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath

from tree_sitter import Language, Node, Parser, Query, QueryCursor

LARGEST_PARSED = 400_000  # bytes; larger files, which are mostly generated, are searched by _PLAIN instead
MOST = 2_000  # symbols of a file
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Symbol:
    """`kind`: function, class, type, constant or module. Lines are numbered from 1; `end_line` is its last
    line."""

    name: str
    kind: str
    start_line: int
    end_line: int


# Each pattern captures a definition under its kind, such as @function, and the definition's name under @name. The tags
# queries that grammars ship are not used, because they also list references.
_JAVASCRIPT = """
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(class_declaration name: (_) @name) @class
(method_definition name: (_) @name) @function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @constant)))
"""
_TYPESCRIPT = (
    _JAVASCRIPT
    + """
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @type
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @type
(function_signature name: (_) @name) @function
(internal_module name: (_) @name) @module
"""
)
_C = """
(function_definition declarator: (function_declarator declarator: (_) @name)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name))) @function
(struct_specifier name: (_) @name body: (_)) @type
(union_specifier name: (_) @name body: (_)) @type
(enum_specifier name: (_) @name body: (_)) @type
(type_definition declarator: (type_identifier) @name) @type
(preproc_def name: (_) @name) @constant
(preproc_function_def name: (_) @name) @function
"""
_DEFINITIONS = {
    "python": """
(class_definition name: (_) @name) @class
(function_definition name: (_) @name) @function
(module (expression_statement (assignment left: (identifier) @name)) @constant)
""",
    "javascript": _JAVASCRIPT,
    "typescript": _TYPESCRIPT,
    "tsx": _TYPESCRIPT,
    "go": """
(function_declaration name: (_) @name) @function
(method_declaration name: (_) @name) @function
(type_spec name: (_) @name) @type
(source_file (const_declaration (const_spec name: (_) @name) @constant))
""",
    "rust": """
(function_item name: (_) @name) @function
(function_signature_item name: (_) @name) @function
(struct_item name: (_) @name) @type
(enum_item name: (_) @name) @type
(union_item name: (_) @name) @type
(trait_item name: (_) @name) @type
(type_item name: (_) @name) @type
(impl_item type: (_) @name) @type
(mod_item name: (_) @name) @module
(macro_definition name: (_) @name) @function
(const_item name: (_) @name) @constant
(static_item name: (_) @name) @constant
""",
    "java": """
(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @type
(annotation_type_declaration name: (_) @name) @type
(method_declaration name: (_) @name) @function
(constructor_declaration name: (_) @name) @function
""",
    "ruby": """
(class name: (_) @name) @class
(module name: (_) @name) @module
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
(assignment left: (constant) @name) @constant
""",
    "c": _C,
    "cpp": _C
    + """
(class_specifier name: (_) @name body: (_)) @class
(namespace_definition name: (_) @name) @module
(function_definition declarator: (reference_declarator (function_declarator declarator: (_) @name))) @function
""",
}
_LANGUAGES = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    **dict.fromkeys((".rb", ".rake"), "ruby"),
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp", ".hh"), "cpp"),
    ".tsx": "tsx",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
}
# A definition in most languages: words such as "public static", the keyword of its kind, its name.
_PLAIN = re.compile(
    r"^[ \t]*(?:(?:public|private|protected|internal|static|final|abstract|open|override|export|default|async|local|"
    r"pub|suspend|sealed|data|inline|virtual|partial)[ \t]+)*"
    r"(?P<kind>class|interface|trait|struct|enum|protocol|object|module|namespace|function|func|fun|fn|def|sub|"
    r"defmodule|defp?|proc|record|type)[ \t]+(?P<name>[\w.:?!]+)",
    re.MULTILINE,
)
_PLAIN_KINDS = {
    **dict.fromkeys(("class", "object", "record"), "class"),
    **dict.fromkeys(("interface", "trait", "struct", "enum", "protocol", "type"), "type"),
    **dict.fromkeys(("module", "namespace", "defmodule"), "module"),
}
_CODE_WITHOUT_GRAMMAR = frozenset(
    re.findall(
        r"\S+",
        ".cs .kt .kts .scala .swift .php .lua .pl .pm .ex .exs .jl .sh .bash .zsh .dart .groovy .m .r .vue .svelte "
        ".zig .nim .ps1 .vim .tcl .clj .erl .hs .ml",
    )
)


def symbols_of(path: str, content: bytes) -> list[Symbol]:
    """The symbols of a file, ordered by line; an empty list for a file that is not code."""
    extension = PurePosixPath(path).suffix.lower()
    language = _LANGUAGES.get(extension)
    if language and len(content) <= LARGEST_PARSED:
        found = _parsed(language, content)
    elif language or extension in _CODE_WITHOUT_GRAMMAR:
        found = _matched(content.decode(errors="replace"))
    else:
        return []
    return sorted(set(found), key=lambda symbol: (symbol.start_line, -symbol.end_line, symbol.name, symbol.kind))[:MOST]


def _parsed(language: str, content: bytes) -> Iterator[Symbol]:
    parser, definitions = _grammar(language)
    tree = parser.parse(content)
    for _, captures in QueryCursor(definitions).matches(tree.root_node):
        name = captures.pop("name")[0]
        ((kind, (node, *_)),) = captures.items()
        text = name.text or b""
        if 0 < len(text) <= LONGEST_NAME:
            yield Symbol(text.decode(errors="replace"), kind, node.start_point[0] + 1, _last_line(node))


def _last_line(node: Node) -> int:
    """The node's last line. For tree-sitter, a node that includes its last line break ends at column 0 of the next
    line."""
    row, column = node.end_point
    return max(node.start_point[0] + 1, row + 1 if column else row)


@cache
def _grammar(language: str) -> tuple[Parser, Query]:
    module = importlib.import_module(f"tree_sitter_{'typescript' if language == 'tsx' else language}")
    pointer = getattr(module, f"language_{language}" if language in ("typescript", "tsx") else "language")()
    grammar = Language(pointer)
    return Parser(grammar), Query(grammar, _DEFINITIONS[language])


def _matched(text: str) -> Iterator[Symbol]:
    """The symbols that _PLAIN finds. Each ends where the next one begins, because the pattern does not find ends."""
    found = list(_PLAIN.finditer(text))[:MOST]
    last = text.count("\n") + (not text.endswith("\n"))
    starts, line, position = [], 1, 0
    for match in found:
        line += text.count("\n", position, match.start("kind"))
        position = match.start("kind")
        starts.append(line)
    for match, (start, following) in zip(found, pairwise([*starts, last + 1]), strict=True):
        kind = _PLAIN_KINDS.get(match["kind"], "function")
        yield Symbol(match["name"], kind, start, max(start, following - 1))
