"""The upstreams of this process, by name."""

from gateway.upstreams.client import Upstream
from gateway.upstreams.registry import UpstreamRegistry


def test_what_is_registered_is_found_by_name_and_among_all():
    registry, acme, other = UpstreamRegistry(), Upstream("Acme"), Upstream("Other")
    assert registry.register(acme) is acme
    registry.register(other)
    assert registry.get("Acme") is acme
    assert registry.get("acme") is None
    assert registry.all() == (acme, other)


def test_registering_a_name_again_replaces_what_it_stood_for():
    registry, new = UpstreamRegistry(), Upstream("Acme")
    registry.register(Upstream("Acme"))
    registry.register(new)
    assert registry.all() == (new,)


def test_what_is_removed_is_gone_and_removing_it_again_does_nothing():
    registry = UpstreamRegistry()
    registry.register(Upstream("Acme"))
    registry.remove("Acme")
    registry.remove("Acme")
    assert registry.all() == ()
