"""Both counts of tokens. Claude's is held against ctok's own count of texts of every class that the gateway meets."""

import base64
import csv
import io
import json
import os
import random
import string
import subprocess
import sys
import threading
import unicodedata
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import ctok
import ctok.engine
import ctok.main
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from context_protection.core import tokens
from context_protection.core.cache_budget import Cache, CacheBudget
from context_protection.core.tokens import MARGIN, ClaudeRuler, claude, ctok_vocabulary, run_counter
from context_protection.core.tokens.ctok_vocabulary import Ctok, load_counter
from context_protection.core.tokens.run_counter import Prices, RunCounter
from context_protection.core.tokens.runs import OPENING_QUOTE, inner_pattern

# ---- texts of every class, made of nothing but a seed ---------------------------------------------

ENGLISH = """the booking was confirmed by the guest and arrives on Friday evening please leave keys with reception
because apartment check-in starts after noon however our cleaning team can't finish earlier than that they're
asking whether another property near harbour would suit families travelling with children it's quiet"""
GERMAN = "Übernachtung für zwölf Gäste größer Frühstück Straße Öffnungszeiten schließen Buchungsbestätigung à côté"
RUSSIAN = "Бронирование подтверждено гость прибывает вечером ключи оставьте пожалуйста администратору κράτηση"
ARABIC = "تم تأكيد الحجز ويصل الضيف مساء الجمعة يرجى ترك المفاتيح ההזמנה אושרה والمفتاح عند الاستقبال"
INDIC = "बुकिंग की पुष्टि हो गई है অতিথি সন্ধ্যায় আসবেন விருந்தினர் வருகிறார் การจองได้รับการยืนยันแล้ว ဧည့်သည်များ"
JAPANESE = (
    "予約が確認されました。 お客様は金曜日の夜に到着します。 鍵はフロントに預けてください、 ありがとうございます！"
)
CHINESE = "预订已确认， 客人将于周五晚上到达。 请把钥匙留给前台。 欢迎入住！ 체크인은 오후세시부터 가능합니다."
WELSH = """botwm gwirio bylchu gwybodaeth hawlfraint rhestr darged ymyl yr ardal cynnwys wedi tynnu newydd ffeil gwall
agor gyda bodoli eiliad ymlaen lleiaf gosod fideo saeth iddo ochr rhaid sgrin ynysoedd"""
EMOJI = "😀 👍🏽 ❤️ 👨‍👩‍👧 🇩🇪 🎉🎉 ✅ ⚠️ 🏠"


def seeded(seed: int | str) -> random.Random:
    return random.Random(seed)


def words(r: random.Random, vocabulary: str, count: int, between: str = " ") -> str:
    return between.join(r.choices(vocabulary.split(), k=count))


def word(r: random.Random, vocabulary: str = ENGLISH) -> str:
    return r.choice(vocabulary.split())


def rows(r: random.Random, count: int) -> list[dict[str, object]]:
    return [
        {
            "id": r.randrange(10**8),
            "guestName": f"{word(r, GERMAN).title()} {word(r).title()}",
            "checkInDate": f"2026-{r.randrange(1, 13):02}-{r.randrange(1, 29):02}",
            "status": r.choice(["confirmed", "cancelled", None]),
            "totalPrice": round(r.uniform(20, 5000), 2),
            "notes": words(r, ENGLISH, r.randrange(12)),
            "guest": {"email": f"{word(r)}@example.com", "phones": [], "vip": r.random() < 0.5},
        }
        for _ in range(count)
    ]


