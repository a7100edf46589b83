"""What the reader of a long text would miss: a character, half a sentence, half a stack trace (FR-020 to 023)."""

import json
import re
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core.splitting.chunks import Chunk, ChunkLimits, ChunkPlan
from context_protection.core.splitting.forms import TextForm, detect
from context_protection.core.splitting.lines import RangeError, find_line_ends, line_span
from context_protection.core.splitting.planner import plan

LOG, JSONL, CSV, MARKDOWN, PROSE, CODE = TextForm


def formula(text: str) -> int:
    n = len(text) // 4
    return n + int(n * 0.2)


def weight(text: str) -> int:
    """About what a chunk costs inside a JSON string: foreign scripts and escapes cost more than letters."""
    return (len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")) + 1) // 3


def limits(**changes: Any) -> ChunkLimits:
    return ChunkLimits(**{"cap": 12_000, "measure": formula, "weigh": weight, **changes})


def pieces(text: str, form: TextForm, **changes: Any) -> list[str]:
    made = plan(text, form, limits(**changes))
    return [sliced(made, text, index).content for index in range(made.chunks)]


def sliced(made: ChunkPlan, text: str, index: int) -> Chunk:
    start, end = made.span(index)
    return made.chunk(text[start:end], index)


def line_range(text: str, first: int = 1, last: int | None = None) -> tuple[int, int]:
    return line_span(find_line_ends(text), first, last)


def cuts(text: str, form: TextForm, **changes: Any) -> set[int]:
    """The offsets at which the text is divided."""
    return set(plan(text, form, limits(**changes)).cuts[1:-1])


def ends(units: list[str]) -> list[int]:
    return list(accumulate(map(len, units)))


def spans(units: list[str]) -> Iterator[tuple[int, int, str]]:
    for (start, end), unit in zip(pairwise([0, *ends(units)]), units, strict=True):
        yield start, end, unit


class Scale:
    """A weigh function that remembers what it was asked."""

    def __init__(self) -> None:
        self.calls = self.chars = 0

    def __call__(self, text: str) -> int:
        self.calls, self.chars = self.calls + 1, self.chars + len(text)
        return weight(text)


# --- Texts

SENTENCES = [
    "A cot and a high chair can be provided on request at no extra cost. ",
    "The owners, Dr. Smith and Mr. Jones of Acme Inc. in Rome, e.g., paid $3.50 for v1.2.3. ",
    'He said "Stop! Do not enter." ',
    "Is the pool heated? ",
    "Yes! ",
    "See www.example.com/House.Rules for all 12 of them... ",
    "The line wraps here\nand goes on below, as it does\nin an e-mail. ",
    "这所房子有一个带游泳池的大花园。",
    "他说：“请在晚上十点以后保持安静。”",
    "庭にはプールがありますか？",
    "鍵は玄関の横の箱にあります。",
    "बगीचा हर मंगलवार को साफ किया जाता है। ",
    "المفتاح في الصندوق بجانب الباب. ",
    "Ключ лежит в коробке у двери. ",
]
FAMILY = "👨‍👩‍👧‍👦"
HOSTILE = [
    *("word ", "Word. ", "x", " ", ".", "。", "\n", "\n\n", "\r\n", "\r", "\0", "\ufeff", "\u2028", "\x0c", "\x85"),
    *("\t", "'", '"', ",", "\\", "}\n", "|a|b|\n", "|-|-|\n", "```\n", "~~~\n", "> ", "# Heading\n", "Title\n---\n"),
    *("- item\n", "    code\n", "2026-11-01T10:00:00Z INFO started\n", "  at a.b(C.java:1)\n", '{"a": 1}\n'),
    *(
        "Traceback (most recent call last):\n",
        '1,"a\nb"\n',
        "A" * 40,
        "界" * 15,
        "漢字。",
        "ภาษาไทย ",
        "हिन्दी। ",
        "한국어. ",
    ),
    *(FAMILY, "e\u0301\u0302", "🇩🇪🇫🇷", "\u1112\u1161\u11ab"),
]
FORMS = st.sampled_from(TextForm)
hostile_texts = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=8), max_size=60).map("".join)
TRACE = (
    "java.lang.IllegalStateException: no door code\n"
    "\tat io.sluice.Doors.open(Doors.java:41)\n"
    "\tat io.sluice.Main.main(Main.java:7)\n"
    "Caused by: java.io.IOException: closed\n"
    "\t... 12 more\n"
)
PYTHON_TRACE = (
    "Traceback (most recent call last):\n"
    '  File "/app/sync.py", line 12, in run\n'
    "    fetch(reservation)\n"
    "ValueError: no such reservation\n"
    "\n"
    "During handling of the above exception, another exception occurred:\n"
    "\n"
    "Traceback (most recent call last):\n"
    '  File "/app/sync.py", line 14, in run\n'
    "KeyError: 'id'\n"
)
MARKS = [
    "2026-11-01T00:00:35Z ERROR",
    "2026-11-01 00:00:35,123 [main] WARN",
    "[2026/11/01 00:00:35] app.INFO:",
    "Nov  1 00:00:35 host sshd[24200]:",
    "<34>1 2026-11-01T00:00:35Z host app",
    '10.0.0.7 - - [01/Nov/2026:00:00:35 +0000] "GET /',
    "I1101 00:00:35.000000 1 main.go:1]",
    "[Sun Nov 01 00:00:35 2026] [notice]",
    "[    3.141592] usb",
    "ERROR:",
    "[WARN]",
    "081109 203615 148 INFO",
    "1793491235.123 worker",
    "level=info msg=",
    "web_1  | 2026-11-01 00:00:35",
    "\x1b[32m2026-11-01 00:00:35\x1b[0m",
]


