"""The names of secrets in English, German, French, Spanish, Italian and Portuguese.

Plain data. The name of a secret is
- a place with a code word: "front door code", "Türcode", "code de la porte" (PLACES, CODE_WORDS, LINKS),
- a network with a password word: "Wi-Fi key", "clé WPA" (NETWORKS, CODE_WORDS, NETWORK_KEYS), or
- a word of its own: "PIN", "Kennwort", "API key" (OF_THEIR_OWN).
Visitors and staff have entry codes, so PLACES lists them too.

Terms are written in the singular, in any case. Umlauts also match as `ue`; a space also matches `-`, `_` or nothing.
"""

from context_protection.core.name_words import word_set

Terms = dict[str, str]  # language -> terms, separated by commas

# kind of code -> what it opens
PLACES: dict[str, Terms] = {
    "door code": {
        "en": "door, front door, main door, back door, street door, doorway, doorbell, outside door",
        "de": "Tür, Haustür, Wohnungstür, Eingangstür, Zimmertür, Hintertür, Kellertür, Balkontür, Etagentür",
        "fr": "porte, porte d'entrée, porte entrée, porte principale, porte de l'immeuble",
        "es": "puerta, puerta principal, portal",
        "it": "porta, porta d'ingresso, portone, portoncino",
        "pt": "porta, porta de entrada, porta principal",
    },
    "gate code": {
        "en": "gate, front gate, main gate, pool gate, barrier",
        "de": "Tor, Hoftor, Gartentor, Einfahrtstor, Haupttor, Rolltor, Schranke",
        "fr": "portail, portillon, barrière, grille",
        "es": "verja, portón, cancela, barrera",
        "it": "cancello, cancelletto, sbarra",
        "pt": "portão, cancela, barreira",
    },
    "entry code": {
        "en": "entry, entrance, main entrance, lobby, vestibule",
        "de": "Eingang, Haupteingang, Hauseingang, Eintritt, Treppenhaus",
        "fr": "entrée, hall, hall d'entrée",
        "es": "entrada",
        "it": "ingresso, entrata",
        "pt": "entrada",
    },
    "access code": {
        "en": "access, guest access, self check in, check in, checkin, locker, storage, storage room, mailbox, "
        "letterbox, shed, gym, pool, laundry, laundry room, basement, cellar, bike room, bin room, apartment, "
        "flat, unlock, unlocking, arming, disarm, security, security gate, bike shed, bike storage, bike cellar, "
        "bike garage, ski room, ski locker, boot room, sauna, hot tub, fitness room, clubhouse, tennis court, "
        "owner closet, owner's closet, linen closet, supply closet, closet, utility room, trash room, garbage room, "
        "mail room, package room, parcel locker, parcel box, package locker, courtyard, stairwell, hallway, foyer, "
        "rooftop, roof terrace, beach access, dock, concierge, concierge box, concierge desk, doorman, cleaner, "
        "cleaning lady, cleaning crew, cleaning team, cleaning staff, housekeeper, maid, caretaker, janitor, "
        "handyman, gardener, landscaper, plumber, electrician, technician, maintenance crew, maintenance staff, "
        "contractor, staff, visitor, dog walker, pet sitter, house sitter, babysitter, nanny",
        "de": "Zugang, Zugriff, Zutritt, Keller, Fahrradkeller, Briefkasten, Waschküche, Wohnung, Schließfach, "
        "Öffnung, Entsperr, Sicherheit, Fahrradraum, Skiraum, Skikeller, Müllraum, Abstellraum, Innenhof, Sauna, "
        "Paketbox, Paketfach, Concierge, Portier, Reinigungskraft, Reinigungsteam, Reinigungspersonal, Putzfrau, "
        "Putzkraft, Hausmeister, Hauswart, Handwerker, Gärtner, Besucher",
        "fr": "accès, ouverture, cave, boîte aux lettres, consigne, casier, appartement, local vélo, sécurité, "
        "local à vélos, local vélos, local poubelles, local à skis, conciergerie, concierge, gardien, femme de ménage, "
        "équipe de ménage, agent d'entretien, personnel de ménage, jardinier, visiteur",
        "es": "acceso, apertura, trastero, buzón, taquilla, consigna, apartamento, seguridad, "
        "cuarto de bicicletas, cuarto de basuras, piscina, conserje, conserjería, limpiadora, personal de limpieza, "
        "equipo de limpieza, señora de la limpieza, jardinero, visitante",
        "it": "accesso, apertura, cantina, cassetta postale, armadietto, appartamento, sicurezza, sblocco, "
        "deposito bici, locale bici, piscina, portineria, portiere, custode, donna delle pulizie, "
        "addetto alle pulizie, addetta alle pulizie, personale delle pulizie, giardiniere, visitatore",
        "pt": "acesso, abertura, arrecadação, caixa de correio, cacifo, apartamento, segurança, "
        "arrecadação de bicicletas, piscina, porteiro, zelador, faxineira, diarista, empregada de limpeza, equipa de "
        "limpeza, equipe de limpeza, jardineiro, visitante",
    },
    "keypad code": {
        "en": "keypad, key pad, touchpad, number pad, keycode panel, entry panel, door panel",
        "de": "Tastenfeld, Nummernfeld, Zahlenfeld, Codeschloss, Zahlenschloss, Türöffner",
        "fr": "clavier, clavier à code, pavé numérique",
        "es": "teclado, teclado numérico, panel numérico",
        "it": "tastierino, tastiera, tastierino numerico",
        "pt": "teclado, teclado numérico",
    },
    "lockbox code": {
        "en": "lockbox, lock box, lock-box, key box, keybox, key safe, keysafe, key cabinet, key locker, key holder",
        "de": "Schlüsselbox, Schlüsselsafe, Schlüsseltresor, Schlüsselkasten, Schlüsselfach, Schlüsselkassette, "
        "Schlüsseldepot",
        "fr": "coffret à clés, coffret à clefs, "
        "boîte à clés, boîte à clefs, boîte à clé, boîte aux clés, coffre à clés, coffre à clefs, boîtier à "
        "clés, boîtier à clefs",
        "es": "caja de llaves, caja de las llaves, cajetín, caja para llaves, cajetín de llaves, caja fuerte de "
        "llaves, caja de seguridad de llaves, guardallaves",
        "it": "cassetta delle chiavi, cassetta di sicurezza delle chiavi, cassetta portachiavi, portachiavi, "
        "scatola delle chiavi, cassetta chiavi, cassetta, cassettina delle chiavi, box chiavi",
        "pt": "cofre das chaves, cofre de chaves, cofre para chaves, cofre da chave, caixa de chaves, caixa das "
        "chaves, porta-chaves",
    },
    "smart lock code": {
        "en": "smart lock, smartlock, lock, door lock, digital lock, electronic lock, padlock, bike lock, "
        "combination lock, deadbolt, nuki, yale, august lock, schlage, kwikset, igloohome, ttlock, tedee, danalock",
        "de": "Türschloss, Smartlock, Smart-Lock, Schloss, Vorhängeschloss, Fahrradschloss",
        "fr": "serrure, serrure connectée, serrure électronique, cadenas",
        "es": "cerradura, cerradura inteligente, cerradura electrónica, candado",
        "it": "serratura, serratura intelligente, serratura elettronica, lucchetto",
        "pt": "fechadura, fechadura inteligente, fechadura eletrónica, fechadura eletrônica, cadeado",
    },
    "garage code": {
        "en": "garage, garage door, parking garage, underground garage",
        "de": "Garage, Tiefgarage, Garagentor, Parkgarage",
        "fr": "garage, porte de garage",
        "es": "garaje, cochera, puerta del garaje",
        "it": "garage, autorimessa, box auto",
        "pt": "garagem, portão da garagem",
    },
    "parking code": {
        "en": "parking, car park, parking lot, parking space, car park barrier",
        "de": "Parkplatz, Parkhaus, Stellplatz, Parkschranke",
        "fr": "parking, stationnement, place de parking",
        "es": "aparcamiento, estacionamiento, parking, plaza de garaje",
        "it": "parcheggio, posto auto",
        "pt": "estacionamento, parque de estacionamento, lugar de garagem",
    },
    "alarm code": {
        "en": "alarm, alarm system, burglar alarm, security system, security alarm, alarm panel",
        "de": "Alarm, Alarmanlage",
        "fr": "alarme, système d'alarme",
        "es": "alarma",
        "it": "allarme, antifurto",
        "pt": "alarme",
    },
    "safe code": {
        "en": "safe, room safe, strongbox, safe deposit box",
        "de": "Tresor, Zimmertresor, Safe, Geldschrank",
        "fr": "coffre, coffre-fort",
        "es": "caja fuerte, caja de seguridad",
        "it": "cassaforte, cassetta di sicurezza",
        "pt": "cofre",
    },
    "elevator code": {
        "en": "elevator, lift",
        "de": "Aufzug, Fahrstuhl, Lift",
        "fr": "ascenseur",
        "es": "ascensor",
        "it": "ascensore",
        "pt": "elevador, ascensor",
    },
    "building code": {
        "en": "building, complex, community, condo, condominium, property, house, premises",
        "de": "Gebäude, Wohnanlage",
        "fr": "immeuble, bâtiment, résidence, maison",
        "es": "edificio, urbanización, casa",
        "it": "edificio, palazzo, condominio, casa",
        "pt": "edifício, prédio, condomínio, casa",
    },
    "intercom code": {
        "en": "intercom, buzzer, entryphone, door phone, call box",
        "de": "Gegensprechanlage, Sprechanlage, Klingel",
        "fr": "interphone, visiophone",
        "es": "interfono, telefonillo, portero automático",
        "it": "citofono",
        "pt": "intercomunicador, interfone",
    },
}