def ids(r: random.Random, kilobytes: int) -> str:
    blobs = [base64.b64encode(r.randbytes(300)).decode(), r.randbytes(200).hex(), r.randbytes(40).hex().upper()]
    uuids = [str(uuid.UUID(bytes=r.randbytes(16))) for _ in range(10)]
    return "\n".join(r.sample(blobs + uuids, 13)) * max(1, kilobytes // 2)


def log(r: random.Random, kilobytes: int) -> str:
    def line(i: int) -> str:
        return r.choice(
            [
                f"2026-11-20T10:{i % 60:02}:00.{i:06}Z INFO  [sync-{r.randrange(9)}] {words(r, ENGLISH, 6)} took={i}ms",
                f'10.0.{r.randrange(256)}.7 - - "GET /api/v1/bookings/{r.randrange(10**8)}?limit=50 HTTP/1.1" 200 {i}',
                f'\x1b[31mERROR\x1b[0m upstream: {{"trace":"{r.randbytes(8).hex()}"}} ---- 0x{r.randbytes(4).hex()}',
                f'  File "/srv/app/{word(r)}.py", line {i}, in __call__\n    raise ValueError(f"{i!r}")',
            ]
        )

    return "\r\n".join(line(i) for i in range(kilobytes * 11))


def table(r: random.Random, kilobytes: int) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=r.choice(",;\t"))
    for i in range(kilobytes * 14):
        writer.writerow([i, word(r), "", f"{r.gauss(0, 100):.4f}", f'say "{word(r)}"', i % 2, "", "-"])
    return out.getvalue()


def markdown(r: random.Random, kilobytes: int) -> str:
    return "\n\n".join(
        f"## {words(r, ENGLISH, 3).title()}\n\n* **{word(r)}**: {words(r, ENGLISH, 25)}.\n"
        f"* [see](https://example.com/{i}#top) — “{words(r, ENGLISH, 5)}”…\n\n```sh\n$ make {word(r)}\n```\n"
        f"| a | b |\n|---|---|\n| {i} | {r.random():.2f} |"
        for i in range(kilobytes * 3)
    )


def code(r: random.Random, kilobytes: int) -> str:
    functions = (
        f"    def {word(r)}_{word(r)}(self, {word(r)}: dict[str, int] | None = None) -> int:\n"
        f"        if not self._cache['{word(r)}']:  # {words(r, ENGLISH, 6)}\n"
        f"            return sum(x ** 2 for x in range({i}) if x % 7 != 0 and isOk(x))\n\n"
        for i in range(kilobytes * 4)
    )
    return "".join(functions) + "function f(a) { return a.map((x) => ({...x, ok: !x.ok && x['k'] === `${x.y}`})); }\n"


def yaml(r: random.Random, kilobytes: int) -> str:
    return "".join(
        f'  - name: {word(r)}\n    image: "repo/{word(r)}:1.{i}"\n'
        f"    env: {{{word(r).upper()}: '{i}'}}  # {words(r, ENGLISH, 3)}\n"
        for i in range(kilobytes * 10)
    )


def html(r: random.Random, kilobytes: int) -> str:
    return "".join(
        f'<div class="row-{i}" data-id="{i}"><a href="/b/{i}">{words(r, ENGLISH, 6)}</a>&nbsp;<br/></div>\n'
        for i in range(kilobytes * 8)
    )


MAKERS: dict[str, Callable[[random.Random, int], str]] = {
    "json minified": lambda r, k: json.dumps(rows(r, k * 4), ensure_ascii=False, separators=(",", ":")),
    "json pretty": lambda r, k: json.dumps(rows(r, k * 3), ensure_ascii=False, indent=2),
    "json numeric": lambda r, k: json.dumps([[r.gauss(0, 1), r.randrange(10**6), 0, None] for _ in range(k * 20)]),
    "json escaped": lambda r, k: json.dumps(json.dumps([words(r, f"{JAPANESE} {RUSSIAN}", 9) for _ in range(k * 3)])),
    "ids and base64": ids,
    "logs": log,
    "csv": table,
    "markdown": markdown,
    "code": code,
    "yaml": yaml,
    "html": html,
    "japanese": lambda r, k: words(r, JAPANESE, k * 70, between=""),
    "chinese and korean": lambda r, k: words(r, CHINESE, k * 70, between=r.choice(["", "\n"])),
    "indic and thai": lambda r, k: words(r, INDIC, k * 90),
    "arabic and hebrew": lambda r, k: words(r, ARABIC, k * 150),
    "cyrillic and greek": lambda r, k: words(r, RUSSIAN, k * 90),
    "accents": lambda r, k: words(r, GERMAN, k * 100),
    "emoji": lambda r, k: words(r, f"{ENGLISH} {EMOJI}", k * 170),
}
KILOBYTES = (1, 4, 9, 24)