def log_lines(count: int) -> list[str]:
    return [
        f'2026-11-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z INFO sync reservation={43_000_000 + n} msg="Ok."\n'
        for n in range(count)
    ]


@st.composite
def logs(draw: st.DrawFn) -> list[str]:
    """Entries of a log in one of the usual styles, some with a stack trace or a wrapped message."""
    mark = draw(st.sampled_from(MARKS))
    tails = st.sampled_from(["", "", "", TRACE, PYTHON_TRACE, "wrapped onto the margin\n", '{\n  "a": 1\n}\n', "\n"])
    return [f"{mark} entry {number} is here\n{draw(tails)}" for number in range(draw(st.integers(1, 40)))]


@st.composite
def fenced(draw: st.DrawFn) -> str:
    mark = draw(st.sampled_from(["```", "~~~", "`````"]))
    lines = st.sampled_from(
        ["print('Hello. World.')", "", "# no heading", "- no item", "``", "> x", "| a | b |", "Text. Text."]
    )
    body = "".join(f"{line}\n" for line in draw(st.lists(lines, max_size=30)))
    inner = "~~~\n" if mark[0] == "`" else "```\n"
    return f"{mark}python\n{body}{draw(st.sampled_from(['', inner]))}{mark}\n" + draw(st.sampled_from(["", "\n"]))


paragraphs = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=8).map(lambda s: "".join(s).rstrip() + "\n\n")
headings = st.sampled_from(["# House\n\n", "## Rules\n", "Pool\n====\n\n", "###### Small ##\n\n\n"])
documents = st.lists(paragraphs | fenced() | headings | st.just("- one. Two.\n- three\n\n"), min_size=1, max_size=12)


# --- Nothing is lost


@given(hostile_texts, FORMS, st.integers(1, 4), st.integers(1, 60), st.integers(8, 90))
def test_the_chunks_together_are_the_text_character_for_character(text, form, lines, tokens, cap):
    assert "".join(pieces(text, form, lines=lines, tokens=tokens, cap=cap)) == text


@given(hostile_texts, FORMS, st.integers(1, 4), st.integers(1, 60), st.integers(8, 90))
def test_every_chunk_says_where_it_is(text, form, lines, tokens, cap):
    made = plan(text, form, limits(lines=lines, tokens=tokens, cap=cap))
    for index in range(made.chunks):
        chunk, (start, end) = sliced(made, text, index), made.span(index)
        assert (chunk.index, chunk.total, chunk.bytes) == (index, made.chunks, len(chunk.content.encode()))
        assert chunk.content or not text
        assert chunk.total_lines == max(1, text.count("\n") + (not text.endswith("\n")))
        assert chunk.start_line == 1 + text.count("\n", 0, start)
        assert chunk.end_line == 1 + text.count("\n", 0, max(start, end - 1))
        assert 1 <= chunk.start_line <= chunk.end_line <= chunk.total_lines


@given(hostile_texts, FORMS, st.integers(8, 90))
def test_no_chunk_weighs_more_than_the_cap(text, form, cap):
    for piece in pieces(text, form, lines=50, tokens=5000, cap=cap):
        assert weight(piece) <= cap or len(piece) == 1


@given(hostile_texts, FORMS, st.integers(1, 30))
def test_no_chunk_ends_inside_a_character_as_people_see_it(text, form, tokens):
    starts = {match.start() for match in regex.finditer(r"\X", text)}
    assert cuts(text, form, lines=1, tokens=tokens, cap=60) <= starts


