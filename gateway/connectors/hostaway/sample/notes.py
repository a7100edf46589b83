"""Messages of guests to the host, and the host's notes. Their {slots} are filled with the words of WRITER."""

from gateway.connectors.hostaway.sample.prose import Writer, lines

FROM_GUESTS = lines("""
We land at {time} with flight {flight} and should be at the door about an hour and a half later.
Our train gets in at {time}, so we would first have lunch somewhere and come to the house after that.
Is there a place where we could leave {luggage} before check-in? We will keep it out of the way.
My mother uses a walking stick: could she have the bedroom with the fewest steps?
Our youngest is {age} and still sleeps in a cot, so we would be glad of one, and of a high chair too.
The older children are {older} and {older}, they have promised to be quiet after nine.
We are coming for the wedding of {person} on {day}, and the ceremony is only two streets away.
I work from {early} until late afternoon, so a table near the router would be wonderful.
Could you tell us whether the {thing} that one sees in photo {number} is still there?
{person} is allergic to feathers, can you please change the pillows in one of the rooms?
We would like to cook on the first evening: is there a shop for {food} within walking distance?
Two of us are vegetarians and one eats nothing but {food}, any restaurant that copes with that is welcome.
If anybody cancels the night before, we would gladly pay for an extra night and come on {day}.
We have rented a car that is rather long, how wide is the space in front of the house?
This is our {ordinal} stay with you and we still talk about the breakfast on the terrace.
Last time the {thing} was a little tired; if it has been replaced, all the better.
Please do not mention the cake to {person}, it is meant to be a surprise for {day}.
We will bring our own {portable}, so there is no need to buy one for us.
{person} arrives separately at around {late} and has my number in case the keypad does not work.
I read that the upstairs window does not lock. Has that been repaired since?
Our dog {pet} weighs {number} kilos, sleeps all day and is used to stairs.
Would it be all right to receive a parcel? It should come on {day} and is not larger than a shoebox.
My grandparents lived in this quarter in the sixties, so we are going to look for their house.
We do not need towels for everybody: {number} sets are enough for the whole week.
How does one get to the beach without a car, and is the path lit when one walks back at night?
Someone in the reviews mentions a retired pilot who takes people out fishing. Is he still doing that?
I would rather pay the tourist tax together with the rest, if the platform lets you.
We are {number} adults who went to school together and who go to bed earlier each year.
If the weather forecast holds, we plan to hike on {day} and would leave before {early}.
Could you book a table for {number} at the place with {food}? {day} at {evening} would be perfect.
The invoice should be made out to our company; I will send the address and the number on {day}.
On the map there are two houses with the same number. Which of them is yours?
We travel with {luggage}, so an elevator or a strong neighbour would be a great help.
Please let us know whether the washing machine may run after ten in the evening.
My husband is a light sleeper, is the room at the back really as quiet as the reviews say?
It is our {ordinal} anniversary, and you would make us very happy with a late check-out.
I am learning the language, so feel free to answer me in it, slowly and in short sentences.
A colleague of mine, {person}, stayed with you in {month} and sent us the link.
We will have two bicycles with us and would not like to leave them in the street overnight.
Do you happen to know someone who could look after two children on {day} from {evening} on?
There was a problem with my card at first, but the platform says that the payment went through.
We shall arrive with the night bus at {early}. Is there a café that opens that early?
Should we bring adapters? Our plugs have {number} pins and nobody at home could tell us.
One of us has to take part in a video call on {day} at {time}, how stable is the connection?
I am sorry to change this again: {person} cannot come, so there will be one guest fewer.
The ferry on {day} is full, so we will have to take the one at {evening} and come in after dark.
Could the heating in the small room be switched on before we come? {person} has a cold.
We noticed that the calendar is free until {day}; may we decide on the spot to stay longer?
Thank you for the list of museums, {person} has already read all of it aloud to us.
Where does one throw away glass? At home we get fined for doing it wrong, so I ask beforehand.
Can we drink the tap water, or shall we buy some on the way from the station?
We have seen that there is a piano in the hall: is it in tune, and is playing allowed before noon?
I have a permit for disabled parking from my own country and wonder if it is valid in your street.
In case of delays I will write from the airport of {airport}, where we change planes at {time}.
Our son collects {collectible} and hopes that somebody sells them at the market.
Would you sell us a jar of that {food} which was on the table the last time? It did not survive the trip.
We leave on {day} before {early}. Should the keys go back into the box or stay on the table?
Your description says that there are {number} bicycles, do they also have child seats?
The children ask every day about the cat in photo {number}. Please give her our regards.
We are happy with any of the bedrooms, as long as {person} does not get the one with the church bells.
My sister, who lives nearby, would like to visit for dinner on {day}. She will not stay overnight.
Please tell me the exact size of the sofa bed, as we want to bring sheets that fit.
For the record: we agreed by phone that the deposit is {number}0 per cent and that the rest is due in {month}.
If there is a spare {portable}, it would save us from dragging ours through {airport}.
I should mention that I am writing a book, so please do not be worried if the light is on until {late}.
We saw the notice about the scaffolding and do not mind, as we are out during the day anyway.
Is it true that the market is on {day}? The guide book of {person} says something else.
Our plan is to do nothing at all for a week; please recommend the best spot for that.
{person} will celebrate a {ordinal} birthday, and we are looking for a bakery that delivers on {day}.
We had such a lovely exchange with the neighbours that we are bringing them {food} from home.
Perhaps you could leave the gate open on {day}, because the taxi is to bring us and {luggage} right to the
    door.
Having read the house rules, I only wonder whether our paper lantern counts as a candle.
In {month} we had to cancel, which we regretted a lot, so this time nothing will stop us.
Let me know if you need copies of our passports; I can send them through the platform, not by e-mail.
The baby goes to bed at seven, so we would ask the gardener to come in the morning if possible.
""")

