"""An invented API of 300 operations, as a company's many systems together have them, from a compact table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from context_protection.core.payloads import Record
from context_protection.core.policy import Kind
from context_protection.core.rows import MemoryRows
from gateway.catalog.operation import Operation

# The name of one and of many, and what they are; the fields; what else can be done with one.
TABLE = """
booking, bookings: Reservations (bookings) of guests
  guestName, checkInDate, checkOutDate, status:new/confirmed/cancelled, totalPrice
  cancel: Cancels a booking and frees its nights
  confirm: Confirms a booking that was requested
listing, listings: Properties that are let: houses and apartments
  city, country, bedrooms, maxGuests, nightlyPrice
  publish: Puts a listing onto the sales channels
  unpublish: Takes a listing off the sales channels
guest, guests: People who stay, also called travellers
  fullName, email, phone, language
  block: Keeps a guest from booking again
  merge: Joins two entries of one guest
review, reviews: What guests say after a stay, with stars
  stars, author, comment, listingId
  reply_to: Answers a review in public
rate_plan, rate_plans: Nightly prices by season
  season, startDate, endDate, amount
  copy: Copies a rate plan to another year
availability_block, availability_blocks: Nights on which a property cannot be let, for repairs or owners
  startDate, endDate, reason
cleaning, cleanings: Housekeeping visits between stays
  date, cleanerId, status:planned/done, durationMinutes
  schedule: Plans a cleaning for a departure
  finish: Says that a cleaning was done
door_code, door_codes: Codes of smart locks
  validFrom, validTo, lockId
  rotate: Replaces a door code by another one
  share: Sends a door code to a guest
invoice, invoices: Bills to customers
  customerId, dueDate, total, currency, status:draft/sent/paid/overdue
  send: Emails an invoice to the customer
  void: Makes an invoice invalid without deleting it
  download: The invoice as a PDF file
payment, payments: Money received by card, transfer or cash
  amount, method:card/transfer/cash, receivedOn, invoiceId
  refund: Returns a payment to the payer
  capture: Collects a payment that was authorised
subscription, subscriptions: Recurring plans of customers
  plan, renewsOn, price, status:active/paused/ended
  pause: Suspends a subscription for a while
  resume: Continues a paused subscription
  upgrade: Moves a subscription to a larger plan
coupon, coupons: Discount codes
  code, percentOff, expiresOn
  redeem: Applies a coupon to an order
tax_rate, tax_rates: VAT and other taxes by country
  country, percent, validFrom
payout, payouts: Transfers to the bank accounts of owners
  ownerId, amount, sentOn, bankAccount
  hold: Stops a payout until it is reviewed
  release: Lets a held payout go
expense, expenses: Costs that staff claim back
  amount, category, spentOn, employeeId, receiptUrl
  approve: Accepts an expense for reimbursement
  reject: Declines an expense with a reason
ledger_entry, ledger_entries: Lines of the general ledger
  account, debit, credit, postedOn
  reverse: Books the opposite of a ledger entry
customer, customers: Companies and people who buy, also known as clients
  companyName, email, country, vatNumber
  merge: Joins two customers that are the same
  export: All customers as a CSV file
contact, contacts: People at customers
  fullName, email, phone, jobTitle
  subscribe: Puts a contact on a mailing list
  unsubscribe: Takes a contact off a mailing list
lead, leads: Possible customers who have shown interest
  source, score, ownerId
  convert: Turns a lead into a customer
  assign: Gives a lead to a sales person
deal, deals: Sales opportunities in the pipeline
  stage:open/won/lost, value, closeDate
  win: Marks a deal as won
  lose: Marks a deal as lost
campaign, campaigns: Marketing emails to many people
  subject, audience, sendAt
  launch: Starts sending a campaign
  pause: Stops a campaign that is running
employee, employees: Staff members with their contracts
  fullName, department, managerId, hiredOn, salary
  terminate: Ends the employment of somebody
  promote: Gives an employee another position
leave_request, leave_requests: Vacation and other time off
  employeeId, startDate, endDate, type:vacation/parental/unpaid
  approve: Grants the time off
  reject: Denies the time off
sick_note, sick_notes: Absences for illness, with the doctor's paper
  employeeId, fromDate, untilDate
payslip, payslips: What employees earn each month
  employeeId, month, gross, net
  download: The payslip as a PDF file
job_opening, job_openings: Vacancies that candidates can apply to
  title, department, location
  publish: Advertises a job opening
  close: Ends the search for a job opening
candidate, candidates: Applicants for jobs
  fullName, email, resumeUrl, stage
  hire: Makes an employee of a candidate
  reject: Sends a candidate a refusal
shift, shifts: Working hours in the roster
  employeeId, startsAt, endsAt, role
  swap: Exchanges the shifts of two employees
order, orders: What customers have ordered in the shop
  customerId, items, total, placedOn, status:open/shipped/returned
  ship: Sends the goods of an order
  cancel: Calls off an order before it is shipped
  return: Takes goods of an order back
product, products: Goods for sale, also called articles
  sku, name, price, category
  discontinue: Takes a product out of the range
stock_level, stock_levels: How many pieces of a product lie in a warehouse
  productId, warehouseId, quantity
  adjust: Corrects a stock level after counting
  transfer: Moves goods between warehouses
warehouse, warehouses: Places where goods are stored
  address, capacity
shipment, shipments: Parcels on their way, with tracking
  carrier, trackingNumber, deliveredOn
  track: Where a parcel is now
  reroute: Sends a shipment to another address