@pytest.mark.parametrize("form", TextForm)
def test_an_empty_text_is_one_empty_chunk(form):
    made = plan("", form, limits())
    chunk = sliced(made, "", 0)
    assert (made.chunks, chunk.content, chunk.bytes) == (1, "", 0)
    assert (chunk.start_line, chunk.end_line, chunk.total_lines) == (1, 1, 1)


@pytest.mark.parametrize("form", TextForm)
def test_a_text_with_half_a_surrogate_pair_is_cut_like_any_other(form):
    text = "Half a pair: \ud83d. 半分 \ude00。 And on.\n" * 50
    parts = pieces(text, form, lines=3, tokens=40, cap=100)
    assert len(parts) > 5
    assert "".join(parts) == text


def test_only_a_line_feed_ends_a_line():
    text = "one\rstill one\u2028still\x0cstill\x85still\r\ntwo\nthree"
    assert pieces(text, LOG, lines=1) == [text[: text.index("two")], "two\n", "three"]


def test_a_chunk_that_was_read_elsewhere_is_described_the_same():
    text = "".join(log_lines(500))
    made = plan(text, LOG, limits())
    start, end = made.span(1)
    assert made.chunk(text[start:end], 1) == sliced(made, text, 1)


# --- Plans are kept between calls


@given(hostile_texts, FORMS)
def test_a_plan_survives_the_cache(text, form):
    made = plan(text, form, limits(lines=2, tokens=10, cap=50))
    assert ChunkPlan.from_bytes(made.to_bytes()) == made


def test_a_plan_for_a_long_log_is_small():
    assert len(plan("".join(log_lines(10_000)), LOG, limits()).to_bytes()) < 2000


@pytest.mark.parametrize(
    "data", [b"", b"cp1:", b"cp0:" + bytes(48), b"cp1:" + bytes(47), b"cp1:" + bytes(16), b"{}" * 26]
)
def test_anything_but_a_plan_is_refused(data):
    with pytest.raises(ValueError, match="not a chunk plan"):
        ChunkPlan.from_bytes(data)


@pytest.mark.parametrize("index", [-1, 3])
def test_a_chunk_that_is_not_there_is_refused(index):
    text = "".join(log_lines(600))
    with pytest.raises(IndexError, match="there are 3"):
        sliced(plan(text, LOG, limits()), text, index)


def test_a_plan_of_another_text_is_refused():
    made = plan("".join(log_lines(600)), LOG, limits())
    with pytest.raises(ValueError, match="not the text that was planned"):
        sliced(made, "short", 0)


@pytest.mark.parametrize("name", ["lines", "tokens", "cap"])
def test_a_limit_below_one_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} is 0"):
        limits(**{name: 0})


# --- Line content: logs, JSON lines, CSV


def test_a_long_log_comes_200_lines_at_a_time():
    text = "".join(log_lines(10_000))
    made = plan(text, LOG, limits())
    assert made.chunks == 50
    for index in (0, 1, 49):
        chunk = sliced(made, text, index)
        assert (chunk.start_line, chunk.end_line, chunk.total_lines) == (
            200 * index + 1,
            200 * index + 200,
            10_000,
        )


def test_lines_of_continuation_count_too():
    entries = [f"2026-11-01 10:00:00 ERROR {n}\n{TRACE}" for n in range(30)]  # six lines each
    assert [piece.count("\n") for piece in pieces("".join(entries), LOG, lines=100)] == [96, 84]


@given(logs(), st.integers(1, 30))
def test_a_stack_trace_stays_with_its_entry(entries, lines):
    assert cuts("".join(entries), LOG, lines=lines) <= set(ends(entries))


@given(logs(), st.integers(20, 120))
def test_an_entry_is_divided_only_if_it_is_over_the_cap_alone_and_then_at_its_lines(entries, cap):
    text = "".join(entries)
    for cut in cuts(text, LOG, cap=cap):
        start, end, entry = next(span for span in spans(entries) if cut <= span[1])
        if cut != end:
            assert weight(entry) > cap
            piece = max(entry[: cut - start].splitlines(keepends=True), key=weight)
            assert text[cut - 1] == "\n" or weight(piece) > cap / 2


def test_an_entry_of_more_lines_than_a_chunk_stays_whole_under_the_cap():
    entries = [
        "2026-11-01 10:00:00 INFO start\n",
        "2026-11-01 10:00:01 ERROR x\n" + "\tat a.B.c(B.java:1)\n" * 300,
    ]
    assert pieces("".join(entries), LOG) == entries


