"""An invented API of a marina, as an import makes it, and what people ask of it. Its paths and titles have the habits
of large APIs: the same thing below many parents, verbs at the end of paths, POST that only searches, and "me"."""

import re
from collections.abc import Iterator

from context_protection.core.policy import Kind
from context_protection.core.rows import MemoryRows
from gateway.catalog.operation import Operation

# Route: operation id, title.
TABLE = """
GET /v1/boats: list_boats, List boats
POST /v1/boats: create_boat, Create a boat
GET /v1/boats/{boat_id}: get_boat, Retrieve a boat
PATCH /v1/boats/{boat_id}: update_boat, Update a boat
DELETE /v1/boats/{boat_id}: delete_boat, Delete a boat
POST /v1/boats/search: search_boats, Search boats by criteria
GET /v1/boats/{boat_id}/crew: list_boat_crew, List the crew of a boat
PUT /v1/boats/{boat_id}/crew/{sailor_id}: put_boat_crew, Add a sailor to the crew of a boat
DELETE /v1/boats/{boat_id}/crew/{sailor_id}: delete_boat_crew, Remove a sailor from the crew of a boat
GET /v1/boats/{boat_id}/photos: list_boat_photos, List the photos of a boat
POST /v1/boats/{boat_id}/photos: create_boat_photo, Upload a photo of a boat
GET /v1/boats/{boat_id}/remarks: list_boat_remarks, List remarks on a boat
POST /v1/boats/{boat_id}/remarks: create_boat_remark, Create a remark on a boat
DELETE /v1/boats/{boat_id}/remarks/{remark_id}: delete_boat_remark, Delete a remark
POST /v1/boats/{boat_id}/tow: tow_boat, Tow a boat to another berth
POST /v1/boats/{boat_id}/lock: lock_boat, Lock a boat at its berth
DELETE /v1/boats/{boat_id}/lock: unlock_boat, Unlock a boat
GET /v1/berths: list_berths, List berths
GET /v1/berths/{berth_id}: get_berth, Retrieve a berth
GET /v1/berths/{berth_id}/boats: list_berth_boats, List boats at a berth
GET /v1/piers/{pier_id}/berths: list_pier_berths, List berths of a pier
GET /v1/piers: list_piers, List piers
POST /v1/piers: create_pier, Create a pier
GET /v1/moorings: list_moorings, List moorings
POST /v1/moorings: create_mooring, Request a mooring
GET /v1/moorings/{mooring_id}: get_mooring, Retrieve a mooring
POST /v1/moorings/{mooring_id}/cancel: cancel_mooring, Cancel a mooring
POST /v1/moorings/{mooring_id}/confirm: confirm_mooring, Confirm a mooring
GET /v1/moorings/{mooring_id}/charges: list_mooring_charges, List charges of a mooring
POST /v1/lessons/{lesson_id}/cancel: cancel_lesson, Cancel a lesson
GET /v1/lessons: list_lessons, List sailing lessons
POST /v1/lessons: create_lesson, Create a sailing lesson
GET /v1/lessons/{lesson_id}/attendees: list_lesson_attendees, List attendees of a lesson
POST /v1/lessons/{lesson_id}/attendees: create_lesson_attendee, Register an attendee for a lesson
GET /v1/lessons/upcoming: get_upcoming_lesson, Retrieve the upcoming lesson
GET /v1/sailors: list_sailors, List sailors
GET /v1/sailors/{sailor_id}: get_sailor, Retrieve a sailor
GET /v1/sailors/{sailor_id}/boats: list_sailor_boats, List boats of a sailor
GET /v1/sailors/{sailor_id}/followers: list_sailor_followers, List the followers of a sailor
GET /v1/sailors/{sailor_id}/following: list_sailor_following, List the sailors that a sailor follows
PUT /v1/sailors/{sailor_id}/password: put_sailor_password, Update the password of a sailor
GET /v1/me: get_me, Retrieve the current sailor
GET /v1/me/boats: list_my_boats, List boats of the current sailor
GET /v1/me/followers: list_my_followers, List followers of the current sailor
GET /v1/me/following: list_my_following, List whom the current sailor follows
GET /v1/weatherforecasts: list_forecasts, List forecasts for the harbour
GET /v1/invoices: list_invoices, List invoices
GET /v1/invoices/{invoice_id}: get_invoice, Retrieve an invoice
POST /v1/invoices/{invoice_id}/send: send_invoice, Send an invoice
POST /v1/invoices/{invoice_id}/cancel: cancel_invoice, Cancel an invoice
GET /v1/subscriptions: list_subscriptions, List subscriptions to the tide bulletin
POST /v1/subscriptions: create_subscription, Create a subscription to the tide bulletin
DELETE /v1/subscriptions/{subscription_id}: delete_subscription, Delete a subscription
GET /v1/admin/boats/{boat_id}/remarks/deleted: list_deleted_remarks, List deleted remarks on a boat
GET /v1/admin/sailors/{sailor_id}/moorings: list_sailor_moorings, List moorings of a sailor for administrators
"""

