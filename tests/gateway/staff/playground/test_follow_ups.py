"""The follow-ups that the playground reads out of an answer."""

import json
from typing import Any

from gateway.staff.playground.follow_ups import FollowUp, follow_ups

NESTED = {"filter": {"status": "open"}, "text": "a {brace}", "fields": "all"}


def found(**answer: Any) -> list[FollowUp]:
    return follow_ups("list_orders", json.dumps({"items": [], **answer}))


def test_a_call_with_nested_arguments_is_offered():
    details = {"tool": "list_orders", "arguments": NESTED}
    assert found(meta={"detailsAvailable": details}) == [FollowUp("All fields", "list_orders", NESTED)]


def test_a_template_for_each_row_is_not_offered():
    each = {"tool": "get_order", "arguments": {"id": "{id}"}}
    details = {"tool": "list_orders", "arguments": {"fields": "all"}, "each": each}
    assert [call.tool for call in found(meta={"detailsAvailable": details})] == ["list_orders"]


def test_sections_are_offered_with_their_sizes():
    details = {"tool": "get_order", "arguments": {"id": 7}, "sections": {"lines": {"estimatedTokens": 1200}}}
    labels = {call.label: dict(call.arguments) for call in found(meta={"detailsAvailable": details})}
    assert labels == {"All fields": {"id": 7}, "Section lines, 1,200": {"id": 7, "fields": "lines"}}


def test_equal_calls_are_offered_once():
    call = {"tool": "get_order", "arguments": {"id": 7}}
    assert len(found(meta={"whole": call, "again": call})) == 1


def test_an_answer_that_is_no_object_offers_nothing():
    assert follow_ups("get_text", "plain text") == follow_ups("get_list", "[1]") == []