FROM_HOST = lines("""
Asked for early check-in; told them that the cleaners are done by {time} at the latest.
Put the cot into the second bedroom and the high chair next to the {thing}.
Prefers messages over calls. Answers within minutes, usually before {evening}.
Returning guest, {ordinal} stay. Left a bottle of {drink} last time, so leave one for them now.
Late arrival at {late}: switch on the outside lamp and send the directions once more on {day}.
Needs an invoice to a company, the address follows on {day}.
Paid the extra guest by card, the receipt is in the folder of {month}.
The {thing} was reported as wobbly by the guests before: check it during the turnover on {day}.
Wants the room at the back because of the noise; the sofa bed is not needed.
Has a dog called {pet}, agreed on the fee, and on the blanket for the sofa.
Do not offer the late check-out: next guests come at {time} on the same day.
Broke a {breakable} and told us at once; we did not charge it.
{person} from the cleaning team has the spare key from {day} on.
Moved from the calendar of {month} after the storm; same price as before.
Birthday on {day}: order the cake at the corner, no nuts.
Arrives with {luggage}, ask the neighbour to leave the passage free.
Asked twice about the parking space. Sent photo {number} with the marks on the ground.
Allergic to feathers. Synthetic pillows are in the upper cupboard, {number} of them.
Wants to cook for {number}; the big pots are in the cellar and have to be brought up.
Complained about the water pressure at {early}, plumber came on {day}, now fine.
Please check the smoke detector in the hall before they come, it beeped in {month}.
Interested in a monthly rate from {month}; wait for their dates before quoting.
Left {lost} behind, posted it on {day}, tracking number in the thread.
Extra towels: {number} sets, and beach towels in the basket.
Booked the boat with {person} for {day}, weather permitting. Confirm the evening before.
Speaks a little of the local language and likes to practise; answer slowly.
Passport data received on {day}; registration with the municipality is done.
Deposit to be released two days after departure unless {person} reports anything.
Arriving by bicycle around {time}; the pump and {number} locks are in the passage.
Asked for a second desk. The folding one from the storage will do, with the green lamp.
Neighbours have been told about the scaffolding, the guests too (message of {day}).
Wi-Fi was slow at {time}; restarting the router helped. Ask again tomorrow.
Will check out before {early}; cleaning can start as soon as the light is off.
Sent the list of playgrounds and the name of a sitter for {day}.
Wants no daily service. Rubbish only on {day}.
Had booked the wrong month at first; changed without a fee by {person}.
Stove: show them how to open the flue, they have never used one.
Brings his own espresso machine, so clear the counter next to the {thing}.
Two cars. The second one can stand at the school from {time} on.
Group of old friends, polite on the phone. Reminded them of the quiet hours nevertheless.
Wedding guests: four more bookings from the same party, keep the contact of {person}.
Would like a table at the place with {food}; call them on {day}, not before {time}.
""")

OWNER_STAYS = lines("""
Owner in the house; no cleaning before departure, no messages by the automation.
Blocked for the family: {person} and the children, linen for {number}.
Owner comes for the inspection of the roof with the carpenter on {day}.
Private use, not to be counted in the occupancy of {month}.
""")

