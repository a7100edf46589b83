"""A field's name tells whether it holds a secret, however it is spelt."""

import pytest

from context_protection.core.redaction import is_secret, path_kind, secret_kind

SECRETS = {
    "door code": "doorCode door_code DOORCODE door-code frontDoorCode Türcode tuercode Haustürcode codePorte "
    "codigoPuerta doorSecurityCode codice_porta",
    "gate code": "gateCode gate_codes codiceCancello poolGateCode",
    "entry code": "entryCode Entry-codes guestEntryCode",
    "access code": "access_code accessCodes codeAcces codigo_acceso zugangscode cleanerCode "
    "cleaner_code cleaners_code housekeeperCode cleaningCrewCode contractorCode staffCode staff_pin visitorCode "
    "caretakerCode conciergeBoxCode bikeRoomCode skiLockerCode ownerClosetCode clubhouseCode parcelLockerCode "
    "putzfrauencode codeGardien codigoLimpiadora codicePortineria codigoPorteiro",
    "smart lock code": "smartLockPin lockCode",
    "building code": "buildingGateCode buildingEntranceCode propertyAccessCode propertyEntryCode",
    "garage code": "garageCode Garagencode",
    "alarm code": "alarmCode alarm_pin",
    "lockbox code": "lockboxCode keySafeCode Schlüsselbox-Code",
    "Wi-Fi password": "wifiPassword wifi_password networkKey WPA2_key wlanPasswort senhaWifi cle_wifi "
    "guestWifiPassword",
    "PIN": "pin PIN pinCode pin_code",
    "password": "password Passwort userPassword mot_de_passe contraseña senha pwd",
    "keypad code": "keyCode keypadCode digicode",
    "API key": "api_key apiKey X-Api-Key secretKey private_key",
    "token": "accessToken access_token refreshToken",
    "secret": "client_secret clientSecret secret",
    "credential": "Authorization authorization",
    "access instructions": "accessInstructions access_instructions instructions_acces",
}
HARMLESS = """
    countryCode currencyCode zipCode postalCode postcode confirmationCode couponCode bookingCode iataCode
    languageCode keyFeatures primaryKey foreignKey publicKey keyword keywords key code garageSpaces hasGarage
    parkingSpaces passengers tokenCount tokens max_tokens token_count total_tokens nextPageToken doorCodeFee
    passwordChangedAt statusCode errorCode vendorCode spinCode pinned compass passport opinion safety shipping
    lockVersion wifiSpeed keyboard doorCount gateNumber authorizationStatus tokenType passwordPolicy hasPassword
    refreshTokenLifespan access_token_strategy
    discountCode promoCode productCode propertyCode property_code houseCode house_code houseCodes apartmentCode
    buildingCode building_codes roomCode unitCode flatCode listingPropertyCode complexCode codigoEdificio
    codice_appartamento Gebäudecode ownerCode tenantCode vendorCode employeeCode agentCode channelCode categoryCode
    statusCode referenceCode accountCode housekeepingCode maintenanceCode taskCode staffCount cleanerId visitorName
"""


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_known_by_its_name(kind: str):
    names = SECRETS[kind].split()
    assert {name: secret_kind(name) for name in names} == dict.fromkeys(names, kind)


@pytest.mark.parametrize("name", ["house code", "Property Code", "apartment code", "unit_code", "BUILDING CODE"])
def test_an_identifier_of_a_house_is_harmless_however_it_is_spelt(name: str):
    assert not is_secret(name)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("entry.codes", "entry code"),
        ("units.*.entry.codes.*", "entry code"),
        ("door.0.main.code", "door code"),
        ("wifi.key", "Wi-Fi password"),
        ("gate.value", "gate code"),
        ("guest.doorCode.x", "door code"),
        ("country.code", None),
        ("entry.key", None),
        ("property.code", None),
        ("doors.count", None),
    ],
)
def test_a_path_is_secret_by_the_names_in_it(path: str, kind: str | None):
    assert path_kind(path) == kind


def test_other_names_are_harmless():
    assert [name for name in HARMLESS.split() if is_secret(name)] == []
