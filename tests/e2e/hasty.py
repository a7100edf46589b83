"""`manage.py serve`, with deadlines that a test can wait for."""

import os
import sys

import django

HEAD_SECONDS, BODY_SECONDS = 0.5, 1.0


def serve() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
    django.setup()

    from gateway.pages.client_config import welcome
    from gateway.process import first_start, web
    from gateway.process.bodies import LARGE_BODIES
    from gateway.process.http_protocol import RequestLimits

    listener = web.listen("127.0.0.1", 0)
    base = web.address("127.0.0.1", listener)
    credentials = first_start.prepare()
    assert credentials is not None
    sys.stdout.write(f"{welcome(base, credentials)}\nSluice listens on {base}\n")
    sys.stdout.flush()
    limits = RequestLimits(head_seconds=HEAD_SECONDS, body_seconds=BODY_SECONDS, large_bodies=LARGE_BODIES)
    web.run(listener, limits=limits)


if __name__ == "__main__":
    serve()
