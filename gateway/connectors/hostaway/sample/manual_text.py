"""The part of the house manual that applies to every house."""

GENERAL = """\
# House manual

*For guests, hosts and cleaners of the twelve houses. Edition of November 2026.* 🏡

You do not have to read this from the first page to the last. The first part explains what works alike in all
houses; the second has a chapter for each of them, with the things that only this house has. If you look for
one answer, search for the thing in front of you: *oven*, *gate*, *fuse*. Codes for doors and networks are not
in this book. They are in the message that you receive on the morning of your arrival, and nowhere else.

> ยินดีต้อนรับค่ะ · ようこそ · Bem-vindos · Bienvenidos · Bienvenue · Selamat datang · Serdecznie witamy

# Part one: all houses

## 1. Arriving

Check-in begins at three in the afternoon and has no end: the keypad does not sleep. When you know the hour of
your arrival, tell us three days before, because in four of the houses somebody comes to light the stove or to
air the rooms. If you are early, leave your bags in the hall from nine o'clock on. The cleaners know about it
and work around them.

### 1.1 The keypad

1. Touch the black glass with your palm. The numbers light up; in bright sun, shade them with the other hand.
2. Type the code from our message and finish with the tick mark at the lower right.
3. Wait for the green light **before** you press the handle. Whoever pushes earlier has to start again.
4. Three wrong attempts lock the pad for two minutes. It has then not broken, it is only offended.

The battery warns for a month before it dies, first with a yellow light, then with a sad tune. Should it fail
at night all the same, hold a nine-volt block against the two studs below the pad and type the code. Such a
block hangs in a tin on the inside of every gate.

### 1.2 The first quarter of an hour

Please open the windows, find the fuse box and the fire extinguisher, and read the sheet behind the door of
the kitchen cupboard. Children like to be shown the way out first: make it a race to the meeting point, and
they will remember it for years.

## 2. Keys, gates and garages

There are two sets of keys per house, on cork floats in the houses by the water. A third set lies with the
person in charge, who is named in part two and decides what an emergency is. Gates close by themselves after
forty seconds. If something blocks the light beam, they open again and stay open until you wipe the two small
lenses at knee height: spiders love them.

Garage doors can be moved by hand. Pull the red cord once, firmly and straight down, then lift. To couple the
motor again, press the button and let the door run up until it clicks.

## 3. The network

Every house has fibre except the cabin, which is connected by radio from the ridge. Name and password are in
the message of your arrival. One hundred megabits are enough for several video calls at once; if they seem not
to be, the cause is nearly always the place of the laptop and hardly ever the line.

### 3.1 When nothing loads

Restart the router before you call. It takes four minutes and helps in nine cases out of ten:

```text
1. Pull the power plug of the white box (modem), then that of the black box (router).
2. Count to thirty. Really count: the boxes keep some charge.
3. Plug in the white box. Wait until the light marked WAN is steady and no longer blinks.
4. Plug in the black box. Wait for two minutes.
5. Forget nothing on your phone: the name of the network has not changed.
```

If the WAN light stays red, the fault lies with the provider. Write to us; we can see the line from outside
and will tell you honestly how long it may take. Two houses have a mobile router as a reserve, in a shoebox
that is labelled *not shoes*.

### 3.2 Cables, printers and loudspeakers

A network socket is behind each desk, with a cable in the drawer. The printers speak to phones by themselves
as soon as both are in the same network. Loudspeakers forget the last guest every night at four.

## 4. Warmth and cold

### 4.1 Radiators and stoves

Radiators have a dial from one to five. Three means about twenty degrees, five does not make it any faster.
Turn the dial to the snowflake when you air the room, otherwise the valve fights the winter and loses.

A wood stove wants to be lit from above: two large logs below, small wood across, a lighter cube on top, the
air lever fully to the right. After ten minutes push the lever to the middle. **Never burn paper, pallets or
driftwood**; salt and glue eat the pipe. Ash goes into the metal bucket with the lid, and stays there for two
days before anybody calls it cold.

### 4.2 Air conditioning

Set it to twenty-five and leave it. Machines that are asked for eighteen run all night, drip on the sill and
make people ill. Remote controls show a leaf in economy mode. The little door for the filter is on the top;
should the air smell of cellar, tell us, and we will wash the filters on the same day.

### 4.3 Hot water

Heat pumps work with patience: a tank of three hundred litres is hot again four hours after it was emptied.
Gas heaters in the older houses light with an audible *whoomp*, which is normal; a smell of gas is not. In
that case close the yellow tap under the sink, open the windows, touch no switch, go outside and call us from
there.

## 5. The kitchen

Everything in the cupboards is yours to use. The tins with a red dot belong to the house and are to be
replaced when they are empty; those without a dot were left by somebody and may be finished without guilt.

### 5.1 Hobs and ovens

Induction hobs lock themselves when something boils over. Wipe the field dry, then hold the key symbol for
three seconds. Only pots that hold a magnet work: the ones in the low drawer all do, the pretty copper one on
the wall does not. The oven refuses to heat while its clock is blinking. Press both arrow keys, set any time
at all and confirm.

### 5.2 Dishwashers and their codes

| shown | meaning | what to do |
|---|---|---|
| E1 | no water | open the tap under the sink, a quarter turn to the left |
| E3 | water stays in the bottom | lift out the sieve, rinse it, turn it until it locks |
| E4 | the arm is blocked | look for a spoon handle or a tall plate |
| F9 | leak in the tray | switch off at the wall, put a towel down, write to us |
| a drop, blinking | salt is used up | fill from the blue carton, not from the kitchen salt |
| a star, blinking | rinse aid | optional; glasses are merely less shiny without it |

### 5.3 Coffee ☕

The moka pot wants cold water up to the valve, coffee without pressing, and a small flame. Take it off as soon
as it begins to gurgle. Machines with a lever have to warm up for twenty-five minutes and must never be
switched on with an empty tank; the light on the left tells you. Please empty the grounds into the brown caddy
and not into the sink, where they meet the rice from yesterday and make something like concrete.

### 5.4 Water to drink

Tap water is good in Lisbon, Kyoto, Tokyo, Lyon, Asheville, Edinburgh, Cape Town and Kraków. In Chiang Mai, on
Ko Lanta, in Ubud and in Tulum please use the large bottles; the spare one stands in the pantry and the empty
one goes in front of the gate. Ice from the freezer is made from bottled water everywhere.

## 6. Washing and drying

The short programme is for things that were worn once. For sand, start with *rinse and spin*, shake everything
outside, and only then wash: a cup of sand is enough to ruin a pump. Detergent is in the jar, one spoon for a
half load and one and a half for a full one. Dryers need an empty sieve; it is in the door, and the fluff
lights the stove beautifully. Clothes that hang on a line at night smell of jasmine in three of the houses and
of low tide in one.

Stains: red wine wants salt and cold water, at once. Curry wants sun. Candle wax wants an ice cube. Mascara on
white towels wants honesty, since there are black ones for this purpose on the lower shelf.

## 7. Rubbish ♻️

Nothing annoys neighbours as reliably as a bag on the wrong day. Times and colours differ from town to town
and are in part two; four rules hold everywhere:

- rinse what has held food, flatten what has held a parcel;
- no bag goes out before the evening that precedes the collection;
- batteries, bulbs and spray cans go into the shoebox in the hall, we drive them to the depot;
- what you cannot name goes into the bin for the rest, with our blessing.

In the Japanese houses burnable and non-burnable waste have separate days, and bottles have their own crate. A
sheet with drawings is fixed to the fridge:

> 燃えるごみは朝八時までに出してください。前の晩には出さないでください。びん・かん・ペットボトルは中を
> 洗い、ふたを外してから青いかごへお願いします。

In the Thai houses food waste goes into the lidded bucket by the gate:

> เศษอาหารทิ้งในถังมีฝาปิดข้างประตู ขวดแก้วและกระป๋องวางแยกไว้ในตะกร้า รถเก็บขยะมาทุกเช้าวันอังคารและวันศุกร์

## 8. Electricity, water, gas

The fuse box of each house has a drawing on the inside of its lid. If half of the rooms are dark, one breaker
has tripped; if all are, look whether the street is dark as well before you look for a torch.

```text
half of the house is dark  -> breaker hangs in the middle: push it fully DOWN, then UP
it trips again at once     -> unplug kettle, heater and iron, try again, add them one by one
the test button stands out -> press it back in; if it jumps out again, leave it and call us
the whole street is dark   -> candles are in the second drawer, the view is free
```

The main tap for water is marked in blue and closes to the right. Close it if a pipe drips and put the bucket
under the lowest point, then call. Water hammers in old pipes are loud but harmless, and are cured by opening
all taps for a minute. Where there is gas, the bottle stands outside; the spare one is the one without a
regulator.

## 9. Beds and linen

Beds are made when you arrive. For stays above seven nights we change linen and towels once a week, on the day
that suits you; the bags in the hall are for the used ones. Blankets of wool are in the chest, duvets for
summer in the drawers below the beds. Mosquito nets are to be tucked in *before* dusk. A hole in a net closes
with the tape from the drawer of the bedside table.

Cots have a mattress of their own and fit beside any bed. Please set them up with the locks facing inwards;
two clicks have to be heard. High chairs carry fifteen kilos, and the straps are there for a reason.

## 10. Bathrooms

Doors of showers slide best when they are dry. Leave them open afterwards, use the squeegee on the hook and
let the fan run on: it stops by itself after twenty minutes. In all houses except the loft and the flat in
Tokyo only paper goes into the toilet; in the two Thai houses, in Bali and in Tulum not even that, but into
the small bin with the lid. The hand shower next to the seat is stronger than it looks. Begin gently.

The Japanese bathtubs are for sitting in hot, clean water after one has washed outside of it. Several people
use the same water, one after the other, so no soap may get in. The lid keeps the heat until midnight.

## 11. Terraces, gardens, water

### 11.1 Pools and tubs

There is no lifeguard, and the pools are deep from the first step on. Children are never alone there, not for
the length of a phone call. Glass stays away from the edge. The pump runs from eleven to five and must not be
stopped; it is what keeps the water clear without a smell of chlorine. If leaves float on top, use the net,
and if a frog does, use both hands.

### 11.2 Fire outside

Barbecue only where the paving is. Keep a bucket of water next to it, even if it looks fussy. Between June and
October the municipality may forbid all open fire within an hour, and then a red flag hangs at the fire
station. Coals go into the metal bin on the next morning, not the same night.

### 11.3 Plants and animals

The gardeners come early and leave quietly. You may pick what you eat. Bees nest in the hollow bricks on
purpose and do not sting. Snakes are rare, shy and in most cases a piece of hose; if it moves, go inside,
close the door and send us a picture. Monkeys take everything that is not tied down, sunglasses first.

## 12. Neighbours and noise

Walls are thick but windows are thin. After ten at night, please move inside, and speak in the lane as you
would in a library. In Kyoto and in Chiang Mai the evening begins at nine. Wheels of suitcases on cobblestones
are the sound that is mentioned most often in complaints, followed by ringing at the wrong door.

Musicians are welcome between ten and noon and between four and seven. Drums are not welcome, with regret.

## 13. Children

Stair gates, covers for sockets, a bath seat and a night light are in the box with the giraffe. Windows on
upper floors have a lock at the frame; the key hangs at adult height on the left. Ask us for the nearest
playground. Toys that have lost a part may be thrown away, unless the part has turned up in the meantime.

## 14. Guests with a disability

The garden flat in Edinburgh has one step, for which there is a ramp in the shed. The villa in Ubud has two
pavilions on ground level, with wide doors and a shower without a sill. All other houses have stairs, and we
will gladly send you their number, height and a photograph. A folding stool for the shower, a rail that is
fixed by suction, and a vibrating pillow for the smoke alarm can be brought to any house within two days.

## 15. Safety

Smoke detectors are in every room in which one sleeps. They are tested on the first of each month. A short
chirp each minute means that the battery is low; a long tone means **out**. Extinguishers are next to the
kitchen door and expire in the year on the label. There is one carbon monoxide alarm for each stove.

| what happened | first | then |
|---|---|---|
| fire that is larger than a pan | everybody out, close the doors | call the fire brigade, then us |
| burning fat | lid on, heat off | leave it for half an hour, no water |
| smell of gas | windows open, no switches | close the yellow tap, call from outside |
| somebody fell | do not lift them | call the ambulance, send one person to the gate |
| water from the ceiling | main tap to the right | breaker of the room off, bucket, call us |
| earthquake | under the table, away from glass | outside when it has stopped, shoes on |
| siren by the sea | uphill on foot, at once | do not go back for anything |

Emergency numbers: **112** in Portugal, France, Poland and from any mobile phone in Europe; **999** in
Scotland; **911** in the United States and Mexico; **110** and **119** in Japan; **191** and **1669** in
Thailand; **112** in Indonesia and South Africa.

## 16. Weather

Storms have names in some of these places and none in others, but shutters everywhere. Close them from the top
floor down, take in cushions and parasols, and fill two pots with water. During a typhoon or a hurricane
warning we ring you twice a day and decide together. In snow, the gravel road to the cabin is cleared by noon:
stay where you are until then, there is wood for a week. In the hot season keep the shutters closed on the
side of the sun and open everything at five in the morning.

## 17. Damage, loss and found things

Things break in houses that are lived in. Tell us the same day, with a photo and without a story, and we shall
mostly just replace them. What you forget, we keep for ninety days. Posting it costs what the post office
asks; chargers and single socks we keep as a collection. 🧦

## 18. Leaving

Check-out is at eleven. Please do this, and no more than this:

- [ ] dishes in the machine, machine on
- [ ] fridge empty, or a note on what may be eaten
- [ ] used towels in the bath, beds as they are
- [ ] rubbish to the bins, if it is the evening for it
- [ ] windows closed, heating to two, air conditioning off
- [ ] keys on the table or in the safe, gate shut

Two minutes of airing are worth an hour of the cleaners' work. Say goodbye to the cat, if there is one.

## 19. A few words that help

| | ไทย | 日本語 | português | español | polski |
|---|---|---|---|---|---|
| good morning | สวัสดีค่ะ / ครับ | おはようございます | bom dia | buenos días | dzień dobry |
| thank you | ขอบคุณค่ะ / ครับ | ありがとうございます | obrigado, obrigada | gracias | dziękuję |
| sorry | ขอโทษค่ะ / ครับ | すみません | desculpe | perdón | przepraszam |
| where is …? | …อยู่ที่ไหน | …はどこですか | onde fica …? | ¿dónde está …? | gdzie jest …? |
| delicious | อร่อยมาก | おいしいです | delicioso | riquísimo | pyszne |
| too loud? | เสียงดังไปไหม | うるさいですか | muito barulho? | ¿mucho ruido? | za głośno? |

## 20. Questions that we are asked every week

**May we stay one hour longer?** If nobody arrives on the same day, yes. We know it for certain on the evening
before.

**Why is there no television in two of the houses?** Because guests used to carry them into the cupboard. A
projector is there instead.

**Is the cat in the photo real?** Yes, and she has had breakfast, whatever she says.

**Who cleans?** Nine people, who are employed, paid for the whole hour and named in part two, so that you may
thank them.

**Can we leave a good review although the kettle was broken?** You can, and by the time it is published there
will be a new kettle.
"""
