"""Codes and passwords in sentences, lines, Markdown and HTML are masked; harmless sentences stay as they are."""

import json
import time
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_protection.core.redaction import REACH, prose, redact, redact_text
from context_protection.core.redaction.prose import _merged
from tests.context_protection.core.redaction.harmless import sentences

NAMES = {
    "en": "Door code, Front door code, Gate code, Entry code, Access code, Keypad code, Lockbox code, Lock box code, "
    "Key safe code, Smart lock code, Garage code, Alarm code, Safe code, Elevator code, Building code, Parking code, "
    "PIN, Password, Passphrase, Wi-Fi password, WiFi key, Router password, Network key, WPA2 key, API key, "
    "Access token, Code for the front door, Smart lock PIN, Passcode, Front door keypad code",
    "de": "Türcode, Haustürcode, Tuercode, Torcode, Zugangscode, Schlüsselbox-Code, Schlüsseltresor-Code, Garagencode, "
    "Alarmcode, Tresorcode, Aufzugscode, Passwort, Kennwort, WLAN-Passwort, WLAN-Schlüssel, Netzwerkschlüssel, "
    "Code für die Haustür, PIN, Code Tiefgarage, PIN-Code",
    "fr": "Code porte, Code de la porte, Code portail, Code d'accès, Code d'entrée, Digicode, Code de la boîte à clés, "
    "Code alarme, Code garage, Code du coffre, Mot de passe, Mot de passe Wi-Fi, Clé wifi, Clé WPA, Code immeuble",
    "es": "Código de la puerta, Código de acceso, Código del portal, Clave del wifi, Contraseña, Contraseña del Wi-Fi, "
    "Código de la caja de llaves, Código de alarma, Código del garaje, PIN, Código de la caja fuerte",
    "it": "Codice porta, Codice del portone, Codice del cancello, Codice di accesso, Codice cassetta delle chiavi, "
    "Codice allarme, Codice cassaforte, Password del Wi-Fi, Chiave di rete, Codice del garage, PIN",
    "pt": "Código da porta, Código do portão, Código de acesso, Código do cofre das chaves, Código do alarme, Senha, "
    "Senha do Wi-Fi, Palavra-passe, Palavra-passe do wifi, Código da garagem, Código do prédio",
}
SHAPES = (
    "{name}: 4711#",
    "{name} : 4711",
    "{name} = 4711",
    "{name} 4711",
    "{name}:\n4711",
    "{name}:\n\n- 4711\n- 4712",
    "**{name}**: `4711`",
    "| {name} | 4711 |",
    "<p><b>{name}</b>: <span>4711</span></p>",
    "<tr><td>{name}</td><td>4711</td></tr>",
    "{name} is 4711.",
    "{name} (changes each stay): 4711",
    "{name} - “4711abc”",
    "{name}: 'forget me not'",
    "{name}: 4 7 1 1",
    "{name}, as of today, is 4711",
    "Hello Ada,\n{name}: 4711\nBye, see you at 15:00.",
    "{name}: 4711. Write 4711 down.",
    "{name}: #4711*",
)


