"""All caches together stay within one limit, and nothing leaves them while there is room."""

import random
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core.cache_budget import ENTRY_BYTES, MIN_BYTES, Cache, CacheBudget

LIMIT = 10 * ENTRY_BYTES
NAMES = ("a", "b", "b")  # two caches have one name

places = st.tuples(st.integers(0, len(NAMES) - 1), st.integers(0, 5))
steps = st.one_of(
    st.tuples(st.just("put"), places, st.integers(0, LIMIT + 100)),
    st.tuples(st.just("put"), places, st.integers(0, 300)),
    st.tuples(st.sampled_from(["get", "peek", "drop", "clear"]), places, st.just(0)),
    st.tuples(st.just("grow"), places, st.integers(0, LIMIT)),
)
Place = tuple[int, int]


class Model:
    """What must be in the caches: the size of each entry, the least recently used first."""

    def __init__(self) -> None:
        self.sizes: dict[Place, int] = {}

    def step(self, what: str, place: Place, size: int) -> None:
        if what == "put":
            self.sizes.pop(place, None)
            self._add(place, size + ENTRY_BYTES)
        elif what == "clear":
            self.sizes = {other: size for other, size in self.sizes.items() if other[0] != place[0]}
        elif what == "drop":
            self.sizes.pop(place, None)
        elif what != "peek" and place in self.sizes:
            old = self.sizes[place]
            if what == "get" or old + size <= LIMIT:
                del self.sizes[place]
                self._add(place, old + size)

    def _add(self, place: Place, size: int) -> None:
        if size > LIMIT:
            return
        while sum(self.sizes.values()) + size > LIMIT:
            del self.sizes[next(iter(self.sizes))]
        self.sizes[place] = size


@given(st.lists(steps, max_size=60))
def test_the_least_recently_used_of_all_caches_leaves_and_only_for_want_of_room(taken: list[tuple[str, Place, int]]):
    budget, model = CacheBudget(LIMIT), Model()
    left: list[object] = []
    caches = [Cache[int, object](name, budget, removed=left.append) for name in NAMES]
    put = 0
    for what, (number, key), size in taken:
        cache = caches[number]
        if what == "put":
            put += cache.put(key, object(), size)
        elif what == "clear":
            cache.clear()
        else:
            getattr(cache, what)(key, *([size] if what == "grow" else []))
        model.step(what, (number, key), size)
        held = {(n, key): each.size(key) for n, each in enumerate(caches) for key in each.entries}
        assert held == model.sizes
        assert budget.used == sum(held.values()) == sum(budget.used_by_cache().values()) <= LIMIT
        assert budget.used_by_cache().get("a", 0) == sum(size for (n, _), size in held.items() if n == 0)
        assert put - len(left) == len(held), "each value that left was told, once"


@pytest.fixture
def budget() -> CacheBudget:
    return CacheBudget(LIMIT)


def test_a_value_is_replaced_and_dropped_only_if_it_is_still_there(budget: CacheBudget):
    cache = Cache[str, str]("a", budget)
    cache.put("key", "one", 1)
    cache.replace("key", "another", "two")
    cache.drop("key", "another")
    assert cache.get("key") == "one"
    cache.replace("key", "one", "two")
    assert cache.get("key") == "two"
    cache.drop("key", "two")
    assert cache.get("key") is None
    assert budget.used == 0


def test_a_lower_limit_holds_at_once(budget: CacheBudget):
    cache = Cache[int, str]("a", budget)
    for key in range(10):
        cache.put(key, "", 0)
    budget.set_limit(3 * ENTRY_BYTES)
    assert list(cache.entries) == [7, 8, 9]


def test_without_memory_no_answer_is_kept_and_what_was_computed_is():
    budget = CacheBudget(0)
    assert not Cache[str, str]("answers", budget).put("key", "value", 1)
    computed = Cache[str, str]("computed", budget, has_answers=False)
    assert computed.put("key", "value", 1)
    assert not computed.put("larger", "value", MIN_BYTES)
    assert computed.get("key") == "value", "nothing had to go for it"


def test_threads_lose_no_byte():
    budget = CacheBudget(50 * ENTRY_BYTES)
    caches = [Cache[int, int](str(number), budget) for number in range(4)]

    def use(seed: int) -> Iterator[None]:
        chance = random.Random(seed)
        for _ in range(3_000):
            cache, key = chance.choice(caches), chance.randrange(40)
            chance.choice((cache.get, cache.drop, lambda key, cache=cache: cache.put(key, 1, chance.randrange(500))))(
                key
            )
            yield

    over: list[int] = []

    def run(seed: int) -> None:
        over.extend(budget.used for _ in use(seed) if budget.used > budget.most_bytes)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert over == []
    assert budget.used == sum(cache.size(key) for cache in caches for key in cache.entries) > 0
    assert len(budget.order) == sum(map(len, caches))