@cache
def text_of(kind: str, kilobytes: int) -> str:
    return MAKERS[kind](seeded(f"{kind} {kilobytes}"), kilobytes)


@cache
def exact(text: str) -> int:
    """ctok's own count without the six tokens of a message's frame. `ctok.token_count` also writes every token out,
    which takes as long as the count."""
    count, _ = ctok.engine.tile(text, ctok.main._model("v4.8"))
    return count


def test_the_count_that_others_are_held_against_is_ctoks_own() -> None:
    for kind in MAKERS:
        text = text_of(kind, 1)
        assert exact(text) == ctok.token_count(text, "4.8") - 6, kind


@pytest.fixture
def loaded_anew() -> Iterator[None]:
    """The test's own ctok, which no other test keeps."""
    ctok_vocabulary._ctok.cache_clear()
    yield
    ctok_vocabulary._ctok.cache_clear()


@cache
def counter() -> RunCounter:
    return load_counter()


@cache
def ruled() -> Ctok:
    return Ctok()


def off(measured: int, text: str) -> float:
    return measured / exact(text) - 1


def mixed(seed: int) -> str:
    """Uneven pieces of several classes, one after the other."""
    r = seeded(seed)
    pieces = (text_of(kind, 24)[: int(1000 * 20 ** r.random())] for kind in r.sample(sorted(MAKERS), 4))
    return "\n".join(pieces)


def periodic(seed: int) -> str:
    """Records of one length, each half prose and half blob: what evenly spaced slices go wrong on."""
    r = seeded(seed)
    prose, width = text_of("markdown", 24), r.choice([64, 128, 256, 500])
    starts = (r.randrange(len(prose) - width) for _ in range(144))
    return "\n".join(prose[at : at + width] + base64.b64encode(r.randbytes(width)).decode()[:width] for at in starts)


LONG_RUNS = {
    "base64": base64.b64encode(seeded(1).randbytes(150_000)).decode(),
    "hex": seeded(2).randbytes(100_000).hex(),
    "letters": "".join(seeded(3).choices("abcdefghijklmnopqrstuvwxyz", k=200_000)),
    "signs": "".join(seeded(4).choices('!"#$%&()*+,-./:;<=>?@[]^_`{|}~', k=200_000)),
    "digits": "7316" * 50_000,
    "one letter": "a" * 200_000,
    "a rule": "=" * 200_000,
    "blanks": " " * 200_000,
    "han": "".join(map(chr, seeded(5).choices(range(0x4E00, 0x9FFF), k=200_000))),
    "kana": "".join(map(chr, seeded(6).choices(range(0x3041, 0x3096), k=200_000))),
    "accents upon accents": "e\u0301\u0323" * 70_000,
}

# ---- the formula ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chars", "expected"), [(0, 0), (3, 0), (4, 1), (16, 4), (20, 6), (23, 6), (16_667, 4_999), (16_668, 5_000)]
)
def test_the_formula_is_a_quarter_of_the_characters_and_a_fifth_on_top(chars: int, expected: int) -> None:
    assert tokens.formula("é" * chars) == tokens.formula_of_length(chars) == expected


def test_the_formula_can_be_reversed():
    for count in range(20_000):
        most = tokens.chars_within(count)
        assert tokens.formula_of_length(most) <= count < tokens.formula_of_length(most + 1)


# ---- Claude's count -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MAKERS)
def test_a_count_is_within_three_percent_of_what_ctok_counts(kind: str) -> None:
    for kilobytes in KILOBYTES:
        text = text_of(kind, kilobytes)
        assert abs(off(claude.count(text), text)) <= 0.03, kilobytes