def test_an_entry_over_the_cap_comes_as_many_lines_at_a_time_as_any():
    text = "2026-11-01 10:00:01 ERROR x\n" + "\tat a.B.c(B.java:1)\n" * 5000
    assert {piece.count("\n") for piece in pieces(text, LOG)[:-1]} == {200}


@pytest.mark.parametrize("trace", [TRACE, PYTHON_TRACE])
def test_a_stack_trace_is_known_in_a_log_without_times(trace):
    entries = [f"fetching reservation {n}\n" + (trace if n % 7 == 0 else "") for n in range(100)]
    text = "".join(entries)
    assert len(cuts(text, LOG, lines=15)) > 5
    assert cuts(text, LOG, lines=15) <= set(ends(entries))


def test_lines_without_any_mark_are_entries_of_their_own():
    text = "".join(f"plain line {n}\n" for n in range(1000))
    assert {piece.count("\n") for piece in pieces(text, LOG)} == {200}


def test_a_log_that_is_indented_throughout_is_still_cut_by_lines():
    assert {piece.count("\n") for piece in pieces("  indented\n" * 1000, LOG)} == {200}


@given(st.lists(st.sampled_from(['1,"a\nb",x\n', "2,b,y\n", '3,"say ""hi""\n\n",z\r\n']), min_size=1, max_size=40))
def test_a_csv_record_with_line_ends_in_a_quoted_field_stays_whole(records):
    assert cuts("".join(records), CSV, lines=4) <= set(ends(records))


def test_a_stray_quote_in_csv_does_not_glue_the_rows_together():
    text = 'id,name\n1,5" pipe\n' + "2,plain\n" * 1000
    assert max(piece.count("\n") for piece in pieces(text, CSV)) == 200


def test_json_lines_are_cut_after_200_records():
    text = "".join(json.dumps({"id": n, "text": "a\nb"}) + "\n" for n in range(1000))
    assert {piece.count("\n") for piece in pieces(text, JSONL)} == {200}


# --- The cap


def test_lines_that_are_dear_make_shorter_chunks_still_of_whole_entries():
    entries = [f"2026-11-01 10:00:{n % 60:02} INFO {'dear ' * 40}{n}\n" for n in range(1000)]
    text = "".join(entries)
    assert cuts(text, LOG, cap=4000) <= set(ends(entries))
    parts = pieces(text, LOG, cap=4000)
    assert all(0.8 * 4000 < weight(part) <= 4000 for part in parts[:-1])


def test_chunks_grow_again_where_lines_get_cheap():
    text = "".join(f"2026-11-01 INFO {'漢字' * 200}\n" for _ in range(300)) + "".join(log_lines(1000))
    parts = pieces(text, LOG, cap=9000)
    assert all(part.count("\n") == 200 or weight(part) > 0.7 * 9000 for part in parts[:-1])
    assert [part.count("\n") for part in parts[-3:-1]] == [200, 200]


@pytest.mark.parametrize("form", TextForm)
def test_one_endless_word_is_divided(form):
    text = "data:" + "QUJDRA" * 50_000
    parts = pieces(text, form, cap=2000, tokens=50_000)
    assert "".join(parts) == text
    assert all(1600 < weight(part) <= 2000 for part in parts[1:-1])


@pytest.mark.parametrize("form", [PROSE, LOG, CODE])
def test_a_line_over_the_cap_is_divided_at_sentences_and_a_sentence_at_words(form):
    short, endless = "One short sentence stands here. ", "and so on " * 2000
    parts = pieces(short * 200 + endless, form, cap=500, tokens=50_000)
    assert all(part.endswith(" ") for part in parts)
    assert sum(part.endswith("here. ") for part in parts) == len([part for part in parts if "here" in part]) > 3


def test_a_light_beginning_does_not_hide_a_heavy_end():
    text = "-" * 5000 + "x" * 200
    parts = pieces(text, LOG, cap=100, weigh=lambda piece: 1 + piece.count("x"))
    assert max(part.count("x") for part in parts) < 100


def test_a_carriage_return_stays_with_its_line_feed():
    for length in range(20, 60):
        text = ("x" * length + "\r\n") * 3
        assert not any(part.endswith("\r") for part in pieces(text, LOG, cap=10))


def test_a_family_is_not_torn_apart():
    assert all(len(part) % len(FAMILY) == 0 for part in pieces(FAMILY * 3000, PROSE, cap=100))


