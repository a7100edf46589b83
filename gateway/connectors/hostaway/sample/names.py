"""Invented guests. A name in another script has a Latin form for the e-mail address."""

import unicodedata
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Name:
    written: str
    latin: str


@dataclass(frozen=True, slots=True)
class GuestOrigin:
    """A country that guests come from. `share` is its weight among all guests."""

    locale: str
    country: str
    share: int
    cities: tuple[str, ...]
    first: tuple[Name, ...]
    last: tuple[Name, ...]
    family_name_first: bool = False


@dataclass(frozen=True, slots=True)
class Guest:
    name: str
    first: str
    last: str
    email: str
    phone: str
    locale: str
    city: str
    country: str


# Letters that Unicode does not decompose into a base letter and an accent.
_NOT_DECOMPOSED = str.maketrans({"ø": "o", "ł": "l", "ß": "ss", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"})


def _latin(name: str) -> str:
    decomposed = unicodedata.normalize("NFKD", name.lower().translate(_NOT_DECOMPOSED))
    return "".join(letter for letter in decomposed if letter.isascii() and letter.isalpha())


def _names(text: str) -> tuple[Name, ...]:
    """Parses names separated by spaces. A name in another script is written `name:latin`."""
    pairs = (entry.partition(":") for entry in text.split())
    return tuple(Name(written, latin or _latin(written)) for written, _, latin in pairs)


def _origin(locale: str, country: str, share: int, cities: str, first: str, last: str) -> GuestOrigin:
    family_name_first = locale in ("ja", "ko", "vi")
    return GuestOrigin(locale, country, share, tuple(cities.split(",")), _names(first), _names(last), family_name_first)


ORIGINS = (
    _origin(
        "en", "US", 22, "Boise,Duluth,Tucson,Savannah",
        "Mercer Tessa Delphine Corwin Juniper Amos Harriet Leland Odessa Bram Ione Wyatt Nell Curtis Opal",
        "Pennyfeather Hollowell Brackenridge Ashgrove Tolliver Quimby Larkspur Medlock Fairweather Standish",
    ),
    _origin(
        "en", "GB", 12, "Whitby,Ludlow,Hexham,Oban",
        "Imogen Rupert Cerys Alasdair Maeve Tamsin Fergus Winifred Callum Beatrix Rhodri Isla",
        "Thistlewood Garrowby Penhallow Wetherfield Strathmoor Ellingham Cresswick Dunmorrow",
    ),
    _origin(
        "es", "ES", 8, "Soria,Cádiz,Lugo",
        "Íñigo Begoña Matías Lucía Óscar Ximena Joaquín Inés Álvaro Rocío Núria Andrés",
        "Echaríbar Montañés Villarrubia Peñalver Zubiría Cordobés Olmedilla Garcíáñez",
    ),
    _origin(
        "pt", "PT", 5, "Évora,Aveiro,Braga",
        "Inácio Conceição Tomé Leonor João Graça Brás Assunção Estêvão Mafalda",
        "Vilarinho Sacadura Queirós Magalhã Bragançano Sottomayor Falcão Mourinhal",
    ),
    _origin(
        "fr", "FR", 8, "Annecy,Vannes,Arles",
        "Aurélien Mélisande Théodore Églantine Loïc Séverine Gaëlle Côme Noémie Benoît Anaïs",
        "Deschênes Vaucourbe Lefebvrier Crèvecœur Montaigu-Roche Bâtisse Forêtier Aubépine",
    ),
    _origin(
        "de", "DE", 8, "Görlitz,Husum,Füssen",
        "Jörg Käthe Anneliese Götz Lüder Friederike Sönke Mareike Björn Dörte",
        "Weißbrod Grünspecht Mühlenbrück Königsfelder Sträußler Öhmichen Brückenau Habersack",
    ),
    _origin(
        "pl", "PL", 4, "Zamość,Toruń",
        "Łukasz Zofia Wojciech Małgorzata Stanisław Bożena Michał Żaneta",
        "Wiśniewiecki Dąbrówka Źródlak Kłosowicz Świerczyński Jabłonowiecki",
    ),
    _origin(
        "sv", "SE", 4, "Växjö,Luleå",
        "Åsa Göran Linnéa Håkan Märta Torbjørn Siv Øystein",
        "Björkhagen Åkervall Sjöstrand Öhrnfeldt Ekelundström Lövgårdh",
    ),
    _origin(
        "tr", "TR", 3, "Muğla,Sinop",
        "Çağla Barış Gülşen Oğuz Şebnem İlker Işıl",
        "Karadağlı Yıldızhan Çınaroğlu Gökbörü Şahinbaş Özdemirci",
    ),
    _origin(
        "th", "TH", 7, "Lampang,Trang,Nan",
        "สมชาย:somchai กนกวรรณ:kanokwan ปรีชา:preecha มาลี:malee ธนากร:thanakorn อรทัย:orathai "
        "วิทยา:wittaya ชลธิชา:chonthicha ณัฐพล:nattaphon พิมพ์ใจ:pimjai",
        "ศรีสุขใจ:srisukjai ทองงามดี:thongngamdee วงศ์รุ่งเรือง:wongrungrueang แสงจันทร์ทอง:saengchanthong "
        "บุญมากมี:boonmakmee เจริญวารี:charoenwaree ภูผาหมอก:phuphamok",
    ),
    _origin(
        "ja", "JP", 7, "松江,弘前,尾道",
        "涼:ryo ほのか:honoka 大樹:daiki 美咲:misaki 健太郎:kentaro さくら:sakura 葵:aoi 直人:naoto "
        "千夏:chinatsu",
        "西園:nishizono 朝比奈:asahina 五百川:iokawa 小鳥谷:kotoriya 月岡:tsukioka 水無瀬:minase "
        "鷹取:takatori 雪村:yukimura",
    ),
    _origin(
        "ko", "KR", 3, "강릉,통영",
        "서윤:seoyun 도현:dohyeon 하은:haeun 지호:jiho 유나:yuna",
        "남궁:namgung 선우:seonu 황보:hwangbo 탁:tak 표:pyo",
    ),
    _origin(
        "ar", "AE", 4, "الفجيرة,صحار",
        "ليلى:layla يوسف:yusuf نورة:noura خالد:khalid سلمى:salma طارق:tariq هدى:huda زياد:ziyad",
        "البستاني:albustani النجار:alnajjar الحدادي:alhaddadi القمري:alqamari الزيتوني:alzaytuni "
        "الريحاني:alrihani",
    ),
    _origin(
        "ru", "KZ", 3, "Караганда,Костанай",
        "Мирослава:miroslava Тимофей:timofey Злата:zlata Егор:yegor Варвара:varvara Арсений:arseniy",
        "Берёзкина:berezkina Озёрный:ozernyy Лугова:lugova Синичкин:sinichkin Вересова:veresova "
        "Журавский:zhuravskiy",
    ),
    _origin(
        "uk", "UA", 2, "Чернівці,Полтава",
        "Ярина:yaryna Остап:ostap Соломія:solomiya Богдан:bohdan",
        "Калинюк:kalyniuk Верболіз:verboliz Дзвінка:dzvinka",
    ),
    _origin(
        "vi", "VN", 2, "Hội An,Đà Lạt", "Thảo Minh Quỳnh Đức Ngọc Phượng", "Khưu Lạc Tôn Mạch Thạch Đoàn",
    ),
)  # fmt: skip

_CUMULATIVE_SHARES = [sum(origin.share for origin in ORIGINS[: n + 1]) for n in range(len(ORIGINS))]


def make_guest(rng: Random) -> Guest:
    (origin,) = rng.choices(ORIGINS, cum_weights=_CUMULATIVE_SHARES)
    first, last = rng.choice(origin.first), rng.choice(origin.last)
    in_order = (last, first) if origin.family_name_first else (first, last)
    return Guest(
        name=f"{in_order[0].written} {in_order[1].written}",
        first=first.written,
        last=last.written,
        email=f"{first.latin}.{last.latin}@example.{rng.choice(('com', 'org'))}",
        phone=f"+1-555-01{rng.randrange(100):02d}",
        locale=origin.locale,
        city=rng.choice(origin.cities),
        country=origin.country,
    )