def test_nearly_all_counts_are_within_one_percent() -> None:
    texts = [text_of(kind, kilobytes) for kind in MAKERS for kilobytes in KILOBYTES]
    near = [abs(off(claude.count(text), text)) <= 0.01 for text in texts]
    assert sum(near) >= 0.97 * len(near)


@pytest.mark.parametrize(
    "text",
    [
        "it's what they've said, isn't it?",
        "in 'a' or 'bc', ['de', 'fg'] => 'hi' and ('jk') 'lm' 5 'no' '7' 'pq'",
        'x == 1 ? a [0] : "b" /* c */ -- d',
        "   leading, \t tabs\n\n\n   and \r\n trailing   ",
        "1 2 3  4   5 a 6 ( 7 ) 中 8 文 字",
        "mixedCase ALLCAPS Title iPhone a1b2c3 snake_case_name kebab-case",
        "x\u00a0: «\u00a0y\u00a0» 1\u202f000",
        "cafe\u0301 nai\u0308ve bell\x07",
        'a: 12 b, "k": 3, x=[1, 22, 333, 4444] (5 c) - 6.7e8 +9 - 10, [ 11 ]',
        "12 % 3 a 1234 b ... 5 'c' 6 , 7",
        "Ünïversal ÀÉ привет ПРИВЕТ Слово iПхоне ელ 日 本 a 5 語: 中 ☃ ☂☂ x “9” — 8",
        "a\n  - 12\n\t\t(3)  [4]\n\n   {5} \n }",
    ],
)
def test_spaces_quotes_and_marks_cost_what_they_cost_in_ctok(text: str) -> None:
    assert claude.count(text) == exact(text)


def test_carriage_returns_are_free_and_what_they_parted_joins() -> None:
    table = "\r".join(f"{i % 10},{i % 3}" for i in range(4_000))
    assert claude.count(table) == pytest.approx(exact(table), rel=0.01)
    assert claude.estimate(table) == pytest.approx(exact(table), rel=0.1)
    assert claude.count(table.replace("\r", "\r\n")) == claude.count(table.replace("\r", "\n"))


@given(
    st.text(
        st.characters(exclude_categories=["Co"]) | st.sampled_from(" \t\n'\",.:;(){}[]-=019aAqéÉяЯ中ー☃😀\u0301\u0323"),
        max_size=60,
    )
)
@example("q\u0301b \u1c89a")
@settings(max_examples=400, deadline=None)
def test_a_plain_run_costs_what_ctok_says_between_its_neighbours(text: str) -> None:
    for run in filter(None, counter().pattern.findall(text)):
        assert ruled().price(run) == ruled().price_between_neighbours(run), repr(run)


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Co"]), min_size=40, max_size=200))
@settings(max_examples=150, deadline=None)
def test_no_text_however_strange_is_far_off(text: str) -> None:
    assert abs(claude.count(text) - exact(text)) <= 3 + 0.1 * exact(text)


@given(st.text(st.characters(), max_size=300))
@settings(max_examples=150, deadline=None)
def test_runs_leave_no_character_out(text: str) -> None:
    assert "".join(counter().pattern.findall(text)) == text


def test_nothing_costs_nothing() -> None:
    assert claude.count("") == claude.estimate("") == tokens.guarded("") == 0


@pytest.mark.parametrize(
    "text", ["\ud800", "a\udfff1 \ud83d", "\ud800" * 10_000, json.dumps({"a": "\ud800"}, ensure_ascii=False)]
)
def test_lone_surrogates_are_counted_too(text: str) -> None:
    assert claude.count(text) >= exact(text)
    assert claude.estimate(text) > 0
    assert tokens.guarded(text) >= exact(text)


def test_two_texts_together_cost_what_they_cost_apart() -> None:
    for kind in MAKERS:
        first, second = text_of(kind, 4), text_of(kind, 9)
        assert abs(claude.count(f"{first}\n{second}") - claude.count(first) - claude.count(second) - 1) <= 2, kind


