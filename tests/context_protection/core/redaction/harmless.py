"""Harmless sentences: what has numbers, dates, prices and other codes beside the words that secrets are called by."""

import random
from collections.abc import Iterator

NAMES = ("Ada", "Grace", "Linus", "Alan", "Barbara", "Edsger", "Tony", "Radia", "Vint", "Margaret")
CITIES = ("Lisbon", "Porto", "Berlin", "Kyoto", "Girona", "Siena", "Lyon", "Graz", "Bath", "Cork")
TEMPLATES = """
Your booking code is {ref}.
The confirmation code {ref} was sent to {name}.
Reservation code: {ref}
Use discount code {promo} for 10 % off.
Promo code: {promo} (valid until {date})
The gift voucher code {promo} is worth {price}.
Please send us your postcode, ours is {zip}.
Zip code: {zip}
Postleitzahl {zip}, {city}
Code postal : {zip} {city}
Código postal {zip}, {city}
CAP {zip} {city}
Country code: {dial}
The dialling code of {city} is {dial}.
Area code {n3}, extension {n4}
Currency code EUR, tax code {n4}
The HS code of coffee is {n4}.10.
Error code {n3}: the door sensor does not answer.
The request ended with status code {n3}.
HTTP status code {n3}
exit code {n1}
error_code=E{n4}
primary key {n2}
Scan the QR code at the door at {time}.
Dress code: smart casual from {time}.
Our code of conduct {year} hangs at the entrance.
Product code {ref}, item code {n4}
The airport code is LIS, gate {n2}.
Gate {n2} closes at {time}.
The gate opens at {time} and closes at {time}.
The garage is {n1}.5 m high and {n1} m wide.
Garage: 2.{n1} m
Parking space {n2} is yours.
Parking: {price} per day
Parking costs {price} a night, the garage {price}.
Door {n1}, second floor
The door opens at {time}.
The door codes are sent {n1} days before arrival.
Check-in code sent {n1} days before arrival at {time}.
You get the door code on {date} at {time}.
The door code changes on {date}.
The door code will be sent to {phone}.
For the gate code call {phone}.
The lockbox is at {n3} Main Street.
The key safe is {n3} m from the door.
The Wi-Fi password is on the router in room {n3}.
Wi-Fi {n3} Mbit/s
Wi-Fi 6, {n3} Mbit/s down
Fast Wi-Fi ({n3} Mbps) in all {n2} rooms
Wi-Fi: {n3} Mbit/s
WLAN mit {n3} Mbit/s in allen Zimmern
The network has {n3} devices.
{n1} keys, {n1} access cards
We hand out {n1} keys at the door at {time}.
Key features: {n1} bedrooms, {n1} bathrooms, {n3} sqm
Key dates: {date} and {date}
The keyboard has {n3} keys.
Passport number {ref} is noted.
The PIN has {n1} digits.
Your password must have at least {n2} characters.
Passwords expire after {n3} days.
The API key is limited to {n4} requests per minute.
API keys are rotated every {n3} days.
The session token is valid for {n4} seconds.
max_tokens: {n4}, total tokens {n4}
{n4} tokens were counted.
The post was pinned on {date}.
The alarm went off at {time} on {date}.
Alarm at {time}
Set the alarm for {time}.
The safe holds {n2} kg and costs {price}.
The elevator takes {n3} kg.
Elevator: {n3} kg
Lift: {n1} persons, {n3} kg
The building has {n2} flats and was built in {year}.
International Building Code {year}
The house was built in {year} and the garage in {year}.
Rated {n1}.8 of 5 by {n3} guests; quiet behind closed doors
{name} arrives on {date} at {time} by the front door.
{name} paid {price} for {n1} nights, code of the tour {ref}.
Total {price}, of that {price} for the parking garage
Flight {ref} leaves from gate B{n2} at {time}.
The door is {n3} cm wide.
Front door: {n3} cm wide, {n1} steps
Garage for {n1} cars, {price} a day
The door fee is {price}.
Der Türsteher kommt um {time} Uhr.
Die Haustür schließt um {time} Uhr.
Die Garage kostet {price} pro Nacht.
Der Türcode wird {n1} Tage vor der Anreise gesendet.
Der Buchungscode lautet {ref}.
Das Passwort muss mindestens {n2} Zeichen haben.
Der Aufzug trägt {n3} kg.
Die Schlüssel gibt {name} am {date} um {time} Uhr.
La porte ferme à {time}.
Le code promo {promo} expire le {date}.
Le code de réservation est {ref}.
Le garage coûte {price} par nuit.
L'ascenseur : {n3} kg
Le mot de passe doit avoir {n2} caractères.
La puerta abre a las {time}.
El código de reserva es {ref}.
El garaje cuesta {price} al día.
La clave del éxito: {n1} consejos
El ascensor tiene {n1} plazas.
La porta chiude alle {time}.
Il codice fiscale è {ref}.
Il codice di prenotazione è {ref}.
Il garage costa {price} al giorno.
Il parcheggio è a {n3} metri.
A porta abre às {time}.
O código de reserva é {ref}.
A garagem custa {price} por dia.
O código postal é {zip}.
The code is explained on page {n3}.
See section {n1}.{n1} of the manual on how to change the PIN.
Combination of {n1} rooms and {n1} baths, {price}
The combination ticket costs {price}.
Guests at the gate: {n3}
Access from {time}, entry until {time}
Entry costs {price}.
Room {n3}, house {n2}, {city}
Unit code DBL, rate code {promo}
Call {phone} when you stand at the door.
Tracking code {ref}
SWIFT code {ref}, sort code 20-{n2}-{n2}
Invoice {n4} of {date} over {price}
Booking codes: garage {ref}, house {ref}
Error codes: door E{n3}, gate E{n4}
Promo codes: parking {promo}, garage {promo}
Codes for tours: {promo} and {ref}
The tour "Old town" is the highlight, the password is on the router.
L'entrée n'est pas loin : {n3} m, l'ascenseur n'a que {n1} places.
« Le jardin » est le nom de la maison, arrivée à {time}.
Country codes: Portugal {dial}, Spain {dial}
Our house code names: A{n2} and B{n2}
{date}: door repaired, {price}
{date} {time} INFO lock released after {n3} ms
{date} {time} WARN token bucket empty, {n4} requests left
GET /api/v1/keys/{n4} 200 {n3}ms
    """.strip().splitlines()


