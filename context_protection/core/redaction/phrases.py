"""Words around a value in a sentence: those that join it to its name, and those that show that it is not secret.

Plain data, folded (lower case, no accents). Lists separated by `|` are parts of regular expressions.
"""

from context_protection.core.name_words import word_set

# ---- between a name and its value ----

COPULA = (
    "is|are|was|will be|be|now|currently|still|always|as follows|following|set to|changed to|set|equals|reads"
    "|lautet|lauten|ist|sind|heisst|war|aktuell|derzeit|momentan|jetzt"
    "|est|sont|c'est|reste|actuellement|es|son|sera|era|sigue siendo|actualmente|ahora"
    "|e|sono|resta|rimane|attualmente|adesso|sao|continua sendo|atualmente|agora|bleibt|remains"
)
WITH = "with|using|via|by entering|entering|mit|avec|con|com"
OPENS = (
    "opens?|opened|unlocks?|unlocked|works|offnet|oeffnet|offnen|funktioniert"
    "|lasst sich|lassen sich|geht auf|entriegelt|entsperrt|se deverrouille|se desbloquea|si sblocca|desbloqueia"
    "|s'ouvre|ouvre|fonctionne|si apre|se abre|apre|abre"
)
PASSWORDS = "pw|pwd|pass|password|passwort|kennwort|key|mdp|mot de passe|contrasena|clave|senha|psk"
FILLERS = "number|numbers|the|your|use|type|enter|dial|press|der|die|le|la|el|il|o"

# ---- after a number: what it counts or measures ----

UNITS = (
    r"km|m|m2|cm|mm|mi|miles?|ft|feet|qm|sqm|sq|kg|g|lbs?|l|liters?|litres?|square|cubic"
    r"|h|hrs?|hours?|stunden?|heures?|horas?|ore|min|mins|minut\w*|sec|seconds?|sekunden|s|ms"
    r"|days?|tage?n?|jours?|dias?|giorni|nights?|nachte?n?|nuits?|noches?|notti|noites?"
    r"|weeks?|wochen?|semaines?|semanas?|settimane|months?|monate?n?|mois|meses|mesi"
    r"|years?|jahre?n?|ans|anos|anni|times|mal|fois|uhr|o'clock"
    r"|eur|euros?|usd|dollars?|gbp|pounds?|chf|franken|francs?|cents?|percent|prozent"
    r"|guests?|people|persons?|personen|gaste|keys?|cards?|rooms?|beds?|floors?|steps?|stars?|points?|items?|copies"
    r"|characters?|chars|zeichen|digits?|ziffern|stellen|letters?|caracteres|cifras|cifre"
    r"|bits?|bytes?|[kmgt]i?b|[kmg]bits?|[kmg]bps|[kmg]hz|hz|watts?|w|kw|kwh|volts?|v|mah"
    r"|requests?|calls|users?|attempts?|tries|versuche?n?|reviews?|street|st\.|road|avenue|place|lane"
)
ATTACHED_UNITS = (
    "k|m|km|cm|mm|mi|ft|qm|sqm|sqft|m2|m²|kg|g|mg|l|ml|h|hrs?|min|mins|s|sec|ms|d|days?"
    "|w|kw|kwh|v|hz|[kmg]b|[kmg]bits?|[kmg]bps|[kmg]hz|[kmg]bit/s|[kmg]b/s|px|pt|bits?|bytes?|star|-?stars?"
)
ORDINALS = "st|nd|rd|th|er|eme|e|o|a|x"  # after at most three digits
COMPOUND_UNITS = "digit|stellig|character|char|day|night|hour|minute|bit|bed|bedroom|person|star|step|factor|letter"
# After a bare number, these words show that it is not a count.
GOES_ON = word_set(
    """
    and or then to on in into for at when is if it that which will works opens open the a an as with followed plus
    within before after twice press hash pound star until till from by und oder dann auf an am in im fur zum zur ist
    wenn bis von mit
    eingeben et ou puis sur a pour dans est si avec y o u luego en para es si con e ed poi su per nel se em no na
    depois com please bitte merci thanks danke gracias grazie obrigado ein your you
    """
)

# ---- before a number: what it numbers ----