IN_OTHER_LANGUAGES = {
    "es": lines("""
Llegaremos hacia las {time}, ¿sería posible dejar las maletas un poco antes?
Viajamos con una niña de {age} años y nos vendría muy bien una cuna. ¡Muchas gracias!
¿Hay alguna panadería cerca que abra temprano? Salimos de excursión a primera hora.
Mi padre camina con bastón, así que preferimos el dormitorio de la planta baja.
Celebramos un cumpleaños en familia; prometemos no hacer ruido después de las diez.
"""),
    "pt": lines("""
Chegamos por volta das {time}. Podemos deixar as malas mais cedo?
Gostávamos de saber se há estacionamento perto da casa, pois o carro é bastante comprido.
É a nossa {number}.ª visita à cidade e queremos conhecer restaurantes onde não haja turistas.
"""),
    "fr": lines("""
Nous arriverons vers {time} ; serait-il possible de déposer les bagages un peu plus tôt ?
Notre fille a {age} ans : pourriez-vous prévoir un lit bébé et une chaise haute ? Merci d'avance !
Y a-t-il un marché dans le quartier le samedi ? Nous aimons cuisiner des produits frais.
Mon mari télétravaille deux jours, une bonne connexion nous serait donc précieuse.
"""),
    "de": lines("""
Wir kommen gegen {time} an. Dürfen wir das Gepäck schon vorher abstellen?
Unser Sohn ist {age} Jahre alt und bräuchte ein Gitterbett, wenn das möglich ist. Vielen Dank!
Gibt es in der Nähe eine Lademöglichkeit für ein Elektroauto? Zur Not genügt eine Steckdose.
Meine Mutter ist nicht gut zu Fuß. Wie viele Stufen sind es bis zur Wohnungstür?
"""),
    "pl": lines("""
Przyjedziemy około {time}. Czy możemy wcześniej zostawić bagaże?
Podróżujemy z dzieckiem ({age} lat), bardzo przydałoby się łóżeczko. Dziękujemy!
"""),
    "sv": lines("""
Vi kommer fram vid {time}. Går det bra att ställa väskorna tidigare?
Finns det en barnstol? Vår yngsta är {age} år och äter helst vid bordet. Tack!
"""),
    "tr": lines("""
Saat {time} gibi varırız, bavulları daha erken bırakabilir miyiz?
Kızımız {age} yaşında, mümkünse bir bebek yatağı rica ederiz. Teşekkürler!
"""),
    "th": lines("""
พวกเราจะถึงประมาณ {time} น. ขอฝากกระเป๋าไว้ก่อนเช็คอินได้ไหมคะ ขอบคุณมากค่ะ
มีเด็กอายุ {age} ขวบมาด้วย รบกวนขอเตียงเด็กกับเก้าอี้ทานข้าวเด็กด้วยครับ
คุณแม่เดินไม่ค่อยสะดวก ขอห้องนอนชั้นล่างที่ใกล้ห้องน้ำได้ไหมครับ
แถวบ้านมีตลาดเช้าไหมคะ อยากไปใส่บาตรและซื้อของมาทำกับข้าวเอง
จะขับรถไปเองจากกรุงเทพฯ ไม่ทราบว่ามีที่จอดรถหน้าบ้านหรือเปล่าครับ
"""),
    "ja": lines("""
{time}頃に到着する予定です。チェックイン前に荷物を預けることはできますか。
{age}歳の子どもがおりますので、ベビーベッドをお借りできれば幸いです。
母の足が少し悪いため、階段の少ない寝室を希望いたします。
近くに朝早くから開いているパン屋さんはありますか。楽しみにしております。
結婚記念日の旅行です。静かに過ごしますので、どうぞよろしくお願いいたします。
"""),
    "ko": lines("""
{time}쯤 도착할 예정인데 체크인 전에 짐을 맡길 수 있을까요?
{age}살 아이와 함께 갑니다. 아기 침대를 준비해 주시면 감사하겠습니다.
"""),
    "ar": lines("""
سنصل حوالي الساعة {time}، هل يمكننا ترك الحقائب قبل ذلك؟ شكرًا جزيلًا.
معنا طفل عمره {age} سنوات، ونرجو توفير سرير صغير إن أمكن.
هل يوجد مخبز أو سوق قريب من البيت يفتح في الصباح الباكر؟
"""),
    "ru": lines("""
Приедем примерно в {time}. Можно ли оставить чемоданы раньше заселения?
С нами ребёнок, {age} года; будем благодарны за детскую кроватку.
Подскажите, пожалуйста, где поблизости можно взять машину напрокат?
"""),
    "uk": lines("""
Приїдемо близько {time}. Чи можна залишити валізи раніше? Дякуємо!
З нами дитина, {age} роки. Чи є у вас дитяче ліжечко?
"""),
    "vi": lines("""
Chúng tôi đến khoảng {time}, có thể gửi hành lý trước được không ạ?
Gia đình có bé {age} tuổi, xin cho mượn một chiếc nôi. Cảm ơn anh chị!
"""),
}

