"""Connections to Redis: what a new one costs."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from context_protection.stores.redis_client import connect
from tests.patience import PATIENCE
from tests.servers import redis_server


@contextmanager
def answering(expected: list[bytes], answers: bytes) -> Iterator[int]:
    """The port of a server that says nothing before it has been asked all of that."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with listener.accept()[0] as client:
                asked = b""
                while not all(each in asked for each in expected) and (data := client.recv(65536)):
                    asked += data
                client.sendall(answers)
                client.recv(65536)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            thread.join()


@contextmanager
def connected(url: str) -> Iterator[redis.Redis]:
    """A client whose connections are closed at the end. Closing the client would leave them to the shared pool."""
    client = connect(url)
    try:
        yield client
    finally:
        client.connection_pool.disconnect()


@pytest.mark.parametrize(
    ("userinfo", "database", "asked"),
    [("", 0, []), ("", 5, [b"SELECT"]), (":secret@", 0, [b"AUTH"]), ("me:secret@", 5, [b"AUTH", b"SELECT"])],
)
def test_a_new_connection_waits_for_no_answer_before_its_first_command(
    userinfo: str, database: int, asked: list[bytes]
):
    answers = b"+OK\r\n" * len(asked) + b"$5\r\nvalue\r\n"
    with (
        answering([*asked, b"GET"], answers) as port,
        connected(f"redis://{userinfo}127.0.0.1:{port}/{database}") as client,
    ):
        assert client.get("key") == b"value"


@pytest.mark.parametrize(
    ("address", "asked", "refusal"),
    [
        (":wrong@127.0.0.1:{}/0", b"AUTH", b"-WRONGPASS invalid username-password pair\r\n-NOAUTH no\r\n"),
        ("127.0.0.1:{}/99", b"SELECT", b"-ERR DB index is out of range\r\n$5\r\nvalue\r\n"),
    ],
)
def test_a_connection_that_is_refused_is_not_used_again(address: str, asked: bytes, refusal: bytes):
    with answering([asked, b"GET"], refusal) as port, connected(f"redis://{address.format(port)}") as client:
        connection = client.connection_pool.get_connection()
        connection.send_command("GET", "key")
        with pytest.raises(redis.RedisError):
            connection.read_response()
        assert not connection.is_connected


@pytest.mark.cluster
def test_commands_pipelines_and_subscriptions_go_to_the_database_of_the_url(tmp_path: Path):
    with (
        redis_server(tmp_path) as server,
        connected(server.url.removesuffix("0") + "5") as client,
        redis.Redis.from_url(server.url.removesuffix("0") + "5") as other,
    ):
        with client.pubsub(ignore_subscribe_messages=True) as heard:  # type: ignore[no-untyped-call]
            heard.subscribe("channel")
            assert heard.get_message(timeout=2) is None
            other.publish("channel", "said")
            assert heard.get_message(timeout=PATIENCE)["data"] == b"said"
        with client.pipeline(transaction=False) as pipeline:
            pipeline.set("key", "value")
            pipeline.get("key")
            assert pipeline.execute() == [True, b"value"]
        client.connection_pool.disconnect()
        assert client.get("key") == other.get("key") == b"value"
