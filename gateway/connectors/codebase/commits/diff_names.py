"""The file names of a diff: quoting, prefixes (a/ b/, none, mnemonic), and names that lead out of the tree."""

import re

_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ESCAPE = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_PREFIX = re.compile(r"[abciow12]/")  # git's own, and those of diff.mnemonicPrefix
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")

NOWHERE = "/dev/null"


class DiffRefused(ValueError):
    """The text cannot be used as a diff, for example because it names a path outside the tree. The message names
    sinceDiff."""


def unquoted(name: str) -> str:
    """The name without git's quotation: git writes a name with unusual characters as a C string of bytes. Bytes that
    are not UTF-8 become surrogates."""
    found = _QUOTED.fullmatch(name)
    if not found:
        return name
    raw, end = bytearray(), 0
    for escape in _ESCAPE.finditer(found[1]):
        raw += found[1][end : escape.start()].encode(errors="surrogateescape")
        code = escape[1]
        raw.append(int(code, 8) & 0xFF if code.isdigit() else _ESCAPES.get(code, ord(code[0]) & 0xFF))
        end = escape.end()
    return (raw + found[1][end:].encode(errors="surrogateescape")).decode(errors="surrogateescape")


def of_header_line(line: str) -> str:
    """The name after "--- " or "+++ ". It ends at the tab before the date, if there is one."""
    quoted = _QUOTED.match(line)
    return unquoted(quoted[0]) if quoted else line.partition("\t")[0].rstrip()


def of_git_line(names: str) -> tuple[str, str] | None:
    """Both names after "diff --git ", without prefixes; None if it is unclear where the second one begins."""
    both = _halves(names)
    return without_prefixes(*both) if both else None


def _halves(names: str) -> tuple[str, str] | None:
    quoted = _QUOTED.match(names)
    if quoted:
        return unquoted(quoted[0]), unquoted(names[quoted.end() :].lstrip())
    if names.endswith('"') and ' "' in names:
        old, new = names.split(' "', 1)
        return old, unquoted(f'"{new}')
    middle = len(names) // 2  # without a rename, both names are the same and their prefixes equally long
    if (
        names[middle : middle + 1] == " "
        and without_prefixes(names[:middle], names[middle + 1 :])[0]
        == (without_prefixes(names[:middle], names[middle + 1 :])[1])
    ):
        return names[:middle], names[middle + 1 :]
    parts = names.split(" ")
    return (parts[0], parts[1]) if len(parts) == 2 else None


def without_prefixes(old: str, new: str) -> tuple[str, str]:
    """Removes the prefixes if they differ. Equal names have none, whatever they begin with. Beside /dev/null, git's
    prefix is removed from the other name."""
    if NOWHERE in (old, new):
        return _bare(old), _bare(new)
    if old != new and _PREFIX.match(old) and _PREFIX.match(new) and old[0] != new[0]:
        return old[2:], new[2:]
    old_folder, _, old_rest = old.partition("/")
    new_folder, _, new_rest = new.partition("/")
    if old_folder != new_folder and old_rest and old_rest == new_rest:  # `diff -r old new`
        return old_rest, new_rest
    return old, new


def _bare(name: str) -> str:
    return name[2:] if _PREFIX.match(name) else name


def inside(path: str) -> str:
    """The path itself. Raises DiffRefused if it is not a file name, or leads out of the tree."""
    if not path or "\0" in path:
        raise DiffRefused(f"sinceDiff names the path {path!r}, which is not a file name. {_EXPECTED}")
    if path.startswith(("/", "\\")) or _DRIVE.match(path):
        raise DiffRefused(f"sinceDiff names the absolute path {path!r}. {_EXPECTED}")
    if ".." in path.replace("\\", "/").split("/"):
        raise DiffRefused(f"sinceDiff names the path {path!r}, which leads out of the project. {_EXPECTED}")
    return path


_EXPECTED = "Expected: paths relative to the project's root. Make the diff there, with `git diff`."