WIFI = "Wi-Fi password"
NETWORKS: Terms = {
    "en": "wifi, wi-fi, wireless, wireless network, wifi network, wi-fi network, router, modem, network, hotspot, "
    "internet, guest network, wpa, wpa2, wpa3, wpa 2, wpa 3, wep, wlan, ssid, broadband",
    "de": "WLAN, W-LAN, Netzwerk, Gast-WLAN, Gäste-WLAN, Internet, Fritzbox",
    "fr": "réseau, réseau wifi, box internet",
    "es": "red, red wifi",
    "it": "rete, rete wifi",
    "pt": "rede, rede wifi",
}

# Words for the value itself.
CODE_WORDS: Terms = {
    "en": "code, pin, pin code, pincode, pin number, passcode, pass code, keycode, key code, combination, combo, "
    "password, passphrase, pass phrase, key phrase",
    "de": "Code, Kode, PIN, PIN-Code, Kombination, Zahlenkombination, Zahlencode, Nummerncode, Passwort, "
    "Passwörter, Kennwort, Kennwörter, Geheimzahl, Geheimcode, Ziffernfolge, Zahlenfolge",
    "fr": "code, code PIN, combinaison, mot de passe, mots de passe, mdp",
    "es": "código, códigos, código PIN, clave, combinación, contraseña, número secreto",
    "it": "codice, codici, codice PIN, combinazione, parola d'ordine",
    "pt": "código, códigos, código PIN, combinação, senha, palavra-passe, palavra passe, segredo",
}
# Further words for the password of a network.
NETWORK_KEYS: Terms = {
    "en": "key, security key, pass, pw, pwd, psk, preshared key, pre-shared key, login, credential",
    "de": "Schlüssel, Netzwerkschlüssel, Sicherheitsschlüssel, Zugangsdaten, Zugang",
    "fr": "clé, clef, clé de sécurité, identifiants",
    "es": "clave, clave de seguridad, llave",
    "it": "chiave, chiave di sicurezza, credenziali",
    "pt": "chave, chave de segurança, credenciais",
}

