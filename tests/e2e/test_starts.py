"""What `manage.py serve` prints at its second start leads to the admin and to another key."""

import shlex
import subprocess
from pathlib import Path

from tests.e2e.serving import printed_at_start, serving


def test_a_second_start_says_how_to_get_a_key(tmp_path: Path):
    with serving(tmp_path / "data", empty=True) as first:
        assert "password" in first.welcome
    printed = printed_at_start(tmp_path / "data")
    assert "/admin/" in printed
    assert len(first.password) > 10
    assert first.password not in printed
    command = printed.partition("in the admin, or: ")[2].partition("\n")[0].replace("NAME", "desk")
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("slc_")
