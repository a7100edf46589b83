"""manage.py import_openapi: turns an OpenAPI document into tools."""

import os
from argparse import ArgumentParser
from collections.abc import Container, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from asgiref.sync import async_to_sync
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from context_protection.core.errors import CallError
from gateway.connectors.openapi.document.documents import fetched
from gateway.connectors.openapi.importer import import_plan
from gateway.connectors.openapi.importer.import_plan import Plan, Proposal, Status
from gateway.connectors.openapi.models import ImportedApi
from gateway.connectors.openapi.operations import tool_name
from gateway.connectors.openapi.request import credentials
from gateway.connectors.openapi.request.credentials import SPELLED, Credentials
from gateway.upstreams.connections import AuthKind

SHOWN = 40  # operations in a preview
SIGNS = {Status.NEW: "+", Status.CHANGED: "~", Status.UNCHANGED: " ", Status.GONE: "-"}


class Command(BaseCommand):
    help = (
        "Turns an API into tools: reads its OpenAPI document (3.0 or 3.1, JSON or YAML), shows its tools, "
        "and with --all or --only stores them. Run it again with a newer document: names, descriptions and switches "
        "that were set in the admin stay. In the list, + is new, ~ has changed, - is gone from the document."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("document", metavar="FILE|URL", help="The OpenAPI document.")
        parser.add_argument("--name", required=True, help="A short name: its tools begin with it.")
        parser.add_argument(
            "--base-url", default="", help="The API's base address, if the document has none or a different one."
        )
        parser.add_argument(
            "--all",
            action="store_true",
            help="Store it, and switch on every new operation that only reads, is not deprecated, and is not a stream.",
        )
        parser.add_argument(
            "--only",
            action="append",
            default=[],
            metavar="TEXT",
            help="Store it, and switch on the operations whose name, tag or path contains TEXT; may be repeated.",
        )
        parser.add_argument(
            "--with-actions", action="store_true", help="With --all or --only: also operations that change something."
        )
        parser.add_argument(
            "--credential-env",
            default="",
            metavar="NAME",
            help="The environment variable that has the API's key, token or password. It is stored encrypted.",
        )
        parser.add_argument(
            "--auth", default="", metavar="HOW", help=f"How it is sent, if not as the document says: {SPELLED}."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._import(options)
        except CallError as error:
            raise CommandError(" ".join(filter(None, [error.message, error.suggestion]))) from None
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None

    def _import(self, options: dict[str, Any]) -> None:
        plan = _plan(options)
        entered = _entered(plan, options)
        is_stored = options["all"] or options["only"]
        chosen = {each.key for each in plan.proposals if (_is_chosen(each, options) if is_stored else each.chosen)}
        self._show(plan, chosen)
        if not is_stored:
            self.stdout.write("\nNothing was stored. Add --all, or --only TEXT, to store it.")
            return
        _check_words(plan, options["only"])
        api = import_plan.store(plan, chosen=chosen, credentials=entered)
        on = sum(each.operation is not None and each.key in chosen for each in plan.proposals)
        self.stdout.write(f"\nStored. {on:,} tools of {api} are switched on; choose others in the admin.")
        self._tell_credentials(plan, api)

    def _show(self, plan: Plan, chosen: Container[str]) -> None:
        document = plan.document
        self.stdout.write(f"{document.title} {document.version} at {plan.base_url or 'an unknown address'}")
        self.stdout.write(", ".join(f"{count:,} {status}" for status, count in plan.counts.items() if count))
        for problem in plan.problems:
            self.stdout.write(self.style.ERROR(problem))
        for warning in _first(document.warnings, 10):
            self.stdout.write(self.style.WARNING(f"  {warning}"))
        self.stdout.write("")
        for line in _first([_line(plan, each, each.key in chosen) for each in plan.by_status], SHOWN):
            self.stdout.write(line)
        tokens = sum(each.tokens for each in plan.proposals if each.key in chosen)
        self.stdout.write(f"\nTools that are on: about {tokens:,} tokens of definitions.")

    def _tell_credentials(self, plan: Plan, api: ImportedApi) -> None:
        if api.upstream.authentication != AuthKind.NONE.value:
            kind = api.upstream.get_authentication_display()
            self.stdout.write(f"Credentials: {kind}. Change them in the admin: Upstream APIs, {plan.name}.")
        elif plan.document.securities:
            self.stdout.write(f"{credentials.in_words(plan.document)} None are sent.")
            self.stdout.write(f"Enter them in the admin (Upstream APIs, {plan.name}), or add --credential-env NAME.")


def _plan(options: dict[str, Any]) -> Plan:
    source = options["document"]
    if source.startswith(("http://", "https://")):
        data = async_to_sync(fetched)(source)
    else:
        path = Path(source)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise CommandError(f"{source} cannot be read: {error.strerror}.") from None
        source = path.name
    return import_plan.plan(data, name=options["name"], source=source, base_url=options["base_url"])


def _entered(plan: Plan, options: dict[str, Any]) -> Credentials | None:
    """The secret from the environment, to be sent as the options say; None leaves the connection unchanged."""
    variable, auth = options["credential_env"], options["auth"]
    if not variable and not auth:
        return None
    if not variable:
        raise CommandError("--auth says how a secret is sent. Add --credential-env NAME, the variable that has it.")
    secret = os.environ.get(variable, "").strip()
    if not secret:
        raise CommandError(f"The environment variable {variable} is not set, or empty.")
    how = credentials.spelled(auth) if auth else credentials.proposed(plan.document)
    if how.kind is AuthKind.NONE:
        raise CommandError(f"{credentials.in_words(plan.document)} Add --auth: {SPELLED}.")
    return replace(how, secret=secret)


def _is_chosen(proposal: Proposal, options: dict[str, Any]) -> bool:
    """Whether the operation is switched on. A stored operation that is on stays on."""
    operation = proposal.operation
    if operation is None or (proposal.stored is not None and proposal.chosen):
        return proposal.chosen
    if not (operation.is_safe or options["with_actions"]):
        return False
    is_new = proposal.stored is None and not operation.deprecated and not operation.is_stream
    return any(_holds(proposal, text) for text in options["only"]) or (options["all"] and is_new)


def _holds(proposal: Proposal, text: str) -> bool:
    operation = proposal.operation
    words = (proposal.name, operation.path, *operation.tags) if operation else ()
    return any(text.lower() in each.lower() for each in words)


def _check_words(plan: Plan, words: Iterable[str]) -> None:
    for text in words:
        if not any(_holds(each, text) for each in plan.proposals):
            raise CommandError(f"No operation has {text!r} in its name, tags or path. Nothing was stored.")


def _line(plan: Plan, proposal: Proposal, is_on: bool) -> str:
    on = "on " if is_on and proposal.operation else "off"
    changes = f"   {', '.join(proposal.changes[:4])}" if proposal.changes else ""
    name = tool_name(plan.name, proposal.name)
    return f"{SIGNS[proposal.status]} {on} {name:<44} {proposal.tokens:>5} tokens   {proposal.key}{changes}"


def _first(lines: Iterable[str], most: int) -> list[str]:
    every = list(lines)
    return every[:most] + ([f"… and {len(every) - most:,} more"] if len(every) > most else [])
