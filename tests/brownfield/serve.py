"""python -m tests.brownfield.serve wsgi|asgi: fills a new database, says the port in a line, and serves."""

import os
import socket
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """No line for each request."""


def serve_wsgi() -> None:
    from django.core.wsgi import get_wsgi_application

    with make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Quiet) as server:
        _say(server.server_port)
        server.serve_forever()


def serve_asgi() -> None:
    import uvicorn
    from django.core.asgi import get_asgi_application

    listening = socket.create_server(("127.0.0.1", 0))
    _say(listening.getsockname()[1])
    uvicorn.Server(uvicorn.Config(get_asgi_application(), lifespan="off", log_level="warning")).run([listening])


def _say(port: int) -> None:
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.brownfield.settings"

    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", run_syncdb=True, verbosity=0)

    from tests.brownfield.models import fill

    fill()
    {"wsgi": serve_wsgi, "asgi": serve_asgi}[sys.argv[1]]()
