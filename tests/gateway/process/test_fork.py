import os
import select
import subprocess
import sys
from functools import partial

import pytest

from gateway.process.fork import in_a_fork
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)  # connections are closed


def test_work_is_done_in_another_process_and_its_result_returned() -> None:
    assert in_a_fork(os.getpid) != os.getpid()
    assert in_a_fork(partial(sorted, [2, 1])) == [1, 2]


def test_an_error_of_the_work_is_raised() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        in_a_fork(partial(int, "one"))


WAITING = """
import os, sys
from gateway.process.fork import in_a_fork
held, alive = map(int, sys.argv[1:])
def work():
    os.write(alive, b"begun")
    os.read(held, 1)
in_a_fork(work)
"""


def test_the_other_process_ends_with_its_work_even_if_this_one_was_killed() -> None:
    (held, let_go), (seen, alive) = os.pipe(), os.pipe()
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "gateway.settings"}
    command = [sys.executable, "-c", WAITING, str(held), str(alive)]
    with subprocess.Popen(command, pass_fds=[held, alive], env=environment) as program:
        os.close(held)
        os.close(alive)
        assert os.read(seen, 5) == b"begun"
        program.kill()
    os.close(let_go)
    assert select.select([seen], [], [], PATIENCE)[0], "it has not ended: its end of the pipe is open"
    assert os.read(seen, 1) == b""
    os.close(seen)
