"""What the first call needs is loaded beside the start, not before it is over."""

import threading

import pytest

from gateway.process import warmup
from gateway.threads import bridge
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db  # a thread of the pool looks at its connection, which an earlier test may have left


@pytest.fixture(autouse=True)
def on_threads_of_the_pool() -> None:
    bridge.on_callers_thread.set(False)


async def test_a_start_does_not_wait_and_a_stop_does(monkeypatch: pytest.MonkeyPatch):
    let_go, done = threading.Event(), threading.Event()

    def load() -> None:
        let_go.wait(PATIENCE)
        done.set()

    monkeypatch.setattr(warmup, "_load", load)
    await warmup.warm_up()
    assert not done.is_set()
    let_go.set()
    await warmup.finish()
    assert done.is_set()


async def test_a_failure_is_none_of_the_start(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    def load() -> None:
        raise RuntimeError("no vocabulary")

    monkeypatch.setattr(warmup, "_load", load)
    await warmup.warm_up()
    await warmup.finish()
    assert "not everything was loaded" in caplog.text
