import pytest

from telemetry import wording


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0"), (999, "999"), (9_999, "9,999"), (12_345, "12.3 k"), (1_000_000, "1 M"), (4_560_000, "4.56 M")],
)
def test_large_numbers_are_short(number, words):
    assert wording.short(number).replace("\u00a0", " ") == words


def test_no_data_is_not_zero():
    assert wording.share(None) == wording.milliseconds(None) == wording.size(None) == "–"
    assert wording.share(0.0) == "0.0\u00a0%"
    assert wording.milliseconds(0.0) == "0.0\u00a0ms"