def test_a_long_text_is_counted_from_its_first_word_to_its_last() -> None:
    assert claude.count("the guest " * 50_000) == pytest.approx(50_000 * claude.count(" the guest"), abs=10)


@pytest.mark.parametrize(
    "part",
    [
        "a\u034d ",  # a mark that stands beside the word
        "a\u0315 a",
        "e\u0301a ",  # one that is composed
        "┷ ┐ └ ┒ ",  # a long run of signs and spaces
        "◊. ",
        "~ ",
        "☀️ 21° ",  # a variation selector
        "🏖️ ",
        "The\x7f",  # characters that ctok drops, and joins what is around them
        "wor\ue000d ",
        "No\x85b",
        "\u0e4d\u0e32 ",  # Thai that ctok composes
    ],
)
def test_marks_signs_and_characters_that_are_dropped_are_counted_as_ctok_does(part: str) -> None:
    text = json.dumps([part * 80], ensure_ascii=False)
    assert claude.count(text) == pytest.approx(exact(text), rel=0.02)


def test_no_part_of_unicode_is_counted_too_low_by_the_margin_of_the_cap() -> None:
    rng = random.Random(5)
    for block in _blocks():
        for form in ("{}", "{} ", "a{} ", "{}. ", "語{}"):
            text = "".join(form.format(rng.choice(block)) for _ in range(50))
            assert claude.count(text) * MARGIN >= exact(text), text[:20]


EAST_ASIAN = st.lists(
    st.sampled_from([*"中文한국かナ，。、！a1é ' \n\"😀𠀀", "it's", "  ", "\u3000"]), max_size=40
).map("".join)


@given(EAST_ASIAN)
@example("中文 a 中文 中文，中文。a文, 文 文1文")
@example("中文， 中文 '中' a")
@example("，中 文a")
@example("中——文……文")
def test_rows_of_ideographs_cost_what_their_runs_cost_one_by_one(text: str) -> None:
    normal = ruled().normalized(text)
    one_by_one = sum(map(ruled().price, counter().pattern.findall(normal))) + len(OPENING_QUOTE.findall(normal))

    assert counter().count(text) == one_by_one


@pytest.mark.parametrize("kind", LONG_RUNS)
def test_a_long_run_costs_in_proportion_to_its_length(kind: str) -> None:
    text = LONG_RUNS[kind]
    part = text[:16_000]
    expected = exact(part) / len(part) * len(text)
    assert claude.count(text) == pytest.approx(expected, rel=0.04)
    assert claude.estimate(text) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("codes", [range(0x4E00, 0xD7A4), range(0x10000, 0x20000)])
def test_of_a_text_that_is_all_but_noise_only_some_runs_are_priced(codes: range) -> None:
    asked: list[str] = []

    def price(run: str) -> int:
        asked.append(run)
        return 1 + ord(run[0]) % 3

    noise = "".join(map(chr, seeded(7).choices(codes, k=100_000)))
    inner = inner_pattern(ruled().letters, ruled().ideographs)
    counted = RunCounter(counter().pattern, inner, price, str).count(noise)
    assert counted == pytest.approx(sum(1 + ord(character) % 3 for character in noise), rel=0.02)
    assert len(asked) <= 2 * run_counter.SAMPLED_RUNS


# ---- Claude's estimate ----------------------------------------------------------------------------


def test_the_estimate_of_a_short_text_is_its_count() -> None:
    for kind in MAKERS:
        text = text_of(kind, 24)[:6_000]
        assert claude.estimate(text) == claude.count(text), kind


@pytest.mark.parametrize("kind", MAKERS)
def test_an_estimate_is_within_ten_percent_of_what_ctok_counts(kind: str) -> None:
    for kilobytes in KILOBYTES:
        text = text_of(kind, kilobytes)
        assert abs(off(claude.estimate(text), text)) <= 0.1, kilobytes