# Names that are secret without a place.
OF_THEIR_OWN: dict[str, Terms] = {
    "password": {
        "en": "password, passwd, passcode, pass code, master password, one-time password, one time password, "
        "login password",
        "de": "Passwort, Passwörter, Kennwort, Kennwörter, Losungswort",
        "fr": "mot de passe, mots de passe, mdp",
        "es": "contraseña, clave de paso",
        "it": "parola d'ordine, parola di accesso",
        "pt": "senha, palavra-passe, palavra passe",
    },
    "passphrase": {"en": "passphrase, pass phrase, recovery phrase, seed phrase, mnemonic phrase"},
    "PIN": {
        "en": "pin, pin code, pincode, pin number, access pin, door pin, entry pin, smart lock pin",
        "de": "Geheimzahl, PIN-Nummer",
        "fr": "code pin, code secret",
        "es": "código pin, número secreto, código secreto, clave secreta",
        "it": "codice pin, codice segreto",
        "pt": "código pin, código secreto",
    },
    "keypad code": {"en": "keycode, key code, keypad number", "fr": "digicode", "de": "Digicode, Zahlencode"},
    "access code": {
        "en": "master code, lock code, user code, guest code, unlock code, door number code, check in code",
        "de": "Mastercode, Hauptcode, Gästecode, Öffnungscode",
        "fr": "code maître, code principal",
        "es": "código maestro",
        "it": "codice principale, codice master",
        "pt": "código mestre, código principal",
    },
    "API key": {
        "en": "api key, access key, secret key, secret access key, private key, encryption key, signing key, master "
        "key, account key, subscription key, app key, application key",
        "de": "API-Schlüssel, geheimer Schlüssel, privater Schlüssel, Zugriffsschlüssel",
        "fr": "clé API, clef API, clé secrète, clé privée, clé d'accès",
        "es": "clave API, clave de API, clave privada, clave de acceso, clave secreta de API",
        "it": "chiave API, chiave segreta, chiave privata, chiave di accesso",
        "pt": "chave API, chave de API, chave da API, chave secreta, chave privada, chave de acesso",
    },
    "token": {
        "en": "access token, api token, auth token, authentication token, authorization token, bearer token, "
        "refresh token, session token, secret token, security token, oauth token, personal access token, jwt "
        "token, csrf token, id token, push token, device token, service token, bot token, user token, login "
        "token, web token, webhook token",
        "de": "Zugriffstoken, Zugangstoken, Zugriffs-Token",
        "fr": "jeton d'accès, jeton API, jeton d'authentification",
        "es": "token de acceso, token de API",
        "it": "token di accesso, token API",
        "pt": "token de acesso, token de API",
    },
    "secret": {
        "en": "client secret, app secret, shared secret, webhook secret, signing secret, api secret, consumer "
        "secret, secret code",
        "de": "Client-Geheimnis, Geheimcode, gemeinsames Geheimnis",
        "fr": "secret client, secret partagé",
        "es": "secreto de cliente, secreto compartido",
        "it": "segreto client, segreto condiviso",
        "pt": "segredo do cliente, segredo partilhado",
    },
    WIFI: {"en": "psk, preshared key, pre-shared key, network key, wpa2psk", "de": "Netzwerkschlüssel"},
}

