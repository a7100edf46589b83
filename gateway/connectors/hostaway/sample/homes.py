"""The fixed data of the account's twelve homes."""

from dataclasses import dataclass

FIRST_LISTING_ID = 200100
LISTING_ID_STEP = 37

# Amounts in these currencies have no decimals.
WHOLE_CURRENCIES = frozenset({"JPY", "IDR"})


@dataclass(frozen=True, slots=True)
class Home:
    """`price` and `cleaning` are in the home's own currency; `local` is a paragraph in the local language."""

    position: int
    name: str
    nickname: str
    street: str
    area: str
    city: str
    state: str | None
    country: str
    country_code: str
    zipcode: str
    lat: float
    lng: float
    time_zone: str
    currency: str
    price: int
    cleaning: float
    bedrooms: int
    bathrooms: int
    capacity: int
    square_meters: int
    property_type: int
    images: int
    opening: str
    local: str = ""

    @property
    def warm(self) -> bool:
        """Whether the home is in the tropics and needs no heating."""
        return abs(self.lat) < 24

    @property
    def id(self) -> int:
        return FIRST_LISTING_ID + LISTING_ID_STEP * self.position

    def rounded(self, amount: float) -> float:
        """Rounds the amount to the smallest unit of the home's currency."""
        return round(amount, 0 if self.currency in WHOLE_CURRENCIES else 2)


