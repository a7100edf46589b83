"""What dominates an answer: by its content, in whatever envelope it comes."""

import base64
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core.text_classes import TextClass, classify

CHANCE = random.Random(5)
ENGLISH = (
    "The flat is on the second floor, and the key hangs behind the door. Please close the windows when you leave. "
    "There is a bakery at the corner which opens at seven, and the tram to the centre goes every ten minutes. "
) * 12
TEXTS = {
    TextClass.LOG: "\n".join(f"2026-11-20T10:{n % 60:02}:01Z INFO sync: 12 rows for account {n}" for n in range(60)),
    TextClass.CSV: "id,name,total,currency\n" + "\n".join(f"{n},Guest {n},{n * 7}.50,EUR" for n in range(80)),
    TextClass.MARKDOWN: "# Guide\n\n"
    + "\n\n".join(f"## Part {n}\n\nSome **bold** words and a [link](x)." for n in range(30)),
    TextClass.CODE: "\n".join(
        f"def f{n}(a, b):\n    if a > b:\n        return a - {n}\n    return b" for n in range(30)
    ),
    TextClass.YAML: "\n".join(
        f"service_{n}:\n  image: nginx\n  replicas: {n}\n  ports:\n    - 80:80" for n in range(30)
    ),
    TextClass.HTML: "<html><body>"
    + "".join(f"<p class='x'>Hello <b>{n}</b></p>\n" for n in range(60))
    + "</body></html>",
    TextClass.CJK: "房间在二楼，钥匙挂在门后。离开时请关好窗户。" * 30,
    TextClass.ARABIC_INDIC_THAI: "ห้องอยู่ชั้นสอง กุญแจแขวนอยู่หลังประตู กรุณาปิดหน้าต่าง" * 20,
    TextClass.EMOJI: "🏖️ beach 🌞 sun 🍹 drinks 🎉 " * 40,
    TextClass.IDS: base64.b64encode(CHANCE.randbytes(2000)).decode(),
    TextClass.JSON_ESCAPED: json.dumps([{"id": n, "name": "x" * 5} for n in range(90)]),
    TextClass.JSON_PRETTY: json.dumps([{"id": n, "name": "x" * 5} for n in range(90)], indent=2),
    TextClass.PROSE: ENGLISH,
}
DOCUMENTS = {
    TextClass.JSON: {"items": [{"id": n, "status": "confirmed", "guestName": f"Ana {n}"} for n in range(50)]},
    TextClass.JSON_NUMERIC: {"items": [[CHANCE.random(), CHANCE.randrange(10**6)] for _ in range(80)]},
    TextClass.TABLE: {"table": {"columns": ["id", "status"], "rows": [[n, "confirmed"] for n in range(90)]}},
    TextClass.IDS: {
        "items": [{"id": CHANCE.randbytes(20).hex(), "key": CHANCE.randbytes(20).hex()} for _ in range(30)]
    },
    TextClass.CJK: {"items": [{"name": "海辺の部屋とても静か", "note": "鍵はドアの後ろにあります"} for _ in range(30)]},
    TextClass.ARABIC_INDIC_THAI: {"items": [{"name": "شقة هادئة قرب البحر"} for _ in range(30)]},
    TextClass.EMOJI: {"items": [{"name": "🌞🍹🎉🏖"} for _ in range(30)]},
    TextClass.PROSE: {"items": [{"description": ENGLISH[: 200 + n]} for n in range(30)]},
}


@pytest.mark.parametrize(("expected", "text"), TEXTS.items())
def test_a_text_has_its_class_alone_and_in_an_envelope(expected, text):
    body = json.dumps({"content": text, "chunkIndex": 0, "meta": {"estimatedTokens": 900}}, ensure_ascii=False)
    assert classify(body) is expected
    if expected not in (TextClass.JSON_ESCAPED, TextClass.JSON_PRETTY):  # alone, these are plain JSON
        assert classify(text) is expected


@pytest.mark.parametrize(("expected", "document"), DOCUMENTS.items())
def test_a_document_has_the_class_of_what_it_mostly_consists_of(expected, document):
    body = json.dumps({**document, "meta": {"estimatedTokens": 900}}, ensure_ascii=False, separators=(",", ":"))
    assert classify(body) is expected


def test_indented_json_is_told_from_minified():
    rows = DOCUMENTS[TextClass.JSON]
    assert classify(json.dumps(rows, indent=2)) is TextClass.JSON_PRETTY


@given(st.text(max_size=300) | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_every_text_has_a_class(text):
    assert classify(text) in TextClass


@pytest.mark.parametrize("piece", ["a", "<a ", "- ", "1,", "[", "\n", '"', "a:", " (", "*"])
def test_a_million_times_the_same_has_a_class_too(piece):
    """Patterns that go back and forth over such texts would not come back in a day."""
    text = piece * 500_000
    assert {classify(text), classify(json.dumps([text]))} <= set(TextClass)
