"""How pages show the values of dimensions, such as an origin or an empty upstream."""

from collections.abc import Mapping

ORIGINS: Mapping[str, str] = {"upstream": "upstream", "sluice": "Sluice", "caller": "caller", "policy": "policy"}
ORIGIN_COLOURS: Mapping[str, str] = {"upstream": "s2", "sluice": "s4", "caller": "s1", "policy": "s6", "": "s5"}
# By dimension: what is shown for an empty value.
NAMELESS: Mapping[str, str] = {
    "key": "(no valid key)",
    "client": "(not named)",
    "upstream": "(own store)",
    "origin": "(answered)",
    "reason": "(none)",
    "protocol": "(REST)",
    "policy": "(not known)",
    "arm": "(no experiment)",
}

YES_OR_NO = {"cache": "from cache", "oversized": "oversized"}


def value(dimension: str, name: object) -> str:
    """A dimension's value as pages show it, with a name for an empty one."""
    text = str(name)
    if dimension == "origin" and text in ORIGINS:
        return ORIGINS[text]
    if dimension in YES_OR_NO:
        return YES_OR_NO[dimension] if name else f"not {YES_OR_NO[dimension]}"
    return text or NAMELESS.get(dimension, "(none)")


def written(dimension: str, name: object) -> str:
    """A dimension's value as it is written in a page's address."""
    if dimension in YES_OR_NO:
        return "yes" if name else "no"
    return str(name)
