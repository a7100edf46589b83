"""XML as data. A document type is rejected, since it can declare entities and files to fetch."""

from typing import Any
from xml.parsers import expat

DEEPEST = 200
TEXT = "#text"


class NotXml(ValueError):
    """Not XML, or XML with a declaration that is not read here."""


def loads(data: bytes) -> dict[str, Any]:
    """Returns {"order": {"@id": "7", "line": [{…}, {…}], "note": "text"}}: attributes with @, the text beside
    attributes or elements as #text, repeated elements as a list. Raises NotXml."""
    reader = _Reader()
    parser = expat.ParserCreate(namespace_separator=None)
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.characters
    parser.StartDoctypeDeclHandler = _reject  # it can declare entities, and files to fetch
    parser.buffer_text = True
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise NotXml(f"line {error.lineno}") from None
    return reader.root


def _reject(*declared: Any) -> None:
    raise NotXml("it has a document type")


class _Reader:
    def __init__(self) -> None:
        self.root: dict[str, Any] = {}
        self._open: list[tuple[dict[str, Any], list[str]]] = [(self.root, [])]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) > DEEPEST:
            raise NotXml(f"it is nested more than {DEEPEST} deep")
        self._open.append(({f"@{key}": value for key, value in attributes.items()}, []))

    def characters(self, text: str) -> None:
        self._open[-1][1].append(text)

    def end(self, name: str) -> None:
        content, texts = self._open.pop()
        text = "".join(texts).strip()
        value: Any = {**content, TEXT: text} if content and text else content or text or None
        above = self._open[-1][0]
        if name not in above:
            above[name] = value
        elif isinstance(above[name], _Repeated):
            above[name].append(value)
        else:
            above[name] = _Repeated([above[name], value])


class _Repeated(list[Any]):
    """Elements with the same name. The value of a single element is never a list."""
