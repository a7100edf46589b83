"""Directories of other parent processes."""

import os
from pathlib import Path

from gateway.process.place import own_directory


def test_an_abandoned_directory_is_removed_and_a_young_one_is_kept(tmp_path: Path):
    abandoned, young = tmp_path / "workers-abandoned", tmp_path / "workers-young"
    for folder in (abandoned, young):
        folder.mkdir()
    os.utime(abandoned, (0, 0))
    with own_directory(tmp_path):
        assert not abandoned.exists()
        assert young.exists()


def test_a_directory_that_another_parent_removes_meanwhile_is_no_failure(tmp_path: Path):
    """A link to nothing is listed, and cannot be looked at either."""
    (tmp_path / "workers-removed").symlink_to(tmp_path / "nothing")
    with own_directory(tmp_path) as path:
        assert path.exists()