@pytest.mark.parametrize("language", NAMES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_value_after_a_name_is_masked(language: str, shape: str):
    kept = []
    for name in NAMES[language].split(", "):
        redacted, kinds = redact_text(shape.format(name=name))
        if not kinds or any(piece in redacted for piece in ("4711", "4712", "forget me", "7 1")):
            kept.append(redacted)
    assert kept == []


@pytest.mark.parametrize(
    "text",
    [
        "The code for the front door is 4711",
        "Use PIN 4711 on the keypad",
        "4711 is the code for the lock box",
        "'4711#' is the gate code",
        "4711 opens the gate",
        "Enter #4711* on the keypad",
        "To open the door, enter 4711.",
        "Press 4711 and then the key symbol to open the door",
        "Front door: 4711",
        "Garage: 4711",
        "Garage:\n\n- 4711",
        "Gate code 4711 opens the barrier",
        "The gate codes are 4711 and 4711#.",
        "Codes: front door 4711, garage 4711",
        "The lockbox hangs left of the door. The code is 4711.",
        "Wi-Fi: CasaBlu / sunflower4711",
        "Wi-Fi (CasaBlu): sunflower4711",
        "wifi network: CasaBlu password: blume4711",
        "WLAN: Haus am See, Passwort: 4711Blume!",
        "Login: admin / Passwort: geheim4711!",
        "Mit 4711 öffnet sich das Tor",
        "4711 am Tastenfeld eingeben",
        "Der Türcode lautet 4711",
        "Haustür: 4711",
        "Schlüsselbox 4711",
        "Tapez 4711 sur le clavier",
        "Pour ouvrir la porte, composez le 4711",
        "La boîte à clés s'ouvre avec le 4711",
        "Le code d'accès au portail est le 4711.",
        "Marque 4711 en el teclado",
        "Caja de llaves: 4711",
        "Digitare 4711 sulla tastiera",
        "Cassetta delle chiavi, combinazione 4711",
        "O cofre das chaves abre com 4711",
        "Digite 4711 no teclado",
        "frontDoorCode=4711 guest=Ada",
        '{"frontDoorPin": 4711, "a": 1}',
        '{"wifi_password":"4711"}',
        "api_key: sk-4711abcdef",
        "Access token: 4711abc",
        "Authorization: Bearer 4711abcdef",
        "authorization=Basic 4711abcdefgh",
        "The gate code is 4711A this week",
        "La puerta del sótano, código B4711",
        "Front gate code for Ms. Aydin: 47 11",
        "Mailbox code 4711-22",
        "The strongbox under the bed opens with 4711",
        "Gate: press 1, then enter 4711",
        "Das Garagentor lässt sich mit 4711 öffnen",
        "With 4711 you open the key box",
        "It's 4711 for the garage door code",
        "4711 ist weiterhin der Torcode.",
        "4711, c'est toujours le code de la porte",
        "El 4711 sigue siendo el código de la verja",
        "Please punch in B4711 on the gate keypad",
        "Usa Blume4711 como contraseña del wifi",
        "Utilisez Blume4711 comme mot de passe wifi.",
        "Die Tor-PIN haben wir auf 4711 geändert.",
        "Am Tor 4711 eintippen",
        "The lift needs code 4711",
        "Smart lock: the code, followed by the tick, is 4711",
        "Mastercode: 4711",
        "Nuki code 4711",
        "Wi-Fi: CasaBlu 12 / pw: 4711Blume",
        'The password for the network "Casa Blu" is Blume4711',
    ],
)
def test_a_value_in_a_sentence_is_masked(text: str):
    redacted, kinds = redact_text(text)
    assert kinds
    assert "4711" not in redacted


@pytest.mark.parametrize(
    "text",
    [
        "the password is 'sunflower'",
        'la contraseña es "girasol"',
        "Passwort: „Blume“",
        "Le mot de passe est « bleuet »",
    ],
)
def test_a_word_in_quotes_is_a_password(text: str):
    assert redact_text(text)[1] == ("password",)


@pytest.mark.parametrize(
    "text",
    [
        "« 4711 ouvre-toi » est le mot de passe",
        "« 4711 fleurs » est le mot de passe du wifi",
        "« 4711 fleurs », c'est notre mot de passe",
        "Utilisez « 4711 fleurs » comme mot de passe",
        '"4711 flowers" is our Wi-Fi password',
        "„4711 Blumen“ ist unser WLAN-Passwort",
        "»4711 Blumen« lautet das Kennwort",
        "«4711 flores» es nuestra clave del wifi",
        "“4711 flores” es la contraseña",
        "«4711 fiori» è la nostra password del Wi-Fi",
        '"4711 flores" é a nossa senha do wifi',
    ],
)
def test_a_quoted_value_before_its_name_is_masked(text: str):
    redacted, kinds = redact_text(text)
    assert len(kinds) == 1
    assert "4711" not in redacted


@pytest.mark.parametrize(
    "text",
    [
        "Codes: door X1234, gate Y99",
        "Codes: front door X1234; lockbox Y-99#, garage Y9931",
        "Codes - door: X1234 / gate: Y99",
        "Door codes: X1234 (front), Y99 (back)",
        "Entry codes are door X1234 and gate Y99",
        "Access codes: building X1234, apartment Y99",
        "Codes: Tür X1234, Tor Y99",
        "Codes : porte X1234, portail Y99",
        "Códigos: puerta X1234, verja Y99",
        "Codici: porta X1234, cancello Y99",
        "Códigos: porta X1234, portão Y99",
    ],
)
def test_codes_in_a_list_are_masked(text: str):
    redacted, _ = redact_text(text)
    assert "X1234" not in redacted
    assert "Y99" not in redacted
    assert "Y-99" not in redacted


def test_a_year_may_be_a_code_and_is_masked_only_there():
    assert redact_text("Gate code 2024. Built in 2024.")[0] == "Gate code [withheld: gate code]. Built in 2024."


def test_a_place_that_begins_a_line_has_its_code_whatever_stands_above():
    text = "Free Wi-Fi in all rooms of the house\nFront door: 4711"
    assert redact_text(text)[0].endswith("Front door: [withheld: door code]")


def test_a_text_of_json_is_json_still():
    redacted, _ = redact_text('{"doorCode": 4711, "x": [{"pin":4711}]}')
    assert orjson.loads(redacted) == {"doorCode": "[withheld: door code]", "x": [{"pin": "[withheld: PIN]"}]}


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize(
    "document",
    [
        {"doorCode": "4711"},
        {"a": 1, "password": "hunter2"},
        {"apiKey": "9f3a1c7e5b2d", "a": 1},
        {"doorCode": 4711, "a": 1},
        {"x": [{"pin": 4711}]},
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_escaped_json_in_a_text_is_redacted_as_json_is(document: dict[str, Any], indent: int | None, times: int):
    plain = json.dumps(document, indent=indent)
    redacted, kinds = redact_text(f"INFO sent {plain}")
    assert kinds
    assert redact_text(f"INFO sent {_escaped(plain, times)}") == (f"INFO sent {_escaped(redacted[10:], times)}", kinds)
    text = f'INFO sent body="{_escaped(plain, times)}"'
    assert redact({"a": text})[0] == {"a": f'INFO sent body="{_escaped(redacted[10:], times)}"'}


@pytest.mark.parametrize("document", ['{"doorCode": "Pr\\\\",PVoL7"}', '{"wifi password": "x9\\\\""}'])
def test_an_escaped_quote_in_a_value_of_json_does_not_end_it(document: str):
    redacted, _ = redact_text(f"sent {document}")
    assert "PVoL7" not in redacted
    assert "x9" not in redacted


@pytest.mark.parametrize("times", [0, 1, 2])
@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
@pytest.mark.parametrize(
    "password", ['ab"cdefgh123', 'a"b"c"d', "ab\\cd", "ab'cd", "correct horse battery", "a(b)[c]|d", "a|b:c=d,"]
)
def test_a_password_in_json_is_withheld_whatever_is_in_it(password: str, separators: tuple[str, str], times: int):
    expected = _line("[withheld: password]", separators, times)
    assert redact_text(_line(password, separators, times)) == (expected, ("password",))


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
@pytest.mark.parametrize("password", ['"abcd', 'abcd"', "abcd\\", '"ab cd"'])
def test_a_password_in_json_is_withheld_with_quotes_at_its_ends(password: str, separators: tuple[str, str]):
    expected = _line("[withheld: password]", separators)
    assert redact_text(_line(password, separators)) == (expected, ("password",))


def _line(password: str, separators: tuple[str, str], times: int = 0) -> str:
    document = json.dumps({"user": "bob", "password": password, "host": "db"}, separators=separators)
    return f"INFO sent {_escaped(document, times)} to db"


@pytest.mark.parametrize("text", ['password="ab\\"cd ef"', "password='ab\\'cd ef'", 'password = "abcd\\"'])
def test_a_quoted_password_in_source_code_is_withheld_as_a_whole(text: str):
    opened = text.index("=") + (3 if " = " in text else 2)
    assert redact_text(text)[0] == f"{text[:opened]}[withheld: password]{text[-1]}"


@pytest.mark.parametrize(
    "text", ['{"password":""},"user":"bob smith"}', '[{"a":{"password":""}},{"user":"bob smith"}]']
)
@pytest.mark.parametrize("times", [0, 1, 2])
def test_an_empty_password_does_not_reach_the_next_value(text: str, times: int):
    assert redact_text(_escaped(text, times))[1] == ()


@pytest.mark.parametrize(
    "text",
    [
        'def check_password(self):\n    """Compares the hashes."""\n',
        'def access_token(self) -> str:\n    """An OAuth access token."""\n',
        'class Secret:\n    """Represents a private key."""\n',
        'client = Client(api_key="...")',
    ],
)
def test_docstrings_and_left_out_values_in_source_code_stay(text: str):
    assert redact_text(text) == (text, ())


def test_the_next_argument_of_a_call_stays():
    text = 'connect(password="hunter2 and me", port=5432, timeout="5 s")'
    assert redact_text(text)[0] == 'connect(password="[withheld: password]", port=5432, timeout="5 s")'
    assert redact_text('password: "hunter2", "ab=cd1"')[0].count("withheld") == 2


def test_a_password_in_three_quotes_is_withheld():
    assert redact_text('password = """abc def"""')[1] == ("password",)


def _escaped(text: str, times: int) -> str:
    for _ in range(times):
        text = json.dumps(text)[1:-1]
    return text


def test_harmless_sentences_stay():
    touched = [redacted for redacted, kinds in map(redact_text, sentences(12_000)) if kinds]
    assert touched == []


@pytest.mark.parametrize(
    "text",
    [
        'api_key = os.environ["API_KEY"]',
        '"key": "value1"',
        "def check(pin: str, code: int = 404) -> None:",
        "for key, code in zip(keys, codes): total[code] += 1000",
        "tokens: 4096, max_tokens: 1024",
        "The check-in code of conduct 2026 applies.",
        "The bearer of this voucher gets 2 nights.",
        "Security uses WPA2-PSK and AES-256 on channel 11.",
        "The front door is painted in RAL7016.",
        "It's 1500 for the garage as a whole.",
        "const key = scryptSync(password, 'salt', 24)",
        "`passphrase`, `pfx`, `rejectUnauthorized`",
        '"password": {"type": "string", "minLength": 8}',
        "Pin-Priority: 500",
        "contrib/passwd/apr1.c",
        "UNKNOWN_PSK_IDENTITY = 115",
        "The pin `<2.4` says so.",
        "password = utf8_to_utf16(v)",
        "Process finished with exit code 139",
        "2026-11-22 10:00:00 ERROR [door-service] status code 503 after 1200 ms",
    ],
)
def test_source_code_and_logs_stay(text: str):
    assert redact_text(text) == (text, ())


WORDS = st.sampled_from(
    [
        "door",
        "code",
        "is",
        "4711",
        "the",
        "gate",
        ":",
        "#",
        "*",
        "\n",
        "password",
        "'",
        '"',
        '\\"',
        "“",
        "”",
        "Wi-Fi",
        "/",
        "and",
        "1234",
        "codes",
        "PIN",
        "on",
        "keypad",
        "2024",
        "Türcode",
        ",",
        ".",
        "é",
        "(",
        ")",
        "|",
        "=",
        "enter",
        "opens",
        "lockbox",
        "a1b2c3",
        "[withheld:",
        "-",
    ]
)


@given(st.lists(WORDS, max_size=40).map(" ".join))
@example("'4711 blue' is the door code")
def test_redacting_twice_changes_nothing_more(text: str):
    once, _ = redact_text(text)
    again, kinds = redact_text(once)
    assert (again, kinds) == (once, ())


@given(st.text(alphabet="hjrsuvxyz 12345.,-\n", max_size=200))
def test_a_text_without_the_vocabulary_is_the_same_object(text: str):
    assert redact_text(text)[0] is text


def test_what_is_masked_depends_on_no_more_than_the_overlap():
    far = "rain and wind\n" * (REACH // 10)
    assert redact_text(f"Door code: 4711\n{far}Remember 4711.")[0].endswith(f"{far}Remember 4711.")


@pytest.mark.parametrize("markup", ["<b>", "(a)", "&nbsp;"])
def test_a_value_behind_very_much_markup_is_no_longer_that_of_the_name(markup: str):
    assert redact_text(f"Door code: {markup * (900 // len(markup))}4711 b")[1] == ("door code",)
    assert redact_text(f"Door code: {markup * (1100 // len(markup))}4711 b")[1] == ()


def test_of_values_that_overlap_in_part_nothing_is_left():
    assert _merged([(4, 9, "PIN"), (0, 6, "door code"), (20, 22, "PIN")]) == [(0, 9, "door code"), (20, 22, "PIN")]


def test_lines_with_their_overlap_are_redacted_as_the_whole_is():
    lines = [f"{sentence}\n" for sentence in sentences(600)]
    for at in range(0, 600, 37):
        lines[at] = f"Door code: {4000 + at}\n"
        lines[at + 2] = f"Remember {4000 + at}.\n"
    whole = "".join(lines)
    pieces, offset = [], 0
    for at in range(0, 600, 50):
        part = "".join(lines[at : at + 50])
        start, end = offset, offset + len(part)
        offset = end
        before, behind = whole[max(0, start - REACH) : start], whole[end : end + REACH]
        before, behind = before[before.find("\n") + 1 :], behind[: behind.rfind("\n") + 1]
        redacted = redact_text(before + part + behind)[0].splitlines(keepends=True)
        count = before.count("\n")
        pieces += redacted[count : count + 50]
    assert "".join(pieces) == redact_text(whole)[0]
    assert "Remember 4037" not in "".join(pieces)


@pytest.mark.parametrize(
    "piece",
    [
        "1 ",
        "door 1 ",
        "door code 1234 and ",
        "password '",
        "code: 1,",
        "pin 1-",
        "wifi: a1/",
        "<1",
        "&a1",
        "door\n1",
        "aB1",
        "\\",
        '\\"',
        'password "\\\\\\',
        "password '\\'\\'",
        "1\\n",
    ],
)
def test_the_time_grows_with_the_text(piece: str):
    """A minute is generous: these take a second or two, and would take minutes if they grew with the square."""
    started = time.perf_counter()
    redact_text(f"door code{piece * (50_000 // len(piece))}")
    assert time.perf_counter() - started < 60


@pytest.mark.parametrize(
    ("piece", "characters"),
    [
        ('"password":"', 200_000),
        ("<pin>", 50_000),
        ("(pin)", 200_000),
        ("&pin;", 200_000),
        ("authorization:", 400_000),
        ("pin:11-11x,", 100_000),
        (f": 1234\n{' ' * 60_000}!", 70_000),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_the_time_grows_with_a_longer_text(piece: str, characters: int):
    """These take up to two seconds of the CPU, and took more than 25 when they grew with the square."""
    started = time.process_time()
    redact_text(f"door code{piece * (characters // len(piece))} 1")
    assert time.process_time() - started < 20


@given(
    st.lists(
        st.sampled_from(("door", "Code", "HTTP", "7", "_", "-", " ", "é", "门", "\n", "x" * 79, "aB")), max_size=12
    )
)
@example(["x" * 79, "x", "aB"])
@example(["x" * 79, "x" * 79, "aB", "x" * 79, "x" * 79, "Code"])
@example(["aB", "aB", "_", "aB"])
def test_camel_case_names_are_those_of_the_pattern(pieces: list[str]):
    text = "".join(pieces)
    assert [*prose._names_in_camel_case(text)] == [each.span() for each in prose._CAMEL_CASE.finditer(text)]


@pytest.mark.parametrize(
    "text",
    ["Wi-Fi password: `Geheimwort`", "Café wifi password: `hunter`", "WLAN-Passwort für Gäste: ´Geheimwort´",
     "the wifi password is ‹correcthorse›", "Türcode: `ABCD`"],
)  # fmt: skip
def test_a_value_in_any_quotes_is_masked(text: str):
    changed, kinds = redact_text(text)
    assert len(kinds) == 1
    others = [" left" * n for n in range(9)]
    assert redact([{"notes": text + each} for each in others])[0] == [{"notes": changed + each} for each in others]
    assert redact({"notes": text})[0] == {"notes": changed}
