"""Words in field names, grouped by the role that they suggest."""

from context_protection.core.name_words import word_set

# Objects that hold the record's own fields: JSON:API has `attributes`, Kubernetes `metadata` and `spec`, Jira `fields`.
WRAPPERS = word_set("fields attributes properties profile metadata spec node commit item details detail snippet")
IDENTITIES = word_set("id uuid guid key uid sid oid gid sha")
NAMES = word_set("name title label subject headline summary login username handle symbol filename")
MESSAGES = word_set("message text body content comment snippet")
# The people and companies that a record is about or comes from.
PEOPLE = word_set(
    "user author owner creator customer client contact assignee sender recipient member account guest reporter person "
    "from to requester organizer artist patient employee vendor supplier company team"
)
CODES = (
    "key",
    "number",
    "no",
    "nr",
    "code",
    "sku",
    "slug",
    "email",
    "reference",
    "ref",
    "version",
)  # the most telling first
STATES = word_set("status state type kind stage phase category role priority severity conclusion urgency level")
STATUSES = word_set("status state stage phase")
KINDS = word_set("type kind")
# Flags that tell the state of a record without a status.
STATE_FLAGS = word_set(
    "completed complete done finished closed resolved paid active enabled archived cancelled canceled success succeeded"
)
DATES = word_set("date at on time created updated modified inserted start end since until due expires timestamp")
CREATED = word_set("created inserted")
# Dates of what the record is about, not of the record itself: `due_date`, `start`, `published_at`, `timestamp`.
MAIN_DATES = word_set(
    "at date datetime time on timestamp start started end due sent joined release released issued issue "
    "invoice order check in out arrival departure seen last utc gmt unix ms begin close until expires expiry "
    "expiration deadline delivery scheduled posted played"
)
UPKEPT = word_set("updated modified changed synced indexed pushed activity processed closed merged")
AMOUNTS = word_set("price amount total subtotal cost sum value revenue salary")
PARTS_OF_AMOUNTS = word_set("balance fee tax discount discounts paid payout due")
OPEN_AMOUNTS = word_set("due balance outstanding remaining unpaid owed")
SUMS = word_set("total grand")
SUBTOTALS = word_set("sub subtotal")
NOT_A_CODE = word_set("postal zip country area language locale error failure")  # `postal_code` identifies nothing
FACETS = word_set(
    "city country email phone quantity count number capacity size rating score language vendor brand description "
    "visibility branch topic duration customer user from to model"
)
FLAGS = word_set("is has can was does should allow allows")
UNHELPFUL = word_set("token hash auth signature")
