"""Counts the tokens of a text: by the formula of FR-013, and as Claude counts them.

Answers carry the figure of `formula` (FR-013). `claude` guards the hard cap (law 1) and gives telemetry the actual
count for each estimate (FR-014). Claude's vocabulary comes from the package ctok. We use its version "4.8", the newest,
which gives the highest count on 98 % of texts.

ctok takes 200 ms per 100 KB for a whole text. This package is faster: Claude's tokens never cross from letters to
digits to punctuation, so it cuts a text into runs, prices each run by ctok once, caches the price, and adds the prices
up. That takes 3 to 7 ms per 100 KB, and is within 1 % of ctok on 99 % of texts.

    claude.count(text)       reads every run                      before an answer near the hard cap is sent
    claude.estimate(text)    reads some slices of a long text     to choose a path: whole, page or store
    most_tokens(data)        counts bytes, capitals and spaces    to see that an answer is surely within the hard cap
    tighter_bound(…)         counts digits and repeated words     to see the same of a larger answer
    learned.tokens(…)        weighs bytes, by earlier counts      for telemetry of answers that surely fit
    exact(text)              runs ctok itself                     to audit the others, off the hot path
"""

from typing import Final

from context_protection.core.tokens.bounds import most_tokens, tighter_bound
from context_protection.core.tokens.ctok_vocabulary import exact
from context_protection.core.tokens.estimator import guarded, most_by_bytes, typical
from context_protection.core.tokens.learned_rates import LearnedRates
from context_protection.core.tokens.length_formula import chars_within, formula, formula_of_length
from context_protection.core.tokens.rulers import MARGIN, ClaudeRuler, Ruler

__all__ = [
    "MARGIN",
    "ClaudeRuler",
    "LearnedRates",
    "Ruler",
    "chars_within",
    "claude",
    "exact",
    "formula",
    "formula_of_length",
    "guarded",
    "learned",
    "most_by_bytes",
    "most_tokens",
    "tighter_bound",
    "typical",
]

claude: Final[Ruler] = ClaudeRuler()
learned: Final = LearnedRates(claude)
