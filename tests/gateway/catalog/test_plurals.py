"""Singulars of plurals: in the names of tools that an API's paths give, and in searches."""

import pytest

from gateway.catalog.plurals import singular


@pytest.mark.parametrize(
    ("plural", "one"),
    [
        ("bookings", "booking"),
        ("companies", "company"),
        ("taxes", "tax"),
        ("branches", "branch"),
        ("addresses", "address"),
        ("movies", "movie"),
        ("statuses", "status"),
        ("caches", "cache"),
        ("databases", "database"),
        ("analyses", "analysis"),
        ("people", "person"),
        ("ties", "tie"),
    ],
)
def test_plurals_are_one_of_many(plural: str, one: str):
    assert singular(plural) == one
    assert singular(one) == one


@pytest.mark.parametrize("word", ["address", "status", "basis", "series", "news", "alias", "gas", "data", ""])
def test_a_word_that_ends_like_a_plural_is_unchanged(word: str):
    assert singular(word) == word