def test_a_single_character_over_the_cap_is_cut_all_the_same():
    text = "e" + "\u0301" * 5000
    parts = pieces(text, PROSE, cap=100, tokens=50_000)
    assert "".join(parts) == text
    assert max(map(weight, parts)) <= 100


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("".join(log_lines(5000)), LOG),
        ("# House\n\n" + "".join(SENTENCES) * 300, MARKDOWN),
        ("\n\n".join("".join(SENTENCES) for _ in range(300)), PROSE),
        ("QUJDRA" * 100_000, PROSE),
        ("2026-11-01 ERROR\n" + TRACE * 3000, LOG),
        ("```\n" + "code();\n" * 30_000, MARKDOWN),
    ],
)
@pytest.mark.parametrize("cap", [12_000, 1000])
def test_a_text_is_weighed_little_more_than_once(text, form, cap):
    scale = Scale()
    made = plan(text, form, limits(cap=cap, weigh=scale))
    assert scale.calls <= 1.5 * made.chunks + 5
    assert scale.chars <= 1.6 * len(text) + 32 * cap


@given(hostile_texts, FORMS, st.integers(8, 90))
def test_a_weight_that_leaps_is_still_kept_under_the_cap(text, form, cap):
    def leaping(piece: str) -> int:
        return sum(40 if char in "。.\n" else 1 for char in piece)

    for piece in pieces(text, form, cap=cap, weigh=leaping):
        assert leaping(piece) <= cap or len(piece) == 1 or piece == "\r\n"


# --- Prose and Markdown


def test_a_text_within_the_budget_stays_whole():
    text = "The pool is heated. " * 316  # 1,900 tokens
    assert formula(text) == 1896
    assert pieces(text, PROSE) == [text]
    assert len(pieces(text * 2, PROSE)) == 2


@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=300), st.integers(30, 300))
def test_no_chunk_ends_inside_a_sentence(sentences, tokens):
    assert cuts("".join(sentences), PROSE, tokens=tokens) <= set(ends(sentences))


@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=60), st.integers(60, 400))
def test_a_sentence_is_divided_only_if_it_is_over_the_cap_alone(sentences, cap):
    assert max(map(weight, SENTENCES)) < 60
    assert cuts("".join(sentences), PROSE, cap=cap) <= set(ends(sentences))


@pytest.mark.parametrize(
    "sentence",
    [
        "สระว่ายน้ำเปิดทุกวันตั้งแต่เช้าจนถึงค่ำ ",
        "កុញ្ជែនៅក្នុងប្រអប់។ ",
        "这所房子有一个花园。",
        "鍵は箱にあります。",
        "चाबी डिब्बे में है। ",
        "Der Schlüssel liegt z. B. am 3. Oktober im Kasten, und Dr. Maier ist da. ",
        "Il signor Rossi vive con il dott. Bianchi e non ha la chiave della casa. ",
        "Ключ лежит в коробке на ул. Ленина, д. 5, и т. д. у двери. ",
        'The owner said: "Stop! Do not enter. It is wet in there." ',
        "The owner: «Stop! Do not enter. It is wet.» ",
        "See https://example.com/House.Rules/Pool.Html for all of the rules. ",
        "We opened this place to all of our guests in\n2026. It is warm. ",
    ],
)
def test_sentences_end_where_their_language_ends_them(sentence):
    text = sentence * 300
    for tokens in range(30, 60):
        found = plan(text, PROSE, limits(tokens=tokens)).cuts
        assert len(found) > 9
        assert all(cut % len(sentence) == 0 for cut in found)


@pytest.mark.parametrize("number", ["12. ", "1.2. ", "> 3. "])
def test_no_chunk_ends_behind_the_number_of_a_paragraph(number):
    text = f"The pool is here.\n\n{number}The heating is on from October.\n\n" * 20
    for tokens in range(5, 30):
        assert not any(part.rstrip().endswith(number.strip()) for part in pieces(text, PROSE, tokens=tokens))


def test_a_sentence_longer_than_the_budget_stays_whole():
    sentence = "This house, " + "which has a garden, " * 100 + "is old. "
    assert pieces(sentence * 3, PROSE, tokens=100) == [sentence] * 3


def test_a_paragraphs_end_in_the_last_third_is_preferred_to_a_later_sentences():
    first, second = "The pool is heated. " * 15 + "\n\n", "The sea is cold. " * 30
    assert pieces(first + second, PROSE, tokens=120)[0] == first  # of 400 characters


def test_a_paragraphs_end_before_that_gives_way_to_a_sentences():
    first, second = "The pool is heated. " * 5 + "\n\n", "The sea is cold. " * 60
    part = pieces(first + second, PROSE, tokens=120)[0]
    assert part.startswith(first)
    assert part.endswith("The sea is cold. ")
    assert 110 < formula(part) <= 120