def test_an_estimate_of_a_mixture_is_within_ten_percent_of_its_count() -> None:
    for seed in range(60):
        text = mixed(seed)
        assert claude.estimate(text) == pytest.approx(claude.count(text), rel=0.1), seed


def test_an_estimate_does_not_fall_in_step_with_records_of_one_length() -> None:
    for seed in range(40):
        text = periodic(seed)
        assert claude.estimate(text) == pytest.approx(claude.count(text), rel=0.1), seed


def test_an_estimate_reads_more_where_the_parts_differ() -> None:
    """Cherokee costs three times what its bytes let expect, so a few slices cannot tell."""
    cherokee = "".join(map(chr, range(0x13A0, 0x13F0)))
    for seed in range(8):
        r = seeded(seed)
        patches = (words(r, ENGLISH, 80) if r.random() < 0.7 else cherokee * 3 for _ in range(300))
        text = "\n".join(patches)
        assert claude.estimate(text) == pytest.approx(claude.count(text), rel=0.1), seed


def test_an_estimate_finds_the_dense_spots_between_long_rules() -> None:
    for seed in range(20):
        blob = base64.b64encode(seeded(seed).randbytes(48)).decode()
        text = ("=" * 1500 + blob) * 40
        assert claude.estimate(text) == pytest.approx(claude.count(text), rel=0.1), seed


# ---- the same every time --------------------------------------------------------------------------


def everything() -> Iterator[str]:
    yield from (text_of(kind, 9) for kind in MAKERS)
    yield from (mixed(seed) for seed in range(5))
    yield from (LONG_RUNS["base64"], LONG_RUNS["han"], LONG_RUNS["kana"])


def test_a_measure_does_not_depend_on_what_was_measured_before() -> None:
    first = [(claude.count(text), claude.estimate(text)) for text in everything()]
    fresh = ClaudeRuler()
    again = [(fresh.estimate(text), fresh.count(text)) for text in reversed(list(everything()))]
    assert first == [(count, estimate) for estimate, count in reversed(again)]


def test_another_process_measures_the_same() -> None:
    script = (
        "from tests.context_protection.core.test_tokens import everything, claude\n"
        "print([(claude.count(text), claude.estimate(text)) for text in everything()])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed.strip() == str([(claude.count(text), claude.estimate(text)) for text in everything()])


@pytest.mark.usefixtures("loaded_anew")
def test_threads_load_the_vocabulary_once_and_measure_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text_of(kind, 4) for kind in MAKERS]
    expected = [claude.count(text) for text in texts]
    ctok_vocabulary._ctok.cache_clear()
    checked: list[str] = []
    check = ctok.token_count

    def checking(text: str, version: str) -> int:
        checked.append(text)
        return int(check(text, version))

    monkeypatch.setattr(ctok, "token_count", checking)
    monkeypatch.setattr(run_counter, "BLOCK", 1000)
    monkeypatch.setattr(run_counter.Prices.__init__, "__defaults__", (CacheBudget(20_000),))  # prices come and go
    ruler = ClaudeRuler()
    measured: list[list[int]] = []
    threads = [threading.Thread(target=lambda: measured.append([ruler.count(t) for t in texts])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert measured == [expected] * 8
    assert len(checked) == 1


def test_prices_are_remembered_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_counter, "BLOCK", 1000)
    budget = CacheBudget(40_000)
    asked: list[str] = []

    def price(run: str) -> int:
        asked.append(run)
        return len(run)

    prices = Prices(price, budget)
    assert prices["word"] == prices["word"] == 4
    assert [prices[str(number)] for number in range(150)] == [len(str(number)) for number in range(150)]
    assert prices["word"] == 4
    assert asked.count("word") == 1, "a flood washed it out"
    for number in range(1_000):
        assert prices[f"n{number}"] > 0
        assert budget.used <= 40_000
    assert 100 < sum(map(len, prices._generations.values())) < 500


def test_prices_that_the_budget_has_dropped_are_found_again() -> None:
    budget = CacheBudget(40_000)
    prices, other = Prices(len, budget), Cache[str, bytes]("other", budget)
    assert prices["word"] == 4
    other.put("all", b"", 39_000)
    assert len(prices) == 0, "dropped"
    assert prices["word"] == 4
    assert other.get("all") is None
    assert budget.used_by_cache()["token prices"] == budget.used > 0


# ---- without ctok ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("loaded_anew")
def test_without_ctok_the_ruler_says_so_and_gives_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "ctok"]:
        monkeypatch.setitem(sys.modules, name, None)
    ruler = ClaudeRuler()
    text = text_of("logs", 4)
    assert ruler.count(text) == ruler.estimate(text) == tokens.most_by_bytes(text) > claude.count(text)
    assert not ruler.counts
    assert "ctok" in ruler.degraded
    assert claude.degraded == ""


