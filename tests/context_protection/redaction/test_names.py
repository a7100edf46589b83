"""A field's name tells whether it holds a secret, however it is spelt."""

import pytest

from context_protection.redaction import is_secret, secret_kind

SECRETS = {
    "door code": "doorCode door_code DOORCODE door-code frontDoorCode Türcode tuercode Haustürcode codePorte "
    "codigoPuerta doorSecurityCode codice_porta",
    "gate code": "gateCode gate_codes codiceCancello",
    "entry code": "entryCode Entry-codes",
    "access code": "access_code accessCodes codeAcces codigo_acceso zugangscode",
    "smart lock code": "smartLockPin lockCode",
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
    discountCode promoCode productCode
"""


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_known_by_its_name(kind: str):
    names = SECRETS[kind].split()
    assert {name: secret_kind(name) for name in names} == dict.fromkeys(names, kind)


def test_other_names_are_harmless():
    assert [name for name in HARMLESS.split() if is_secret(name)] == []
