"""Groups of settings that a file includes by name: `profiles: [bookings, finance]`."""

from collections.abc import Mapping

from context_protection.core.scopes import EVERYTHING, BudgetScope, Scoped

# A setting that the file itself has for the same scope wins over that of a profile.
PROFILES: Mapping[str, Scoped] = {
    "bookings": {BudgetScope("list_bookings"): {"default_page_size": 100}},
    "finance": {BudgetScope("list_transactions"): {"default_page_size": 75}},
    # For clients that do not page yet: a call without a limit gets 200 rows, the default maximum.
    "softLanding": {EVERYTHING: {"default_page_size": 200}},
}
PROFILE_SPELLINGS: Mapping[str, str] = {**{name: name for name in PROFILES}, "soft_landing": "softLanding"}