CUSTOM_FIELDS = (
    ("Guest screening", ("Approved", "Approved by hand", "Pending documents", "Approved, returning guest")),
    ("Reason of the stay", ("Holiday", "Wedding", "Work", "Family visit", "Conference", "Hospital visit")),
    ("Arrival by", ("Train", "Night bus", "Own car", "Rental car", "Ferry", "Flight {flight}")),
    ("Housekeeping", ("Cot in room two", "Extra linen on {day}", "No daily service", "Sofa bed made up")),
    ("Registration", ("Sent on {day}", "Done", "Waiting for the passport of {person}")),
    ("Welcome basket", ("{food} and {drink}", "No alcohol", "For children", "Large, paid by the office")),
    ("Parking", ("Space 2", "Street", "School yard after {time}", "Not needed")),
    (
        "Key handover",
        ("Keypad", "In person by {person} at {time}", "Neighbour", "Keypad, gate open on {day}"),
    ),
    ("Transfer", ("Booked for {time}, {number} people", "Declined", "To be confirmed on {day}")),
    ("Upsell", ("Boat trip with {person} on {day}", "Cooking class", "Late check-out until {time}", "None")),
    ("Dietary wishes", ("Nothing but {food}", "No nuts, no {food}", "Vegetarian, {number} people", "None")),
    (
        "Feedback after the stay",
        ("Praised the {thing}", "Missed a {portable}", "Would come again in {month}"),
    ),
)

WRITER = Writer(
    {
        "time": ("06:40", "08:15", "10:30", "11:55", "13:20", "14:45", "16:10", "17:35", "19:05", "20:50"),
        "early": ("05:30", "06:15", "06:50", "07:20", "08:00"),
        "evening": ("18:15", "18:45", "19:30", "20:00", "20:30", "21:15"),
        "late": ("22:25", "23:10", "23:45", "00:20", "01:05"),
        "flight": ("XQ 418", "QX 2071", "ZZ 96", "QJ 733", "XW 1250", "ZX 88"),
        "airport": ("Doha", "Frankfurt", "Panama", "Helsinki", "Singapore", "Addis Ababa"),
        "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
        "month": ("January", "March", "April", "May", "July", "September", "October", "December"),
        "luggage": ("two suitcases and a cello", "four suitcases", "a pram and three bags", "surfboards",
                    "a folded wheelchair", "one very heavy trunk", "six rucksacks"),
        "age": ("2", "3", "4"),
        "older": ("7", "8", "9", "11", "12", "14"),
        "person": ("Aunt Philippa", "our friend Tobiah", "Grandpa Anselm", "my cousin Rosalind", "Uncle Teo",
                   "little Minna", "our colleague Severin", "Cousin Odile"),
        "thing": ("espresso machine", "reading lamp", "hammock", "record player", "fan heater", "kettle",
                  "sofa bed", "garden table", "lantern", "mirror", "ironing board", "bread knife"),
        "portable": ("espresso machine", "fan heater", "kettle", "bread knife", "travel iron", "milk frother",
                     "baby monitor", "extension lead"),
        "breakable": ("wine glass", "salad bowl", "lampshade", "soup plate", "vase"),
        "lost": ("a charger", "a raincoat", "one sandal", "a stuffed rabbit", "two books", "a cello bow"),
        "food": ("goat's cheese", "rye bread", "mangoes", "pickled plums", "almond biscuits", "noodles",
                 "quince jelly", "smoked trout"),
        "drink": ("elderflower syrup", "white port", "barley tea", "cider", "ginger lemonade"),
        "pet": ("Biscuit", "Momo", "Pirata", "Schnitzel", "Juno"),
        "collectible": ("sea glass", "old stamps", "tram tickets", "fossils", "beer mats"),
        "number": ("2", "3", "4", "5", "6", "7", "8"),
        "ordinal": ("second", "third", "fourth", "fifth", "tenth"),
    }
)  # fmt: skip
