"""A text that is planned window by window is cut as one that is seen whole: no reader can tell where a window ended."""

import json
import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core.splitting.chunks import ChunkLimits, ChunkPlan
from context_protection.core.splitting.forms import TextForm
from context_protection.core.splitting.planner import plan, plan_windows
from gateway.connectors.hostaway import sample
from tests.context_protection.core.splitting.test_chunks import (
    FORMS,
    PYTHON_TRACE,
    TRACE,
    fence_spans,
    formula,
    hostile_texts,
    limits,
    weight,
)

LOG, JSONL, CSV, MARKDOWN, PROSE, CODE = TextForm
WINDOW = 4000
DOCUMENTS = {document.name: document.content for document in sample.documents()}


def in_parts(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def by_windows(text: str, form: TextForm, part: int = 700, window: int = WINDOW, **changes: Any) -> list[ChunkPlan]:
    lines = text.count("\n") + (not text.endswith("\n"))
    return list(plan_windows(in_parts(text, part), form, limits(**changes), lines, window=window))


def cuts(plans: list[ChunkPlan]) -> list[int]:
    return [*plans[0].cuts, *(cut for made in plans[1:] for cut in made.cuts[1:])]


def figures(plans: list[ChunkPlan]) -> list[tuple[int, ...]]:
    return [chunk for made in plans for chunk in zip(made.sizes, made.first_lines, made.last_lines, strict=True)]


def repeated(text: str, length: int) -> str:
    return text * (length // max(1, len(text)) + 1) if text else text


# -- Laws -------------------------------------------------------------------------------------------


@given(hostile_texts, FORMS, st.integers(1, 999), st.integers(1, 4), st.integers(1, 60), st.integers(8, 90))
def test_the_chunks_together_are_the_text_and_say_where_they_are(text, form, part, lines, tokens, cap):
    text = repeated(text, 3 * WINDOW)
    plans = by_windows(text, form, part, lines=lines, tokens=tokens, cap=cap)
    if not text:
        assert plans == []
        return
    all_cuts = cuts(plans)
    assert (all_cuts[0], all_cuts[-1]) == (0, len(text))
    assert all(made.cuts[0] == before.cuts[-1] for before, made in pairwise(plans))
    for (start, end), (size, first, last) in zip(pairwise(all_cuts), figures(plans), strict=True):
        assert start < end
        assert size == len(text[start:end].encode("utf-8", "surrogatepass"))
        assert first == text.count("\n", 0, start) + 1
        assert last == text.count("\n", 0, end - 1) + 1
        assert weight(text[start:end]) <= cap or len(text[start:end]) == 1
    assert {made.total_lines for made in plans} == {text.count("\n") + (not text.endswith("\n"))}


@given(hostile_texts, FORMS, st.integers(1, 4), st.integers(8, 90))
def test_a_text_of_one_window_is_cut_as_one_that_is_seen_whole(text, form, lines, cap):
    if text:
        (made,) = by_windows(text, form, window=len(text) + 1, lines=lines, cap=cap)
        assert made == plan(text, form, limits(lines=lines, cap=cap))


@pytest.mark.parametrize("window", [30_000, 100_000])
@pytest.mark.parametrize(
    ("name", "form", "times"),
    [("sync-2026-11.log", LOG, 1), ("house-manual.md", MARKDOWN, 4), ("house-manual.md", PROSE, 4)],
)
def test_a_real_text_is_cut_the_same_in_windows(name: str, form: TextForm, times: int, window: int):
    text = (DOCUMENTS[name] * times)[:400_000]
    changes = {"lines": 40, "tokens": 900}
    assert cuts(by_windows(text, form, 9000, window, **changes)) == list(plan(text, form, limits(**changes)).cuts)


# -- What goes on from one window to the next -------------------------------------------------------


@pytest.mark.parametrize("trace", [TRACE, PYTHON_TRACE])
def test_a_stack_trace_stays_with_its_entry_across_windows(trace: str):
    entries = [f"2026-11-01T00:00:{n % 60:02}Z INFO line {n}\n" + trace * (n % 7 == 0) for n in range(600)]
    text = "".join(entries)
    starts = {sum(map(len, entries[:n])) for n in range(len(entries) + 1)}
    assert set(cuts(by_windows(text, LOG, lines=20))) <= starts


def test_lines_without_a_mark_go_with_their_entry_in_windows_where_hardly_any_bears_one():
    entries = ["2026-11-01 10:00:00 INFO started\n"] * 200
    entries += [f"2026-11-01 10:00:00 INFO dump {n}\n" + "value 17\n" * 60 for n in range(100)]
    starts = {sum(map(len, entries[:n])) for n in range(len(entries) + 1)}
    assert set(cuts(by_windows("".join(entries), LOG, lines=20, cap=300))) <= starts


def test_a_csv_record_stays_whole_across_windows():
    records = [f'{n},"a\nb, ""{n}""",x\n' for n in range(3000)]
    starts = {0}
    for record in records:
        starts.add(max(starts) + len(record))
    assert set(cuts(by_windows("".join(records), CSV, lines=7))) <= starts


def test_a_window_that_begins_in_a_quoted_field_knows_that_it_does():
    small = '1,"a\nb"\n'
    text = ('2,"' + "a line of a long field\n" * 40 + '"\n' + small * 5) * 60
    made = cuts(by_windows(text, CSV, lines=9, cap=100))
    starts = [at for at in range(len(text)) if text.startswith(small, at)]
    assert not {at + inside for at in starts for inside in range(1, len(small))} & set(made)


def test_a_stray_quote_in_csv_glues_together_no_more_than_a_window():
    text = "1,2,3\n" * 3000 + '4,5" pipe,6\n' + "7,8,9\n" * 3000 + '1,"a\nb",2\n' * 2000
    plans = by_windows(text, CSV, lines=10)
    assert max(end - start for start, end in pairwise(cuts(plans))) < WINDOW / 4
    late = [cut for cut in cuts(plans) if cut > len(text) - 4000]
    assert all(text[cut:].startswith("1,") or cut == len(text) for cut in late)


def test_a_fence_longer_than_a_window_is_divided_at_its_lines_and_read_to_its_end():
    code = "".join(f"value_{n} = compute. It is not. A heading\n# or so {n}\n" for n in range(400))
    text = (
        "# Title\n\nWords. More words.\n\n```python\n" + code + "```\n\nAfter it. " + "A sentence stands here. " * 400
    )
    made = cuts(by_windows(text, MARKDOWN, tokens=100, cap=300))
    start, end = fence_spans(text)[0]
    inside = [cut for cut in made if start < cut < end]
    assert len(inside) > 10
    assert all(text[cut - 1] == "\n" for cut in inside)
    assert all(text[cut - 2 : cut] == ". " for cut in made[1:-1] if cut > end + 1)


def test_a_window_that_begins_in_a_string_knows_that_it_does():
    function = 'def f():\n    """Says so.\n\nAt the margin.\n\nAgain.\n    """\n    return 1\n\n\n'
    text = ('NOTES = """\n' + "A note.\n\n" * 60 + '"""\n\n\n' + function * 3) * 60
    starts = {at for at in range(len(text)) if text.startswith(("def f", "NOTES"), at)}
    made = cuts(by_windows(text, CODE, tokens=45))
    assert all(cut in starts or text.rfind("NOTES", 0, cut) > text.rfind("def f", 0, cut) for cut in made[1:-1])


def test_a_table_longer_than_a_window_is_divided_between_its_rows():
    text = "| a | b |\n|---|---|\n" + "| One thing. And two. | Three. |\n" * 1000
    made = cuts(by_windows(text, MARKDOWN, tokens=60))
    assert all(text[cut - 1] == "\n" for cut in made[1:])


def test_a_line_longer_than_many_windows_is_divided_at_its_sentences():
    text = "The kitchen has an induction hob. " * 3000
    made = cuts(by_windows(text, PROSE, tokens=80))
    assert len(made) > 100
    assert all(text[cut - 2 : cut] == ". " for cut in made[1:-1])


def test_a_log_line_longer_than_many_windows_is_divided_and_what_follows_is_read_as_ever():
    text = "2026-11-01 10:00:00 INFO start\n" + "x" * 50_000 + "\n" + "2026-11-01 10:00:01 INFO line\n" * 300
    made = cuts(by_windows(text, LOG, lines=20, cap=250))
    tail = text.index("\n2026-11-01 10:00:01") + 1
    assert all((cut - tail) % 30 == 0 for cut in made if cut > tail)


def test_memory_does_not_grow_with_the_text():
    seen: list[int] = []

    def parts() -> Any:
        for _ in range(200):
            yield "2026-11-01 10:00:00 INFO a line of the log\n" * 50

    def noted(text: str) -> int:
        seen.append(len(text))
        return weight(text)

    scale = ChunkLimits(lines=200, cap=12_000, measure=formula, weigh=noted)
    made = list(plan_windows(parts(), LOG, scale, 10_000, window=20_000))
    assert sum(block.chunks for block in made) == 50
    assert max(seen) <= 20_000


def test_records_of_every_size_come_once_each_in_order():
    order = random.Random(3)
    records = [json.dumps({"n": n, "text": "x" * order.randrange(300)}) + "\n" for n in range(2000)]
    text = "".join(records)
    made = by_windows(text, JSONL, lines=3)
    pieces = [text[start:end] for start, end in pairwise(cuts(made))]
    assert [json.loads(line)["n"] for piece in pieces for line in piece.splitlines()] == list(range(2000))
