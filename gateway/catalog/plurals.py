"""English plurals: names of tools have their singulars, and searches find one by the other."""

from functools import lru_cache

REMEMBERED = 20_000  # cached words; limited, as queries can have any words
_IRREGULAR = {
    **{"people": "person", "children": "child", "men": "man", "women": "woman", "quizzes": "quiz"},
    **{"movies": "movie", "cookies": "cookie", "calories": "calorie", "hoodies": "hoodie", "caches": "cache"},
    **{"statuses": "status", "aliases": "alias", "canvases": "canvas", "bonuses": "bonus", "campuses": "campus"},
    **{"viruses": "virus", "buses": "bus", "lenses": "lens", "analyses": "analysis", "axes": "axis"},
    **{"indices": "index", "vertices": "vertex", "matrices": "matrix", "ties": "tie", "pies": "pie"},
}
_OF_ONE = frozenset({"alias", "atlas", "bias", "canvas", "lens", "news", "series", "species"})
_ENDINGS = (
    *(("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")),
    *(("ss", "ss"), ("us", "us"), ("is", "is")),
)


@lru_cache(REMEMBERED)
def singular(word: str) -> str:
    """The singular of an English plural in lower case. Other words are returned unchanged."""
    if word in _OF_ONE:
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for ending, instead in _ENDINGS:
        if word.endswith(ending):
            return word.removesuffix(ending) + instead
    return word[:-1] if word.endswith("s") and len(word) > 3 else word
