"""A way to a store that is slower than the store."""

import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Proxy(socketserver.ThreadingTCPServer):
    """`seconds` are added to each answer; they may be changed at any time. `asked`: the questions, as they came."""

    def __init__(self, to_port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Forward)
        self.to_port, self.seconds = to_port, 0.0
        self.sockets: list[socket.socket] = []
        self.asked: list[bytes] = []

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def cut(self) -> None:
        """Ends all connections."""
        for each in self.sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class _Forward(socketserver.BaseRequestHandler):
    server: Proxy

    def handle(self) -> None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.server.to_port)) as store:
            self.server.sockets += [self.request, store]
            answers = threading.Thread(target=self._copy, args=(store, self.request, True))
            answers.start()
            self._copy(self.request, store, False)
            answers.join()

    def _copy(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if is_answer:
                    time.sleep(self.server.seconds)
                else:
                    self.server.asked.append(data)
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def tcp_proxy(to_port: int) -> Iterator[Proxy]:
    with Proxy(to_port) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
            proxy.cut()
