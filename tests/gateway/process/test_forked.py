import os
from functools import partial

import pytest

from gateway.process.forked import in_a_fork

pytestmark = pytest.mark.django_db(transaction=True)  # connections are closed


def test_work_is_done_in_another_process_and_its_result_returned() -> None:
    assert in_a_fork(os.getpid) != os.getpid()
    assert in_a_fork(partial(sorted, [2, 1])) == [1, 2]


def test_an_error_of_the_work_is_raised() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        in_a_fork(partial(int, "one"))