# Secret only as the name of a field; in a sentence the words are too common.
FIELDS_ONLY: dict[str, Terms] = {
    "secret": {"en": "secret, private note for guest access"},
    "password": {"en": "pwd, passwd, userpass, user pass, pass"},
    "token": {"en": "token, jwt, bearer, sessionid, session key, cookie, set cookie"},
    "credential": {"en": "authorization, authorisation, proxy authorization, auth header, credential"},
    "passphrase": {"en": "mnemonic"},
    "access instructions": {
        "en": "access instruction, access detail, access information, access info, access note, entry instruction, "
        "entry detail, entry note, door instruction, gate instruction, lockbox instruction, lock box "
        "instruction, key instruction, key pickup instruction, key collection instruction, lock instruction, "
        "parking access instruction, how to get in, how to enter, getting in, arrival access, entrance "
        "instruction, alarm instruction, wifi instruction, wifi detail, wifi info, wifi credential, wifi "
        "login",
        "de": "Zugangshinweis, Zugangsinfo, Zugangsinformation, Zugangsanweisung, Zugangsbeschreibung, "
        "Zutrittshinweis, Zugangsdaten, Schlüsselübergabe, Schlüsselinfo, Hinweise zum Zugang",
        "fr": "instructions d'accès, consignes d'accès, informations d'accès, modalités d'accès, infos accès, "
        "instructions accès",
        "es": "instrucciones de acceso, instrucciones de entrada, información de acceso, datos de acceso",
        "it": "istruzioni di accesso, istruzioni per l'accesso, istruzioni d'accesso, informazioni di accesso, dati "
        "di accesso",
        "pt": "instruções de acesso, instruções de entrada, informações de acesso, dados de acesso",
    },
}

# Secret only as the whole name of a field: payment cards, and the links and keys that booking systems give a guest.
WHOLE_NAMES: dict[str, str] = {
    "card data": "cc number, cc number ending digits, cc name, cc expiration year, cc expiration month, cc expiration "
    "date, cvc, cvv, cvv2, cvc code, card number, card cvc, card cvv, credit card number, debit card number, "
    "Kartennummer, Kreditkartennummer, Prüfnummer, numéro de carte, número de tarjeta, numero carta, número do cartão",
    "payment reference": "stripe guest id, stripe message, braintree guest id, braintree message",
    "guest portal link": "guest portal url, guest portal revamp url",
    "token": "guest auth hash",
    "proxy address": "host proxy email",
    "Wi-Fi login": "wifi username, wifi user, wi-fi username, wlan username",
}