WISHES = {
    "all boats": "GET /v1/boats",
    "boats at a berth": "GET /v1/berths/{berth_id}/boats",
    "berths of a pier": "GET /v1/piers/{pier_id}/berths",
    "show a boat": "GET /v1/boats/{boat_id}",
    "details of an invoice": "GET /v1/invoices/{invoice_id}",
    "my boats": "GET /v1/me/boats",
    "who am I": "GET /v1/me",
    "who follows me": "GET /v1/me/followers",
    "whom am I following": "GET /v1/me/following",
    "who follows this sailor": "GET /v1/sailors/{sailor_id}/followers",
    "who is on the crew of a boat": "GET /v1/boats/{boat_id}/crew",
    "who attended the lesson": "GET /v1/lessons/{lesson_id}/attendees",
    "add a new boat": "POST /v1/boats",
    "rename a boat": "PATCH /v1/boats/{boat_id}",
    "get rid of a boat": "DELETE /v1/boats/{boat_id}",
    "search boats by length": "POST /v1/boats/search",
    "kick a sailor from the crew": "DELETE /v1/boats/{boat_id}/crew/{sailor_id}",
    "add somebody to the crew": "PUT /v1/boats/{boat_id}/crew/{sailor_id}",
    "pictures of a boat": "GET /v1/boats/{boat_id}/photos",
    "upload a picture": "POST /v1/boats/{boat_id}/photos",
    "remark on a boat": "POST /v1/boats/{boat_id}/remarks",
    "remarks on a boat": "GET /v1/boats/{boat_id}/remarks",
    "tow my boat": "POST /v1/boats/{boat_id}/tow",
    "cancel my mooring": "POST /v1/moorings/{mooring_id}/cancel",
    "call off a lesson": "POST /v1/lessons/{lesson_id}/cancel",
    "register someone for a lesson": "POST /v1/lessons/{lesson_id}/attendees",
    "plan a lesson": "POST /v1/lessons",
    "the next lesson": "GET /v1/lessons/upcoming",
    "change a sailor's password": "PUT /v1/sailors/{sailor_id}/password",
    "weather forecast": "GET /v1/weatherforecasts",
    "email an invoice to somebody": "POST /v1/invoices/{invoice_id}/send",
    "unpaid bills": "GET /v1/invoices",
    "subscribe me to the bulletin": "POST /v1/subscriptions",
    "stop my subscription": "DELETE /v1/subscriptions/{subscription_id}",
    "charges of a mooring": "GET /v1/moorings/{mooring_id}/charges",
    "moorings that were confirmed": "GET /v1/moorings",
}


def operations() -> list[Operation]:
    return list(_operations())


def _operations() -> Iterator[Operation]:
    for line in TABLE.strip().splitlines():
        route, told = line.split(": ", 1)
        called, title = told.split(", ", 1)
        arguments = {each: {"type": "string"} for each in re.findall(r"{(\w+)}", route)}
        yield Operation(
            f"marina_{called}", title, title, _kind(route), arguments, _rows, f"/api/v1/tools/marina_{called}",
            required=tuple(arguments), route=route, tags=("marina",),
        )  # fmt: skip


def _kind(route: str) -> Kind:
    if not route.startswith("GET "):
        return Kind.ACTION
    return Kind.RECORD if route.endswith(("}", "/me", "/upcoming")) else Kind.LIST


def _rows(arguments: object, caller: object) -> MemoryRows:
    return MemoryRows([])
