"""Settings of the model that make no sense stop the start, and say what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.settings_reference import ROOT


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"CODEBASE_MODEL": "gpt"}, "expected one of: off, client, anthropic"),
        ({"CODEBASE_MODEL": "anthropic"}, "set ANTHROPIC_API_KEY"),
        ({"CODEBASE_MODEL_INPUT_PRICE": "-1"}, "CODEBASE_MODEL_INPUT_PRICE is -1.0"),
        ({"CODEBASE_MODEL_OUTPUT_PRICE": "nan"}, "CODEBASE_MODEL_OUTPUT_PRICE is 'nan'"),
        ({"CODEBASE_MODEL_MAX_TOKENS": "7"}, "CODEBASE_MODEL_MAX_TOKENS is 7"),
        ({"CODEBASE_MODEL_SECONDS": "0"}, "CODEBASE_MODEL_SECONDS is 0"),
    ],
)
def test_the_start_stops(tmp_path: Path, variables: dict[str, str], words: str):
    done = subprocess.run(
        [sys.executable, "-c", "from gateway import settings"],
        cwd=ROOT,
        env={"DATA_DIR": str(tmp_path), **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert words in done.stderr.splitlines()[-1]
