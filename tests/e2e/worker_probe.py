"""A task for the cluster's worker, which loads it with --worker-module: it tells which budget the worker goes by."""

import redis
from celery import shared_task
from django.conf import settings

from context_protection.configuration.policies import policy_for


@shared_task(name="tests.report_budget")
def report_budget(operation: str, reply_to: str) -> None:
    """Puts the token budget of an operation into the Redis list `reply_to`."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.rpush(reply_to, policy_for(operation).token_budget_threshold)