def sentences(count: int, seed: int = 4711) -> Iterator[str]:
    """Varied sentences, always the same ones."""
    rng = random.Random(seed)
    for at in range(count):
        yield TEMPLATES[at % len(TEMPLATES)].format_map(_Values(rng))


class _Values(dict[str, str]):
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def __missing__(self, name: str) -> str:
        rng = self.rng
        match name:
            case "name":
                return rng.choice(NAMES)
            case "city":
                return rng.choice(CITIES)
            case "ref":
                return "".join(rng.choices("ABCDEFGHJKLMNPQRSTUVWXYZ", k=3)) + str(rng.randrange(1000, 999_999))
            case "promo":
                return rng.choice(("SUMMER", "SAVE", "PORTO", "STAY")) + str(rng.randrange(5, 99))
            case "price":
                amount = rng.randrange(5, 2500)
                return rng.choice((f"€{amount}", f"{amount} €", f"$ {amount}.50", f"{amount},90 EUR", f"EUR {amount}"))
            case "date":
                day, month, year = rng.randrange(1, 29), rng.randrange(1, 13), rng.randrange(2019, 2031)
                return rng.choice((f"{year}-{month:02}-{day:02}", f"{day:02}.{month:02}.{year}", f"{day} May {year}"))
            case "time":
                hour = rng.randrange(0, 24)
                return rng.choice((f"{hour}:30", f"{hour:02}:00", f"{hour % 12 or 12} pm", f"{hour}h15"))
            case "phone":
                return rng.choice(("+49 30 {} {}", "+351 {} {}", "0043 664 {}{}")).format(
                    rng.randrange(100, 999), rng.randrange(1000, 9999)
                )
            case "zip":
                return rng.choice(
                    (f"{rng.randrange(10000, 99999)}", f"{rng.randrange(1000, 9999)}-{rng.randrange(100, 999)}")
                )
            case "dial":
                return f"+{rng.randrange(1, 999)}"
            case "year":
                return str(rng.randrange(1890, 2031))
        digits = int(name[1:])
        return str(rng.randrange(max(2, 10 ** (digits - 1)), 10**digits))