def fence_spans(text: str) -> list[tuple[int, int]]:
    """The fenced blocks of a Markdown text without lists or quotations, by a plain reading of CommonMark."""
    found, opened, fence, at = [], 0, "", 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if not fence and (match := re.match(r"(`{3,}|~{3,})", line)):
            opened, fence = at, match[1]
        elif fence and bare.startswith(fence) and set(bare) == {fence[0]}:
            found.append((opened, at + len(line)))
            fence = ""
        at += len(line)
    return found + ([(opened, at)] if fence else [])


@given(documents, st.integers(20, 200))
def test_a_fenced_block_stays_whole(blocks, tokens):
    text = "".join(blocks)
    for start, end in fence_spans(text):
        assert not [cut for cut in cuts(text, MARKDOWN, tokens=tokens) if start < cut < end]


@given(documents, st.integers(60, 200))
def test_a_fenced_block_is_divided_only_if_it_is_over_the_cap_alone_and_then_at_its_lines(blocks, cap):
    text = "".join(blocks)
    for start, end in fence_spans(text):
        for cut in (cut for cut in cuts(text, MARKDOWN, cap=cap) if start < cut < end):
            behind = re.match(r"\s*", text[end:])
            assert weight(text[start:end] + behind[0]) > cap  # the blank lines behind it are its own
            assert text[cut - 1] == "\n"


@pytest.mark.parametrize(
    "fence",
    [
        "```python\n{}",  # never closed
        "- item\n\n    ```\n{}    ```\n",
        "> ~~~\n{}> ~~~\n",
        "```md\n~~~\n{}~~~\n```\n",
        "````\n```\n{}```\n````\n",
        "- ```\n{}  ```\n",
        "A line that is longer than its fence\n~~~~\n{}~~~~\n",
    ],
)
def test_fences_are_known_wherever_they_stand(fence):
    quote = "> " if fence.startswith(">") else ""
    block = fence.format(f"{quote}code. Code.\n{quote}\n" * 60)
    text = "The pool is heated.\n\n" + block + ("" if "never" in fence or fence.endswith("{}") else "\nThe end. " * 50)
    body = text.index("code"), text.rindex("code")
    assert cuts(text, MARKDOWN, tokens=50)
    assert not [cut for cut in cuts(text, MARKDOWN, tokens=50) if body[0] <= cut <= body[1]]


@pytest.mark.parametrize("literal", ["    ```\n", "``` not `a` fence\n", "Title\n~~~~~\n", "A fence is ```.\n"])
def test_what_only_looks_like_a_fence_opens_none(literal):
    text = f"The rooms.\n\n{literal}\n" + "The pool is heated. " * 300
    assert len(cuts(text, MARKDOWN, tokens=200)) > 5


@given(documents, st.integers(20, 200), st.integers(100, 400))
def test_a_heading_is_never_the_last_thing_in_a_chunk(blocks, tokens, cap):
    text = "".join(blocks)
    fences = fence_spans(text)
    for cut in cuts(text, MARKDOWN, tokens=tokens, cap=cap):
        lines = text[:cut].rstrip().splitlines(keepends=True)
        at = len("".join(lines[:-1]))
        is_heading = re.match(r"#{1,6} |====", lines[-1]) and not any(a <= at < b for a, b in fences)
        # But a fence that must stay whole may not fit with it, only without.
        fence = next((text[at:end] for start, end in fences if start == cut), "")
        assert not is_heading or weight(fence) > cap


def test_a_heading_parts_from_a_fence_that_fits_only_without_it():
    heading, fence = "# House rules of the garden\n\n", "```\n" + "code();\n" * 50 + "```\n"
    cap = weight(fence)
    assert pieces(heading + fence, MARKDOWN, cap=cap) == [heading, fence]
    assert len(pieces(heading + fence, MARKDOWN, cap=cap + 20)) == 1


def test_a_heading_stays_with_the_first_lines_of_a_fence_over_the_cap():
    heading, fence = "# House rules of the garden\n\n", "```\n" + "code();\n" * 500 + "```\n"
    first = pieces(heading + fence, MARKDOWN, cap=300)[0]
    assert first.startswith(heading + "```\ncode")


def test_a_table_is_divided_between_rows_and_never_below_its_head():
    head, row = "| name | price |\n|------|-------|\n", "| Room. One. | 3.50 |\n"
    for tokens in range(1, 50):
        parts = pieces(head + row * 100, MARKDOWN, tokens=tokens)
        assert len(parts) > 10
        assert all(part.endswith("3.50 |\n") for part in parts)


def test_a_fence_ends_with_its_quotation():
    text = "> ```\n> never closed\n\n" + "The pool is heated. " * 300
    assert len(cuts(text, MARKDOWN, tokens=200)) > 5


