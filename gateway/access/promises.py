"""Warnings about hiding a tool that the answers of visible tools refer to."""

from collections.abc import Collection

from gateway.catalog.catalog import catalogue


def broken_by_hiding(hidden: Collection[str]) -> list[str]:
    """A sentence for each answer that would refer to a hidden tool; empty if there is no such answer."""
    visible = [each for each in catalogue if each.listed and each.name not in hidden]
    sentences = [
        f"With {each.record_operation} hidden, nothing opens the rows of {each.name}. Hide both or neither."
        for each in visible
        if each.record_is_row and each.record_operation in hidden and catalogue.find(each.record_operation or "")
    ]
    if "result_get" in hidden and visible:
        sentences.append(
            "With result_get hidden, answers have no resultHandle for what they leave out, and a row that is too large "
            "for an answer cannot be read in full."
        )
    return sentences