# As field names, these are identifiers in property systems; in sentences, door codes ("house code: 4711").
IDENTIFIERS: Terms = {
    "en": "property code, house code, apartment code, flat code, building code, complex code, community code, "
    "condo code, condominium code, premises code",
    "de": "Hauscode, Gebäudecode, Wohnungscode",
    "fr": "code appartement, code bâtiment, code résidence, code maison",
    "es": "código apartamento, código del apartamento, código edificio, código del edificio, código casa, "
    "código urbanización",
    "it": "codice appartamento, codice edificio, codice casa, codice condominio, codice palazzo",
    "pt": "código apartamento, código do apartamento, código edifício, código do edifício, código prédio, "
    "código do prédio, código casa, código condomínio",
}

# Objects whose own key or code is not secret: {"account": {"key": "acc-1"}}.
HOLDERS_WITH_KEYS = word_set(
    """
    account app application apartment flat guest login master staff storage subscription user visitor appartement
    wohnung apartamento appartamento besucher visiteur visitante visitatore
    """
)
# Names of a value that are meaningful only with the name of the parent object.
VALUE_NAMES = word_set("value values val wert werte valeur valeurs valor valores valore valori digits")
# A field with one of these names next to a value shows that the value is a measure or a price.
MEASURED = word_set("unit units uom currency price amount cost min max")
# Names of levels between a place and its code: {"entry": {"main": {"code": "4711"}}}.
BETWEEN = word_set(
    """
    data item items list details detail info main front back side rear left right upper lower primary secondary current
    default first second third new old temporary permanent attributes properties fields content result object common
    """
)

# Between a code word and its place: "code FOR THE front door", "código DE LA puerta".
LINKS: Terms = {
    "en": "for, of, to, the, our, your, this, that, a, at, on, in, into, open, opens, get, enter, unlock, access",
    "de": "für, fuer, fürs, zu, zum, zur, die, der, das, den, dem, vom, von, am, an, im, unser, unsere, unserer",
    "fr": "de, du, des, d', l', la, le, les, pour, au, à, votre, notre, ouvrir",
    "es": "de, del, la, el, los, las, para, al, a, abrir, nuestra, nuestro",
    "it": "di, del, della, dello, dell', delle, dei, al, alla, per, il, lo, la, aprire",
    "pt": "de, do, da, dos, das, para, ao, o, a, abrir, no, na",
}

# ---- harmless neighbours ----

# A name with one of these words describes a secret but does not hold it: "door code fee", "password changed at".
ABOUT = word_set(
    """
    fee price cost charge amount total count counter counts length size limit usage budget quota type types kind
    format url uri href link endpoint path expiry expires expire expiration expired ttl lifetime lifespan at date time
    timestamp sent changed updated created issued rotated required enabled disabled status state policy policies
    rule rules strength id ids ref vendor provider brand model manufacturer template valid validity validated
    position location place placement photo photos image images picture icon color colour height width area
    available availability supported field fields label placeholder regex pattern schema column columns header
    attempts attempt retries strategy scope scopes question questions faq reset forgot protected algorithm hint min max
    per used ratio speed battery level identity name names user username input callback handler file dir env service
    manager store storage generator validator prompt hasher encoder priority space spaces owner hash_algorithm
    error errors message subject
    """
)
ABOUT_BEFORE = word_set(
    """
    has have is are was can requires require required needs need no num number numberof count total max min avg
    average send sent show hide reset forgot forgotten change changed update generate allow allows auto public
    publishable next page prev previous continuation sync cursor pagination invalid missing wrong lost input output
    prompt completion cached reasoning used remaining estimated last use uses supports enable enabled
    """
)
# Words before "code" that make it a code of another kind. None of these is a secret, even after a place.
OTHER_CODES = word_set(
    """
    booking reservation confirmation order discount promo promotion promotional coupon voucher gift referral post
    postal zip country region state area dial dialling dialing calling phone currency tax vat error status exit
    return response reason product item article sku bar qr dress hs source colour color language locale iata icao
    airport airline flight station rate category class type event tracking invoice swift bic sort bank branch
    machine morse genetic character char byte html http https unit room penal civil criminal traffic building-law
    time buchungs reservierungs rabatt gutschein aktions gutscheincode
    """
)