def test_a_heading_stays_with_the_first_words_of_a_sentence_over_the_cap():
    first = pieces("# House rules\n\n" + "and so on " * 2000, MARKDOWN, cap=300)[0]
    assert weight(first) > 200


def test_a_list_is_divided_between_its_items():
    items = [f"- item {n} without a stop\n" for n in range(200)]
    text = "".join(items)
    assert len(cuts(text, MARKDOWN, tokens=100)) > 10
    assert cuts(text, MARKDOWN, tokens=100) <= set(ends(items))


def test_code_is_cut_between_definitions_rather_than_in_them():
    definitions = [f"def f{n}():\n    x = 1\n\n    return x\n\n\n" for n in range(100)]
    text = "".join(definitions)
    assert cuts(text, CODE, tokens=100) <= set(ends(definitions))
    assert all(formula(part) <= 100 for part in pieces(text, CODE, tokens=100))


def test_text_at_the_margin_of_a_string_begins_no_definition():
    function = 'def f():\n    """Says so.\n\nAt the margin.\n\nAgain.\n    """\n    return 1\n\n\n'
    text = function * 30
    assert cuts(text, CODE, tokens=60) <= set(ends([function] * 30))
    stray = 'x = 1  # an odd """\n\n' + "y = 2\n\n" * 200
    assert all(text[cut - 2 : cut] == "\n\n" for text, cut in ((stray, cut) for cut in cuts(stray, CODE, tokens=30)))


def test_a_definition_longer_than_a_chunk_is_cut_between_the_definitions_in_it():
    method = "    def method(self):\n        first = 1\n\n        return first\n\n"
    text = "class Long:\n" + method * 60
    assert len(cuts(text, CODE, tokens=120)) > 5
    assert all(text[cut:].startswith("    def") for cut in cuts(text, CODE, tokens=120))


def test_what_is_indented_below_a_directive_stays_whole_and_with_it():
    code = ".. code-block:: python\n   :linenos:\n\n   a = 1\n\n   * b = 2\n\n   c = 3\n\n"
    text = f"Text. More text.\n\n{code}After it. And so on.\n\n" * 30
    for cut in cuts(text, PROSE, tokens=50):
        assert not text[cut:].startswith(" ")
        assert "::" not in text[max(0, cut - 20) : cut]


def test_a_blank_line_does_not_end_indented_code():
    part = "Text here.\n\n    one\n\n    - two\n\n    three\n\n"
    assert all(not (part * 40)[cut:].startswith(" ") for cut in cuts(part * 40, MARKDOWN, tokens=40))


def test_code_without_blank_lines_is_cut_after_lines():
    text = json.dumps([{"id": n} for n in range(1000)], indent=1)
    assert weight(text) < 12_000
    assert all(part.endswith("\n") for part in pieces(text, CODE)[:-1])
    assert all(formula(part) <= 2000 for part in pieces(text, CODE))


# --- Line ranges


@given(hostile_texts, st.integers(1, 12), st.integers(0, 12))
def test_a_line_range_is_exactly_those_lines(text, first, more):
    lines = text.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + [line for line in lines[-1:] if line or len(lines) == 1]
    if first <= len(lines):
        start, end = line_range(text, first, first + more)
        assert text[start:end] == "".join(lines[first - 1 : first + more])


def test_lines_100_to_200_are_101_lines():
    lines = log_lines(10_000)
    start, end = line_range("".join(lines), 100, 200)
    assert "".join(lines)[start:end] == "".join(lines[99:200])


def test_a_range_without_an_end_goes_to_the_last_line():
    assert line_range("a\nb\nc", 2) == (2, 5)


@pytest.mark.parametrize(
    ("first", "last", "parameter", "value"),
    [
        (0, 5, "startLine", 0),
        (-1, None, "startLine", -1),
        (11, 12, "startLine", 11),
        (5, 4, "endLine", 4),
        (1, 0, "endLine", 0),
    ],
)
@pytest.mark.parametrize("call", [line_range, lambda text, a, b: plan(text, LOG, limits(), first_line=a, last_line=b)])
def test_a_range_that_makes_no_sense_names_the_parameter(call: Callable[..., Any], first, last, parameter, value):
    with pytest.raises(RangeError, match=f"{parameter} is {value}; expected") as caught:
        call("line\n" * 10, first, last)
    assert (caught.value.parameter, caught.value.value) == (parameter, value)