HOMES = (
    Home(
        0, "Alfama Tile House 🐟", "Tile House", "Beco das Sardinheiras 14", "Alfama", "Lisbon", None,
        "Portugal", "PT", "1100-544", 38.712214, -9.129871, "Europe/Lisbon", "EUR", 138, 75.0, 2, 1, 4, 74, 8,
        34,
        "Three narrow floors behind a façade of green tiles, a minute's climb above the fado houses of "
        "Alfama.",
        "Bem-vindos! A casa é antiga, as escadas são íngremes e a vista do telhado vale cada degrau. 🌞",
    ),
    Home(
        1, "Baan Lanna · บ้านล้านนา", "Baan Lanna", "Soi Wat Ket 7", "Wat Ket", "Chiang Mai", None,
        "Thailand", "TH", "50000", 18.791346, 99.003918, "Asia/Bangkok", "THB", 3250, 900.0, 3, 2, 6, 142, 2,
        38,
        "A teak house on stilts by the Ping river, taken apart in Lampang and put together again board by "
        "board.",
        "ยินดีต้อนรับสู่บ้านล้านนา บ้านไม้สักริมแม่น้ำปิง เดินไปตลาดวโรรสได้ในสิบนาที "
        "มีลานนั่งเล่นใต้ถุนบ้าน ครัวไทย และห้องนอนสามห้องพร้อมเครื่องปรับอากาศ "
        "กรุณาถอดรองเท้าก่อนขึ้นบ้าน และงดใช้เสียงดังหลังสามทุ่ม 🙏",
    ),
    Home(
        2, "町家 Machiya Nishijin 🎐", "Machiya", "Omiya-dori 311", "Nishijin", "Kyoto", None,
        "Japan", "JP", "602-8475", 35.030127, 135.748455, "Asia/Tokyo", "JPY", 28400, 9000.0, 2, 1, 5, 81, 8,
        41,
        "A weaver's townhouse with a lattice front, an inner garden and a kitchen under open beams.",
        "西陣の織屋建ての町家を一棟貸しにしました。坪庭に面した縁側で朝のお茶をお楽しみください。"
        "京都駅からは市バスで約三十分、最寄りの停留所から徒歩四分です。"
        "路地は静かな住宅街ですので、夜九時以降はお静かにお願いいたします。",
    ),
    Home(
        3, "Rice Terrace Villa 🌾 with pool", "Rice Terrace Villa", "Jalan Sawah Indah 22", "Penestanan",
        "Ubud", "Bali",
        "Indonesia", "ID", "80571", -8.508903, 115.251468, "Asia/Makassar", "IDR", 2450000, 450000.0, 4, 4, 9,
        260, 2,
        60, "Four pavilions around a green pool, with ducks, herons and terraces of rice on three sides.",
        "Selamat datang! Staf kami datang setiap pagi pukul delapan untuk kebun, kolam, dan persembahan "
        "harian. 🌺",
    ),
    Home(
        4, "Blue Ridge Cabin", "Cabin", "Laurel Gap Road 480", "Beaverdam", "Asheville", "North Carolina",
        "United States", "US", "28804", 35.647713, -82.530914, "America/New_York", "USD", 189, 120.0, 2, 1, 4,
        68, 5, 0,
        "Hemlock logs, one long porch and a wood stove, at the end of a gravel road ten minutes above the "
        "town.",
    ),
    Home(
        5, "Canut Loft Croix-Rousse", "Canut Loft", "Montée des Tisserands 9", "Croix-Rousse", "Lyon", None,
        "France", "FR", "69004", 45.774806, 4.830912, "Europe/Paris", "EUR", 124, 65.0, 1, 1, 3, 62, 1, 30,
        "A silk weaver's workshop four metres high, with oak beams and two windows that are taller than a "
        "door.",
        "Bienvenue à la Croix-Rousse : marché le matin, traboules l'après-midi, et le silence de la cour "
        "la nuit.",
    ),
    Home(
        6, "Casa Ceiba 🌴", "Casa Ceiba", "Calle Flamboyán 31", "La Veleta", "Tulum", "Quintana Roo",
        "Mexico", "MX", "77760", 20.202517, -87.472638, "America/Cancun", "MXN", 3980, 1100.0, 3, 3, 7, 155,
        2, 36,
        "White polished walls around an old ceiba, a plunge pool in its shade and a roof made for shooting "
        "stars.",
        "¡Bienvenidos! El agua de la alberca viene del cenote: por favor, nada de bloqueador dentro. 🐢",
    ),
    Home(
        7, "Sea Gypsy House บ้านชาวเล", "Sea Gypsy House", "Moo 3, Ban Saladan 58", "Saladan", "Ko Lanta",
        "Krabi",
        "Thailand", "TH", "81150", 7.646209, 99.040557, "Asia/Bangkok", "THB", 4100, 1000.0, 3, 2, 6, 118, 2,
        44,
        "A wooden house over the tide, with hammocks on the jetty and long-tail boats at the next post.",
        "บ้านไม้เหนือน้ำริมท่าเรือศาลาด่าน น้ำขึ้นเต็มใต้ถุนบ้านวันละสองครั้ง "
        "เด็กเล็กต้องใส่เสื้อชูชีพเมื่อออกไปที่สะพาน มีเรือคายัคสองลำให้ยืม 🛶",
    ),
    Home(
        8, "Yanaka Nest 谷中の巣 🐈", "Yanaka Nest", "Yanaka 3-chome 12", "Yanaka", "Tokyo", None,
        "Japan", "JP", "110-0001", 35.726938, 139.766124, "Asia/Tokyo", "JPY", 21900, 8000.0, 1, 1, 3, 43, 1,
        28,
        "A small flat above a closed candle shop, on a lane of temples, cats and one very good bakery.",
        "谷中銀座まで歩いて三分、日暮里駅までは七分です。二階の窓からは銭湯の煙突が見えます。"
        "ごみの分別は冷蔵庫に貼った表をご覧ください。猫には餌をあげないでください。",
    ),
    Home(
        9, "Stockbridge Garden Flat 🦔", "Garden Flat", "Saxe Lane 5", "Stockbridge", "Edinburgh", None,
        "United Kingdom", "GB", "EH4 1AA", 55.957918, -3.210446, "Europe/London", "GBP", 142, 70.0, 2, 2, 5,
        88, 1, 33,
        "A Georgian garden flat with its own front door, thick walls, a real fire and hedgehogs on the lawn.",
    ),
    Home(
        10, "Bo-Kaap Lookout ⛰️", "Lookout", "Upper Leeuwen Steps 17", "Bo-Kaap", "Cape Town", "Western Cape",
        "South Africa", "ZA", "8001", -33.920415, 18.413277, "Africa/Johannesburg", "ZAR", 2650, 800.0, 3, 2,
        6, 130, 5,
        40,
        "A cobalt-blue house at the top of the steps, with the harbour below and the mountain over the roof.",
        "Welkom! Die wind kan in die somer hard waai: maak asseblief die luike toe voor u uitgaan.",
    ),
    Home(
        11, "Kazimierz Attic 🎻", "Attic", "ulica Skrzypków 8", "Kazimierz", "Kraków", None,
        "Poland", "PL", "31-056", 50.051744, 19.946208, "Europe/Warsaw", "PLN", 560, 180.0, 2, 1, 4, 71, 1,
        37,
        "An attic over a violin maker's workshop: sloping beams, a tiled stove and the roofs of Kazimierz "
        "all around.",
        "Serdecznie witamy! Lutnik na parterze pracuje do osiemnastej i chętnie pokazuje swój warsztat.",
    ),
)  # fmt: skip