@pytest.mark.usefixtures("loaded_anew")
def test_a_vocabulary_that_counts_otherwise_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ctok.main._model("v4.8")
    monkeypatch.setattr(model.trie, "root", {})
    ruler = ClaudeRuler()
    assert ruler.count("hello world") == tokens.most_by_bytes("hello world")
    assert "115" in ruler.degraded


@pytest.mark.usefixtures("loaded_anew")
def test_a_text_on_which_ctok_fails_is_answered_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tile = ctok.engine.tile

    def failing(text: str, model: object) -> tuple[int, list[str]]:
        if "٣" in text:
            raise AssertionError("three")
        return tile(text, model)  # type: ignore[no-any-return]

    monkeypatch.setattr(ctok.engine, "tile", failing)
    ruler = ClaudeRuler()
    assert ruler.degraded == ""
    assert ruler.count("a ٣ b") == tokens.most_by_bytes("a ٣ b")
    assert ruler.counts
    assert "three" in ruler.degraded
    assert ruler.count(text_of("csv", 1)) == claude.count(text_of("csv", 1))


@pytest.mark.parametrize("kind", MAKERS)
def test_the_guess_from_bytes_is_never_a_tenth_too_low(kind: str) -> None:
    for kilobytes in KILOBYTES:
        text = text_of(kind, kilobytes)
        assert off(tokens.guarded(text), text) >= -0.1, kilobytes


def test_the_guess_from_bytes_holds_for_a_language_whose_words_are_no_pieces() -> None:
    assert off(tokens.guarded(WELSH), WELSH) >= -0.1


def test_the_guess_from_bytes_is_not_beyond_all_measure() -> None:
    over = sorted(off(tokens.guarded(text_of(kind, 9)), text_of(kind, 9)) for kind in MAKERS)
    assert over[len(over) // 2] < 0.6
    assert over[-1] < 3


def _blocks() -> Iterator[str]:
    """Up to 64 characters of each part of Unicode that has any, and printable ASCII by kinds. From 0x20000 on there is
    nothing but ideographs of four bytes: up to 256 of them."""
    yield from (string.ascii_uppercase, string.ascii_lowercase, string.digits, string.punctuation, string.printable)
    for start, end, size in ((0x80, 0x20000, 0x40), (0x20000, 0x30000, 0x100)):
        for first in range(start, end, size):
            block = [each for code in range(first, first + size) if unicodedata.category(each := chr(code))[0] != "C"]
            if block:
                yield "".join(block)


@pytest.mark.parametrize("form", ["{}", "{} ", "{}\n", "{}a", "{}A", "{}1", "{}."])
def test_no_text_has_more_tokens_than_its_bytes_allow(form: str) -> None:
    rng = random.Random(form)
    for block in _blocks():
        text = "".join(form.format(rng.choice(block)) for _ in range(60))
        repeated = form.format(rng.choice(block)) * 60
        for each in (text, repeated, json.dumps([text], ensure_ascii=False)):
            assert exact(each) <= tokens.most_by_bytes(each) + 2, each[:20]  # its ends have marks, too