supplier, suppliers: Vendors from whom goods are bought
  companyName, country, paymentTerms
  rate: Grades the quality of a supplier
purchase_order, purchase_orders: Orders placed with vendors
  supplierId, items, total, expectedOn
  approve: Clears a purchase order for sending
  receive: Books the goods of a purchase order in
ticket, tickets: Support requests (cases) of customers
  subject, priority:low/normal/urgent, assigneeId, status:open/waiting/solved
  assign: Gives a ticket to an agent
  close: Marks a ticket as solved
  escalate: Hands a ticket to the next level
article, articles: Help pages of the knowledge base
  title, body, language
  publish: Makes a help article visible to everybody
sla_policy, sla_policies: How fast requests must be answered
  firstReplyMinutes, resolveHours
chat_message, chat_messages: Messages between guests and staff
  threadId, sender, text, sentAt
  translate: A chat message in another language
server, servers: Machines that run software
  hostname, region, cpuCores, memoryGb
  restart: Boots a server again
  resize: Gives a server more or less memory
deployment, deployments: Releases of software to an environment
  service, version, environment
  roll_back: Goes back to the version before
  approve: Lets a deployment into production
incident, incidents: Outages and other trouble in production
  severity, startedAt, service
  acknowledge: Says that somebody looks after an incident
  resolve: Says that an incident is over
alert_rule, alert_rules: Conditions that wake somebody up
  metric, threshold, channel
  mute: Silences an alert rule for some hours
api_token, api_tokens: Credentials of programs
  name, scopes, expiresOn
  revoke: Makes an API token useless
user, users: Accounts that can log in
  email, role, lastLogin
  invite: Sends somebody an invitation to join
  deactivate: Locks the account of a user
  reset_password: Sends a user a link to choose a new password
webhook, webhooks: Addresses that are told of events
  url, events, secret
  test: Sends an example event to a webhook
  replay: Sends the events of a day again
"""

TYPES: Mapping[str, Mapping[str, Any]] = {
    "Id": {"type": "integer", "minimum": 1},
    "On": {"type": "string", "format": "date"},
    "Date": {"type": "string", "format": "date"},
}


@dataclass(frozen=True)
class Resource:
    name: str
    plural: str
    about: str
    fields: tuple[str, ...]
    actions: Mapping[str, str]

    @property
    def words(self) -> str:
        return self.name.replace("_", " ")


def resources() -> Iterator[Resource]:
    for head, fields, *actions in _blocks():
        names, about = head.split(": ", 1)
        name, plural = names.split(", ")
        yield Resource(name, plural, about, tuple(fields.split(", ")), dict(each.split(": ", 1) for each in actions))


def _blocks() -> Iterator[list[str]]:
    block: list[str] = []
    for line in TABLE.strip().splitlines():
        if not line.startswith(" ") and block:
            yield block
            block = []
        block.append(line.strip())
    yield block


def operations() -> list[Operation]:
    return [operation for resource in resources() for operation in _of(resource)]


def _of(resource: Resource) -> Iterator[Operation]:
    fields = dict(map(_field, resource.fields))
    listed, one = ", ".join(fields), {"id": {"type": "integer", "minimum": 1, "description": "Its id."}}
    what, path = resource.words, f"/api/v1/tools/{resource.plural.replace('_', '-')}"
    yield _operation(
        f"list_{resource.plural}", f"List {resource.plural.replace('_', ' ')}", f"{resource.about}: {listed}.",
        Kind.LIST, fields, f"{path}", record_operation=f"get_{resource.name}",
    )  # fmt: skip
    yield _operation(
        f"get_{resource.name}", f"Get a {what}", f"One {what} with everything that is known of it.",
        Kind.RECORD, one, f"{path}/{{id}}", required=("id",),
    )  # fmt: skip
    yield _operation(
        f"create_{resource.name}", f"Create a {what}", f"Makes a new {what} from {listed}.",
        Kind.ACTION, fields, path, required=tuple(fields)[:2],
    )  # fmt: skip
    yield _operation(
        f"update_{resource.name}", f"Update a {what}", f"Changes what is given of a {what}; the rest stays.",
        Kind.ACTION, {**one, **fields}, f"{path}/{{id}}", required=("id",),
    )  # fmt: skip
    if len(resource.actions) < 3:
        yield _operation(
            f"delete_{resource.name}", f"Delete a {what}", f"Removes a {what} for good.",
            Kind.ACTION, one, f"{path}/{{id}}", required=("id",),
        )  # fmt: skip
    for verb, told in resource.actions.items():
        named = f"{verb}_{resource.name}"
        title = named.replace("_", " ").capitalize()
        yield _operation(named, title, f"{told}.", Kind.ACTION, one, f"{path}/{{id}}/{verb}", required=("id",))


def _field(text: str) -> tuple[str, dict[str, Any]]:
    name, _, choices = text.partition(":")
    kind = next((schema for ending, schema in TYPES.items() if name.endswith(ending)), {"type": "string"})
    values = {"enum": choices.split("/")} if choices else {}
    return name, {**kind, **values, "description": f"The {name}."}


def _operation(
    name: str, title: str, description: str, kind: Kind, parameters: Mapping[str, Any], endpoint: str, **more: Any
) -> Operation:
    return Operation(name, title, description, kind, parameters, _answer(kind), endpoint, **more)


def _answer(kind: Kind) -> Any:
    if kind is Kind.LIST:
        return lambda arguments, caller: MemoryRows([{"id": number, "name": f"no. {number}"} for number in range(1, 4)])
    return lambda arguments, caller: Record({"done": True, **arguments})
