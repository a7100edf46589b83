"""Invented secrets, each of its own, in every place where an account has them: what must not leave anywhere."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

FIELDS = (
    "entryCode", "gateCode", "keyCode", "pinCode", "smartLockPin", "networkKey", "access_code", "accessInstructions",
    "doorCode", "doorSecurityCode", "wifiPassword", "wifi_password", "lockboxCode", "apiKey", "ccNumber", "cvc",
)  # fmt: skip
LABELS = (
    "Access codes", "Entry codes", "code_1", "Passwort", "Keysafe", "WPA2 key", "Garage", "Gate code", "Wi-Fi password",
    "Türcode", "PIN", "Alarm code",
)  # fmt: skip
NOTES = {
    "hostNote": "Guests come late. The door code is {}. Please be quiet.",
    "guestNote": "Wi-Fi password: {}",
    "comment": "Key safe code {} next to the gate",
    "description": "A quiet house.\n\nGate code: {}\n\nThe garden is large.",
    "houseRules": "No parties. The PIN for the door is {}.",
    "specialInstruction": "Der Türcode lautet {}.",
}
DOCUMENT = "Manual of the house\n\nThe door code is {}.\n\nWi-Fi password: {}\n\n" + "The heating hums. " * 40
MARK = "Zx7"


def is_code(number: int) -> str:
    """Unlike any other text of an account, and like a code."""
    return f"{MARK}{4711 + 137 * number}q"


@dataclass(frozen=True)
class Planted:
    """An object of the account with its canaries, and a document with some more."""

    record: dict[str, Any]
    document: str
    canaries: tuple[str, ...]
    by_path: dict[str, str]  # where `where` could ask for each of the record's


def planted(identifier: int = 7) -> Planted:
    codes = (is_code(number) for number in range(10_000))
    found: dict[str, str] = {}

    def plant(path: str) -> str:
        found[path] = next(codes)
        return found[path]

    fields = [_labelled(label, number, plant) for number, label in enumerate(LABELS)]
    record = {
        "id": identifier,
        "insertedOn": "2099-01-01 00:00:00",
        "guestName": "Ada",
        "name": "House",
        "amount": 7,
        **{name: plant(name) for name in FIELDS},
        **{name: text.format(plant(name)) for name, text in NOTES.items()},
        "customFieldValues": fields,
        "reservationUnit": {"unit": {"deep": [[{"doorCode": plant("reservationUnit.unit.deep")}]]}},
        "financeField": [{"name": "Cleaning", "total": 5, "lockCode": plant("financeField.*.lockCode")}],
        "listingUnits": [{"access": {"pin_code": plant("listingUnits.*.access.pin_code")}}, {"floor": 2}],
        "entry_codes": [plant("entry_codes"), plant("entry_codes.*")],
        "doorCodes": {"front": plant("doorCodes.front"), "back": plant("doorCodes.back")},
        "messages": [{"body": f"Hello! Gate code: {plant('messages.*.body')}"}, {"body": "See you soon."}],
        "house": {
            "entry": {"codes": [plant("house.entry.codes")]},
            "door": {"main": {"code": plant("house.door.main.code")}},
        },
        "wifi": {"key": plant("wifi.key")},
        "stay": {"custom_fields": [{"title": "Gate code", "text": plant("stay.custom_fields.*.text")}]},
    }
    in_document = [next(codes), next(codes)]
    return Planted(record, DOCUMENT.format(*in_document), (*found.values(), *in_document), found)


def _labelled(label: str, number: int, plant: Any) -> dict[str, Any]:
    """A custom field in one of the forms that upstreams have for it."""
    code = plant(f"customFieldValues.{number}")
    match number % 3:
        case 0:
            return {"id": number, "name": label, "value": code}
        case 1:
            return {"id": number, "value": code, "customField": {"id": number, "name": label, "type": "text"}}
        case _:
            return {"label": label, "value": code}


def leaked(text: str, canaries: Sequence[str], *, sent: str = "") -> Iterator[str]:
    """Those of the canaries that a text has, but for the one that was sent along."""
    return (each for each in canaries if each != sent and each in text)
