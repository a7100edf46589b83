"""What is read in a wish, and which words of tools its words mean."""

import pytest

from gateway.connectors.tools.intent import Does
from gateway.connectors.tools.meanings import Vocabulary
from gateway.connectors.tools.parsed_query import ParsedQuery
from gateway.connectors.tools.words import root


@pytest.mark.parametrize(
    ("query", "verb", "asked"),
    [
        ("create a boat", "create", {Does.CREATE}),
        ("please remove the boat", "remove", {Does.DELETE}),
        ("how do I rename a boat", "rename", {Does.UPDATE}),
        ("show my boats", "show", {Does.READ}),
        ("tow the boat", "tow", {Does.OTHER}),
        ("who owns a boat", "", {Does.READ}),
        ("comments on a boat", "", {Does.READ}),
        ("comment on a boat", "comment", {Does.OTHER}),
        ("log time on a job", "log", {Does.CREATE}),
        ("open a ticket", "open", {Does.CREATE}),
        ("open tickets", "", {Does.READ}),
        ("open the ticket", "open", {Does.READ, Does.CREATE}),
        ("move a boat to the bin", "delete", {Does.DELETE}),
        ("I would like to add a boat", "add", {Does.CREATE}),
        ("like a boat", "like", {Does.OTHER}),
        ("fork somebody's boat", "fork", {Does.OTHER}),
    ],
)
def test_the_verb_says_what_is_asked(query: str, verb: str, asked: set[Does]):
    parsed = ParsedQuery.of(query)
    assert (parsed.verb, parsed.asked) == (verb, asked)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("list the open issues of a repository", {"open", "issues"}),
        ("change a sailor's password", {"password"}),
        ("information about a boat", {"boat"}),
        ("add sails to a boat", {"sails"}),
        ("who is on the boat", set()),
    ],
)
def test_what_is_wanted_stands_before_what_it_belongs_to(query: str, wanted: set[str]):
    assert ParsedQuery.of(query).wanted == wanted


def test_who_and_my_imply_words_that_the_wish_does_not_have():
    assert "member" in ParsedQuery.of("who is on the boat").implied
    assert "me" in ParsedQuery.of("my boats").implied
    assert not ParsedQuery.of("all boats").implied


@pytest.mark.parametrize(("query", "many", "one"), [("boats", 1, 0), ("show a boat", 0, 1), ("find a boat", 0, 0)])
def test_a_list_or_one_of_its_rows_is_wanted(query: str, many: bool, one: bool):
    parsed = ParsedQuery.of(query)
    assert (parsed.many, parsed.one) == (bool(many), bool(one))


@pytest.mark.parametrize(
    "alike",
    [
        "follow follows following followers followed",
        "subscribe subscription subscriber subscriptions",
        "permit permission permitted",
        "register registered registrant registration",
        "pay paid payment payments",
        "ban banned bans",
    ],
)
def test_words_of_one_root_are_alike(alike: str):
    assert len({root(word) for word in alike.split()}) == 1


@pytest.mark.parametrize(
    ("query", "known", "meant"),
    [
        ("followed boats", "follower", "follower"),  # the same root
        ("clients", "customer", "customer"),  # a synonym
        ("cron jobs", "cronjob", "cronjob"),  # two words that are one
        ("permissions", "mypermission", "mypermission"),  # a part of a word
        ("subscr", "subscription", "subscription"),  # the beginning of a word
        ("bokking", "booking", "booking"),  # misspelt
    ],
)
def test_a_word_means_words_that_tools_have(query: str, known: str, meant: str):
    shares = Vocabulary([known, "unrelated"]).meant_by(ParsedQuery.of(query))
    assert any(meant in each for each in shares)
    assert not any("unrelated" in each for each in shares)


def test_who_follows_me_means_followers_before_the_following():
    (shares,) = Vocabulary(["follower", "following"]).meant_by(ParsedQuery.of("who follows me"))
    assert shares["follower"] > shares["following"]
