"""Finds definitions in the lines of a diff, with a few patterns per language, because a hunk can rarely be parsed."""

import re
from dataclasses import dataclass

_JAVA_WORDS = r"(?:public|private|protected|static|final|abstract|sealed|open|override|internal|default|data|suspend)"
_PATTERNS: dict[str, tuple[str, ...]] = {
    "python": (r"\s*(?:async\s+)?def\s+(\w+)\s*[(\[]", r"\s*class\s+(\w+)\s*[:(\[]"),
    "javascript": (
        r"\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:async\s+)?function\s*\*?\s*(\w+)\s*[(<]",
        r"\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:class|interface|enum)\s+(\w+)\s*"
        r"(?:[{<]|extends|implements|$)",
        r"\s*(?:export\s+)?(?:declare\s+)?type\s+(\w+)\s*(?:<[^=]*>)?\s*=",
        r"\s*export\s+(?:declare\s+)?(?:const|let|var)\s+(\w+)",
        r"\s*(?:const|let|var)\s+(\w+)\s*(?::[^=]+)?=\s*(?:async\s*)?(?:function\b|\([^)]*\)\s*(?::[^=]+)?=>|\w+\s*=>)",
        r"\s+(?:(?:public|private|protected|static|async|override|readonly|get|set)\s+)*(\w+)\s*\([^)]*\)\s*"
        r"(?::[^{]+)?\{$",
    ),
    "go": (r"func\s+(?:\([^)]*\)\s*)?(\w+)\s*[(\[]", r"type\s+(\w+)\s+\S"),
    "rust": (
        r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:async|const|unsafe|extern\s+\"C\")\s+)*fn\s+(\w+)\s*[(<]",
        r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?(?:struct|enum|trait|union|mod|type)\s+(\w+)\s*(?:[{<(;:=]|where|$)",
        r"\s*macro_rules!\s+(\w+)",
    ),
    "java": (
        rf"\s*(?:{_JAVA_WORDS}\s+)*(?:class|interface|enum|record|object|struct|protocol)\s+(\w+)\s*"
        r"(?:[{<(:]|extends|implements|$)",
        rf"\s*(?:{_JAVA_WORDS}\s+)*(?:fun|func|def)\s+(?:<[^>]+>\s*)?(?:\w+\.)?(\w+)\s*[(<\[]",
        rf"\s*(?:{_JAVA_WORDS}\s+)+(?:<[^>]+>\s*)?[\w<>\[\],.?]+\s+(\w+)\s*\(",
    ),
    "ruby": (r"\s*def\s+(?:self\.)?(\w+[?!]?)", r"\s*(?:class|module)\s+(?:\w+::)*(\w+)\s*(?:<|$)"),
    "c": (
        r"(?!return\b|else\b|typedef\b|case\b)[A-Za-z_][\w\s*&:<>,]*?[\s*&]\*?(\w+)\s*\([^;]*$",
        r"#\s*define\s+(\w+)",
        r"\s*(?:typedef\s+)?(?:struct|enum|class|union)\s+(\w+)\s*(?:[{:]|$)",
    ),
    "php": (
        r"\s*(?:(?:public|private|protected|static|final|abstract)\s+)*function\s+(\w+)\s*\(",
        r"\s*(?:(?:final|abstract)\s+)*(?:class|interface|trait|enum)\s+(\w+)",
    ),
    "shell": (r"\s*(?:function\s+)?([\w-]+)\s*\(\)\s*\{?", r"\s*function\s+([\w-]+)"),
    "lua": (r"\s*(?:local\s+)?function\s+(?:[\w.]+[.:])?(\w+)\s*\(",),
}
_COMPILED = {language: tuple(map(re.compile, patterns)) for language, patterns in _PATTERNS.items()}
_PUBLIC = {
    "python": re.compile(r"(?:async\s+def|def|class)\s+(?!_)"),
    "javascript": re.compile(r"export\b"),
    "go": re.compile(r"(?:func\s+(?:\(\w*\s*\*?[A-Z]\w*\)\s*)?|type\s+)[A-Z]"),
    "rust": re.compile(r"\s*pub\s"),
    "java": re.compile(r"\s*public\s"),
    "php": re.compile(r"\s*public\s"),
}
_BARE_CALLS = ("javascript", "java", "c")  # languages in which `if (a) {` looks like a method
_KEYWORDS = frozenset(
    ("if", "for", "while", "switch", "return", "else", "catch", "do", "new", "await", "function", "super")
)


@dataclass(frozen=True, slots=True)
class Defined:
    """`signature`: the line, without the indentation. `public`: judging by the line, other code may use it."""

    name: str
    signature: str
    public: bool


def definition_in(line: str, language: str) -> Defined | None:
    """The definition on a line; None for a line without one, and for a very long line."""
    if len(line) > 400:
        return None
    for pattern in _COMPILED.get(language, ()):
        found = pattern.match(line)
        if found and not (found[1] in _KEYWORDS and language in _BARE_CALLS):
            public = _PUBLIC.get(language)
            return Defined(found[1], line.strip(), bool(public and public.match(line)))
    return None
