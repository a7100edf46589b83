"""Settings that a file takes by name: `profiles: [bookings, finance]`."""

from collections.abc import Mapping

from context_protection.core.scopes import EVERYTHING, BudgetScope, Scoped

# Where the file sets the same for the same scope, the file wins.
PROFILES: Mapping[str, Scoped] = {
    "bookings": {BudgetScope("list_bookings"): {"default_page_size": 100}},
    "finance": {BudgetScope("list_transactions"): {"default_page_size": 75}},
    # For clients that do not page yet: a page without a limit is as large as a page may be.
    "softLanding": {EVERYTHING: {"default_page_size": 200}},
}
PROFILE_SPELLINGS: Mapping[str, str] = {**{name: name for name in PROFILES}, "soft_landing": "softLanding"}
