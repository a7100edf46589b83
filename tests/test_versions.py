"""No library is older than the version in which its known holes were closed. Nothing here can ask a register of
vulnerabilities, so this list is kept by hand; a package that is not installed is looked for in the locks."""

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements.lock", "requirements-dev.lock")

# The version that is enough. Those of `UNUSED` are not ours today, and would have to be new if they came.
FLOORS = {
    "celery": "5.6",  # 5.6.0: a broker's password was logged
    "django": "5.2.19",
    "kombu": "5.7",
    "mcp": "2.3",  # 1.23: DNS rebinding, CVE-2025-66416
    "pyjwt": "2.12",
    "python-multipart": "0.0.22",
    "starlette": "1.0.1",  # CVE-2026-48710
    "uvicorn": "0.54",
}
UNUSED = {
    "authlib": "1.6.5",
    "daphne": "4.2.2",  # CVE-2026-44545: frames without limit
    "fastmcp": "3.2",  # CVE-2026-32871: path parameters of OpenAPI documents
}


def installed(package: str) -> Version | None:
    try:
        return Version(version(package))
    except PackageNotFoundError:
        return None


def locked(lock: str) -> dict[str, list[Version]]:
    """The versions that a lock pins, by package; several where platforms differ."""
    pins: dict[str, list[Version]] = {}
    for line in re.findall(r"^([A-Za-z0-9][^\s;\\]*)", (ROOT / lock).read_text(), re.MULTILINE):
        pinned = Requirement(line)
        (exact,) = pinned.specifier
        pins.setdefault(pinned.name.lower(), []).append(Version(exact.version))
    return pins


def test_a_lock_is_read() -> None:
    assert len(locked("requirements.lock")) > 50


@pytest.mark.parametrize("package", FLOORS)
def test_what_is_installed_is_new_enough(package: str) -> None:
    found = installed(package)
    assert found is not None
    assert found >= Version(FLOORS[package])


@pytest.mark.parametrize("package", UNUSED)
def test_what_is_not_used_would_be_new_enough(package: str) -> None:
    found = installed(package)
    assert found is None or found >= Version(UNUSED[package])


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("package", [*FLOORS, *UNUSED])
def test_what_is_locked_is_new_enough(lock: str, package: str) -> None:
    pins = locked(lock).get(package, [])
    assert pins or package in UNUSED, "it is used, and not locked"
    assert all(pin >= Version((FLOORS | UNUSED)[package]) for pin in pins)