@given(hostile_texts, FORMS, st.integers(1, 9), st.integers(0, 20), st.integers(8, 90))
def test_a_long_range_comes_in_chunks_numbered_by_the_whole_text(text, form, first, more, cap):
    total = max(1, text.count("\n") + (not text.endswith("\n")))
    first = min(first, total)
    made = plan(text, form, limits(lines=2, tokens=20, cap=cap), first_line=first, last_line=first + more)
    chunks = [sliced(made, text, index) for index in range(made.chunks)]
    start, end = line_range(text, first, first + more)
    assert "".join(chunk.content for chunk in chunks) == text[start:end]
    assert (chunks[0].start_line, chunks[-1].end_line) == (first, min(first + more, total))
    assert all(after.start_line - before.end_line in (0, 1) for before, after in pairwise(chunks))
    assert {chunk.total_lines for chunk in chunks} == {total}
    assert all(weight(chunk.content) <= cap or len(chunk.content) == 1 for chunk in chunks)


def test_a_range_that_begins_inside_a_fence_knows_that_it_does():
    text = "Text.\n\n```\n" + "code. Code.\n\n" * 100 + "```\n\n" + "The end. " * 300
    made = plan(text, MARKDOWN, limits(tokens=100), first_line=50)
    assert sliced(made, text, 0).content.rstrip().endswith("```")


def test_a_range_that_begins_inside_an_entry_is_cut_at_the_next_one():
    text = "".join(f"2026-11-01 10:00:00 ERROR {n}\n{TRACE}" for n in range(100))
    made = plan(text, LOG, limits(lines=10), first_line=3, last_line=40)
    assert [(made.first_lines[i], made.last_lines[i]) for i in range(3)] == [(3, 12), (13, 18), (19, 24)]


def test_a_range_that_ends_inside_an_entry_is_not_cut_before_that():
    text = "".join(f"2026-11-01 10:00:00 ERROR {n}\n{TRACE}" for n in range(100))
    assert plan(text, LOG, limits(lines=20), first_line=1, last_line=15).chunks == 1


# --- What form a text has


@pytest.mark.parametrize(
    ("name", "media_type", "form"),
    [
        ("sync.log", "text/plain", LOG),
        ("sync.log.1", "", LOG),
        ("SYNC.LOG-20261101", "", LOG),
        ("events.jsonl", "", JSONL),
        ("manual.md", "text/plain", MARKDOWN),
        ("rows.CSV", "", CSV),
        ("main.py", "text/plain", CODE),
        ("data.json", "application/octet-stream", CODE),
        ("manual", "text/markdown; charset=utf-8", MARKDOWN),
        ("rows", "text/csv", CSV),
        ("events", "application/x-ndjson", JSONL),
        ("log", "text/x-log", LOG),
        ("error", "application/problem+json", CODE),
        ("script", "text/x-python", CODE),
        ("c", "", PROSE),
        ("notes.txt", "text/plain", PROSE),
    ],
)
def test_name_and_media_type_tell_the_form(name, media_type, form):
    assert detect(name, media_type, "The pool is heated. The sea is cold.\n") is form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("", PROSE),
        ("".join(log_lines(20)), LOG),
        (f"2026-11-01 10:00:00 ERROR a\n{TRACE}2026-11-01 10:00:01 INFO b\n{PYTHON_TRACE}", LOG),
        ('{"a": 1}\n{"b": [2]}\n', JSONL),
        ('{\n  "a": 1\n}\n', CODE),
        ("id,name,price\n1,Pool,3.50\n2,Sea,0\n", CSV),
        ("id\tname\n1\tPool\n", CSV),
        ("# House\n\nThe pool is heated.\n", MARKDOWN),
        ("The pool is heated:\n\n```\nheat()\n```\n", MARKDOWN),
        ("- towels\n- linen\n", MARKDOWN),
        ("import os\n\n\ndef main():\n    return os.getcwd()\n", CODE),
        ("<?xml version='1.0'?>\n<a>\n</a>\n", CODE),
        ("The pool is heated, and warm, and so on.\n\nThe sea is cold, and rough, too.\n", PROSE),
        ("Roses are red,\nviolets are blue,\nsugar is sweet,\n", PROSE),
        ("2026-11-01 was a Sunday. We went to the sea.\n", PROSE),
        ("\ufeff2026-11-01 10:00:00 a\n2026-11-01 10:00:01 b\n", LOG),
    ],
)
def test_the_first_lines_tell_the_form_of_a_nameless_text(text, form):
    assert detect("", "text/plain", text) is form


@pytest.mark.parametrize("mark", MARKS)
def test_a_log_in_a_usual_style_is_known(mark):
    assert detect("out.txt", "text/plain", f"{mark} entry\n" * 3 + TRACE) is LOG
