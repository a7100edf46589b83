"""Readiness notices that Redis has lost its data, and says so to whoever depends on it."""

from pathlib import Path

import pytest
import redis
from django.test import override_settings

from gateway.asgi import readiness as served
from gateway.dispatch.response_cache import response_cache
from gateway.process.readiness import Readiness
from tests.servers import redis_server

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_acts_once_for_each_loss_of_redis(tmp_path: Path):
    lost: list[str] = []
    readiness = Readiness()
    readiness.when_redis_is_lost(lambda: lost.append("lost"))
    with redis_server(tmp_path) as server, override_settings(REDIS_URL=server.url):
        readiness.look()
        readiness.look()
        assert lost == []
        with redis.Redis.from_url(server.url) as client:
            client.flushall()
        readiness.look()
        readiness.look()
    readiness.close()
    assert lost == ["lost"]


def test_the_served_application_forgets_its_cached_responses_then():
    assert response_cache.forget in served._when_redis_is_lost
