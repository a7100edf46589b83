"""The words that tell one small change from another."""

from gateway.connectors.codebase.commits.salient import salient
from tests.gateway.connectors.codebase.commits.test_facts import changed

SAME = "".join(f'<a href="sponsor{number}">' for number in range(40))


def words(old: str, new: str, mark: str = "+") -> tuple[str, ...]:
    return salient(changed({"README.md": (old, new)}).files[0].change, mark)


def test_of_a_long_line_the_part_that_differs_is_read() -> None:
    assert words(f'{SAME}<a href="OldGiver">\n', f'{SAME}<a href="NewGiver">\n') == ("NewGiver",)
    assert words(f'{SAME}<a href="OldGiver">\n', f'{SAME}<a href="NewGiver">\n', "-") == ("OldGiver",)


def test_a_secret_whose_name_stands_before_the_difference_is_not_read() -> None:
    assert words(f'{SAME} "password": "tomorrow"\n', f'{SAME} "password": "yesterday"\n') == ()
    assert words('"password": "tomorrow"\n', '"password": "yesterday"\n') == ()


def test_pieces_of_a_hash_are_no_words() -> None:
    hashes = (
        "8RipRLol37bNs2bhoV67fiTEvdTr+bMUYcFTiy3/wuuOnUog2QBHCZ==",
        "ffIx/tPLdTE693uNjHfzTfr+JDJMrAJGwa5pRpNpvy4P8Q==",
    )
    old, new = (f'"integrity": "sha512-{each}"\n' for each in hashes)
    assert words(f'"version": "4.0.5",\n{old}', f'"version": "4.0.6",\n{new}') == ("4.0.6",)
    assert words("", f"example.org/module v1.2.0 h1:{hashes[1]}\n") == ("example.org/module", "v1.2.0")