NUMBERED = (
    "room|rooms|zimmer|chambre|habitacion|camera|quarto|apartment|apt|flat|unit|suite|floor|page|pages|seite|chapter"
    "|section|step|version|release|building|house|gate|terminal|platform|bus|line|tram|flight|train|bay|spot|row|seat"
    "|booking|reservation|confirmation|order|invoice|ticket|reference|ref|buchung|reservierung|bestellung|rechnung"
    "|article|art|item|model|error|status|port|level|rule|call|phone|tel|telephone|mobile|telefon|fax|whatsapp|sms|ring"
    "|anrufen|street|strasse|rue|calle|via|rua|zip|postcode|plz|top|over|under|about|around|approximately|approx|ca|circa"
    "|almost|nearly|only|than|every|last|next|first|up to|at least|within|after|before|since|until|till|between|by|from"
    "|seit|bis|nach|vor|ab|alle|depuis|avant|apres|desde|hasta|antes|dal|fino|entro|ate"
)
MONTHS = "jan|feb|mar|apr|may|mai|jun|jul|aug|sep|okt|oct|nov|dez|dec"
BEFORE_YEARS = (
    f"in|im|en|em|nel|of|de|du|del|year|jahr|annee|ano|anno|and|summer|winter|spring|autumn|fall|(?:{MONTHS})[a-z]*"
)
# In quotes or after a colon, these words are not passwords.
PLACEHOLDERS = word_set(
    """
    required optional string number integer null none true false undefined password 1password passwort secret token yes
    no string123 changeme hidden redacted masked unknown n/a tba tbd value text object array boolean your-password
    ...
    """
)
# Words before a bare "code" that do not say what the code is for.
DETERMINERS = word_set(
    """
    the your our this that new a an its their my same der die das den dein deinen ihr ihren unser unseren dieser
    neuer le la les votre notre ton ce el su tu nuestro este il lo tuo suo nostro vostro o a seu teu nosso e and und
    et y is use enter type dial with mit avec con com correct current following right then puis dann luego poi depois
    pour als come como as need needs needed requires require braucht brauchen benotigt via by faut necesita serve
    precisa
    """
)

NOT_A_CODE = (" of conduct", " of practice", " review", " of ethics", " de conduite", " de conducta", " di condotta")

# ---- before a name: "4711 is the gate code", "enter 4711 on the keypad" ----

ARTICLES = (
    "the|your|our|my|their|unsere|deine|ihre|mein|meine|mon|ma|nos|nuestro|nuestra|nostro|nostra|nosso"
    "|nossa|sua|der|die|das|dein|ihr|unser|le|la|les|votre|notre|el|los|su|tu|il|lo|i|gli|o|a|os|as|seu|l'"
)
IS = "is|are|was|=|lautet|ist|sind|bleibt|est|sont|reste|c'est|es|son|sigue siendo|e|sono|resta|sao|continua sendo"
STILL = (
    "still|also|again|now|weiterhin|noch|immer noch|auch|jetzt|toujours|encore|aussi|todavia|ahora|sempre|ancora|ainda"
)
ENTERED = "eintippen|eingeben|drucken|wahlen|tippen|eintasten"  # German verbs follow the code
IT_IS = (
    "it's|its|it is|this is|that's|es ist|das ist|c'est|es el|es|e il|e o|e|use|take|nimm|nehmen sie"
    "|nutze|nutzen sie|verwende|verwenden sie|utilisez|utilise|usa|usar|use|usate|utilice|utiliza|utilize"
)
FOR = "as|als|comme|como|come|for|to|fur|furs|zum|zur|pour|para|per|de|do|da|del|della|von|vom"
SUBJECTS = "you|we|guests|can|sie|du|man|konnen|lasst sich|vous|on|pouvez|se|usted|puede|puedes|si|puoi|puo|voce|pode"
OPENING = (
    "offnen|entriegeln|ouvrez|abres|apri|abrir|opens?|unlocks?|releases|disarms|disables|offnet|oeffnet|entriegelt|entsperrt|entscharft|ouvre|deverrouille|desactive"
    "|abre|desbloquea|desactiva|destranca|apre|sblocca|disattiva"
)
ENTERING = (
    "enter|type|dial|press|punch in|punch|key in|use|input|tap in|tap|with|using"
    "|gib|geben sie|tippe|tippen sie|drucken sie|drucke|mit|nutze|wahlen sie"
    "|tapez|composez|saisissez|entrez|faites|avec|marca|marque|marcar|teclee|teclea|introduzca|introduce|pulsa|con"
    "|premi|premere|prema|carregue|carrega|prima|aperte"
    "|digita|digitare|digiti|inserisci|inserire|componi|componga|digite|introduza|insira|tecle|com"
)
TO_A_KEYPAD = "on|into|at|in|am|an|sulla|ins|auf|sur|dans|en|sul|sulla|nel|nella|no|na"
# A place after one of these is a location, not a label.
PREPOSITIONS = word_set(
    """
    at in on from to of by near behind before through via for with without per and or
    an am im zu zum zur aus von vom mit bei fur hinter vor und oder
    a au aux dans de du des en par pour avec et al del por para con y
    alla dal nel da di e ao do na no pela pelo
    """
)
CODE_BEFORE = r"(?<![a-z])(?:codes?|pins?|codigos?|codici|codice|kodes?|combinations?)(?![a-z])[^.\n]{0,60}$"
CODE_NAMES = "codes?|pins?|codigos?|codici|codice|kodes?|combinations?|passwords?|passworter|claves?|senhas?"
AND = "and|und|et|y|e|ed|or|oder|ou|o"
CODE_PARTS = (
    "code",
    "pin",
    "codig",
    "codic",
    "kode",
    "combination",
    "passw",
    "clave",
    "senha",
)  # every match of CODE_BEFORE and CODE_NAMES contains one of these
