"""Sentences about homes, their rules and their streets. Their {slots} are filled with WORDS."""

from gateway.connectors.hostaway.sample.prose import Words, lines

ROOMS = lines("""
The living room runs from the street to the courtyard and has a {seat} and room for {count} people.
One wall is lined with {material}, the others are limewashed in a shade that changes with the light.
The dining table was made from {wood} by a carpenter two doors down and takes {count} chairs.
Books about the region, in {count} languages, fill the shelf by the stairs; please add one if you like.
There is a record player with a crate of records that earlier guests left behind.
Large windows face {side}, which means sun at breakfast and shade when the day gets hot.
In the evening a row of small lamps can be dimmed from one switch next to the door.
The kitchen has an induction hob, a full-size oven and a dishwasher that finishes in {minutes} minutes.
Knives are sharpened before every stay, and there is a steel in the drawer if you are particular.
You will find a moka pot, a French press, a hand grinder and beans from {maker} on the counter.
The fridge is tall, with a freezer that makes ice on its own; filters are changed every {month}.
Spices, oil, vinegar, salt and sugar are there for everybody; we replace what runs low.
A deep stone sink stands under the window, and whoever washes up looks straight at the {tree}.
The pantry holds a rice cooker, a blender, a waffle iron and pots that are big enough for {count} people.
Crockery was thrown by a potter in the next valley, so no two plates are the same.
The main bedroom has a bed {double} cm wide, a firm mattress and a topper in the wardrobe for lighter
    sleepers.
Bed linen is stone-washed cotton, and a second set waits in the drawer below the window.
Each bed has a reading lamp, a socket with two USB ports and a shelf for a glass of water.
Blackout curtains close completely, which early risers and late sleepers both mention in their reviews.
The second bedroom has two single beds on castors that can be pushed together in a minute.
A built-in bunk under the eaves is the first thing that children claim, two metres long and quite safe.
Wardrobes are empty, with {count} wooden hangers each and a lavender bag against moths.
The quietest room looks onto the yard, where nothing is heard at night but the {bird}.
An extra mattress is stored under the daybed together with its own sheets and a summer duvet.
The bathroom has a walk-in shower with a rain head and a hand shower at a height for children.
Hot water comes from a heat pump and will not run out, even with {count} showers in a row.
Soap, shampoo and conditioner come from {maker}, in refillable bottles and without strong perfume.
Towels are thick, {colour} and changed after {count} nights; please hang them up if you want to keep yours.
A heated rail dries swimsuits overnight, and a basket for wet things stands behind the door.
The bathtub is cast iron, long enough to lie in, and has a view of the {tree}.
The washing machine takes {metres} kilos and has a programme that is done in {minutes} minutes.
An iron, a steamer and a folding rack are in the narrow cupboard next to the fuse box.
The terrace is {metres} metres long and gets the last sun of the day until well past dinner.
A {tree} gives shade over the outdoor table; in {month} it drops a few leaves into every salad.
The {seat} on the veranda was restored last spring and is the best place for the first {drink}.
Herbs grow in the boxes by the kitchen door: cut as much basil, mint and chives as you can eat.
The barbecue burns charcoal; a bag, lighter cubes and long tongs are in the chest below it.
Fairy lights over the yard switch on by themselves at dusk and off again {minutes} minutes after midnight.
The roof can be reached by a steep ladder and shows {count} church towers, domes or peaks on a clear day.
The desk faces {side} and is {width} cm wide, with a proper chair and a lamp that does not flicker.
The Wi-Fi is fibre; video calls work from every room and even from the {seat} outside.
A second screen, a keyboard and a drawer full of adapters are there for people who came to work.
Mobile reception is good by the windows and patchy in the hall, because the walls are {thick} cm thick.
The printer takes A4, scans to a stick and has been known to jam when it is very humid.
Parcels can be sent to the house; the {neighbour} next door signs for them and is owed many favours.
Families will find a cot, a high chair, a stair gate, plastic cups and a box of wooden bricks.
The garden gate closes with a latch that is out of reach for anybody below four years of age.
Picture books, crayons and a puzzle with {pieces} pieces live in the blue chest in the living room.
There are {count} steps from the street to the door and none inside the apartment itself.
Door frames are low in the old part of the house; the worst one is marked with a strip of {colour} felt.
The staircase is steep, as everywhere in this street, and has a rail on the left side only.
On the ground floor everything can be reached without a step, including the shower.
The air conditioning is inverter-driven and so quiet that guests ask whether it is on.
The paintings are by {neighbour}s from the quarter, and the small ones are for sale at honest prices.
We keep a drawer with candles, a torch and a paper map, for the one evening a year without electricity.
Bicycles, {count} of them, stand in the passage; locks hang on the hook and the pump is in the basket.
The view reaches over {count} rows of roofs to the hills, and on some mornings to nothing but fog.
At night one can hear the {bird}, and at six the baker who pulls up his shutter.
The {material} in the hall dates from the first owner and was cleaned with nothing but soap.
Under the stairs is a nook with cushions where one can read for {minutes} minutes or a whole rainy day.
Everything that hums has been moved to the cellar: boiler, freezer, router and the water softener.
The sofa in the study pulls out to {double} cm and sleeps two without any bar in their backs.
Board games, a chess set with one replaced knight and {count} packs of cards are in the sideboard.
A projector and a white wall make a cinema for {count}; cables for old and new laptops are in the box.
The breakfast corner catches the light from {side} and has room for {count} if nobody minds elbows.
Guests who stay longer get a change of linen, a bag of {drink} and the name of our favourite {neighbour}.
A filter jug stands in the fridge, although the tap water is tested twice a year and perfectly good.
The old well in the yard is covered by glass and lit from below, which children find irresistible.
There is a safe in the wardrobe for passports; it forgets its code at every changeover, on purpose.
The doorbell has a soft setting for nap time: a small switch on the side of the chime.
Sockets are European, British and American in turn; the adapters on the hooks are meant to stay here.
A small library of field guides helps with the {bird} and with whatever flowers along the path in {month}.
The hallway bench has hooks, a shoe rack for {count} pairs and a tray for keys that get lost otherwise.
Mornings are for the east room, afternoons for the porch, and evenings, whatever the season, for the kitchen.
""")

WARM_ROOMS = lines("""
A ceiling fan turns quietly above the {seat}, so you will rarely need the air conditioning.
There is an outdoor shower behind the {material} wall, with warm water until about sunset.
A hammock hangs between the {tree} and the wall; its knots are checked at every changeover.
Screens on all windows keep mosquitoes out, provided that somebody remembers to close them at dusk.
A dehumidifier runs by itself in the wet season; its tank needs emptying about every {count} days.
Beach towels, a cool box and a parasol are in the cupboard below the stairs.
Ceilings are high and the gaps under the roof let the heat out, as builders here have always done.
The pool of shade on the north side moves with the sun, and so do the chairs.
Drinking water comes in large bottles; the {neighbour} swaps empty ones for full ones the same day.
""")

COLD_ROOMS = lines("""
The floors are {wood}, warm underfoot in winter and pleasantly cool in {month}.
Swifts nest under the gutter until {month}; they were here first and we let them be.
Heating is by radiators under the windows, each with its own dial; the {material} holds the warmth for hours.
A wood stove heats the living room in {minutes} minutes; kindling and dry {wood} are by the back door.
We rebuilt the house over {count} winters with local {wood}, lime and a good deal of patience.
Windows are double-glazed towards the lane, so market days do not wake anybody before eight.
Wool blankets, one for each bed, lie on the chest and have been needed even in {month}.
Coats and wet boots have a cupboard of their own, with a small heater that dries them overnight.
The porch catches the low sun of {month}, and the {seat} out there has a sheepskin on it.
""")

RULES = lines("""
Please take your shoes off at the door; slippers in all sizes are in the basket.
Quiet hours are from 22:00 until 08:00, in the house and above all outside it.
No parties, no amplified music in the yard and no more than {count} visitors at a time.
Smoking is possible on the terrace only, with the ashtray that has a lid.
Candles are welcome on the table, but never on the windowsills below the curtains.
Pets come by arrangement: tell us the kind and the size before you book.
Please do not move the beds; the floor is old and the legs leave marks in the {wood}.
The person who made the booking stays during the whole booking and is at least 25 years old.
Photo shoots and film work need a separate agreement, which we usually grant.
Wet clothes belong on the rack and not over the radiators or the {seat}.
Please close windows and shutters when you leave, because the wind here comes without notice.
Do not feed the neighbours' cats, whatever they tell you.
Rinse your feet at the outdoor tap when you come back from the water.
Turn off the air conditioning when the doors to the terrace stand open.
Whatever breaks, breaks; tell us on the same day and we will mostly just replace it.
The cellar door stays locked for reasons of insurance, not because of anything interesting.
Rubbish goes out on the evening before collection, sorted as shown on the sheet inside the cupboard.
Please leave the dishes clean and the fridge empty on the last morning; the rest is our job.
Bicycles must be locked to the ring in the passage, even for {count} minutes.
Children below ten use the roof with an adult only.
Water the herbs if it has not rained for {count} days; the can stands by the tap.
Please park within the marked space, since the {neighbour} delivers with a rather wide van.
""")

STREETS = lines("""
The bakery on the corner opens at six and is out of the good bread by nine.
{neighbour_cap} and greengrocer are both within {minutes} steps of the door, give or take.
On Saturdays the square fills with a market: cheese, plants, second-hand books, and a man who mends umbrellas.
The river path begins behind the school and leads to the park with the {tree}s in {minutes} minutes.
There are {count} good places to eat on our street and one that we mention only if you ask.
A supermarket that is open until late lies {minutes} minutes away, past the fountain and then left.
The quarter was built by weavers, dockers and printers, and some of their signs are still on the walls.
Buses {number} and {number} stop at the chapel; both reach the centre in under half an hour.
From the airport a taxi takes about {minutes} minutes; please agree on the fare or insist on the meter.
The nearest station is a walk of {minutes} minutes, most of it downhill on the way there.
Late buses run until one in the morning, and at weekends once an hour after that.
Street parking is free after six in the evening and all day on Sundays.
The pharmacy has a green cross that can be seen from the terrace and somebody there speaks English.
A playground with a fenced corner for small children lies behind the library.
For runners: the loop along the old wall is {count} kilometres and has water at both ends.
The museum of {material} is better than it sounds and empty on weekday mornings.
Cafés open late here; the one with the {colour} awning is the exception and full by half past seven.
The hill above the house has steps, benches and, at the top, the view that is on all postcards.
In {month} the quarter celebrates its saint for three loud and cheerful nights.
Swimmers go to the open-air pool beyond the park, {minutes} minutes on foot, which is never crowded.
""")

HINTS = lines("""
The bells of the quarter ring the full hour between seven and ten; guests stop hearing them on day two.
Please tell us your hour of arrival three days ahead, so that the {neighbour} can let you in if needed.
The second bathroom is reached by {count} steps down, with a light that switches on by itself.
Early check-in is possible whenever nobody slept here the night before: just ask.
There may be scaffolding on the house opposite until {month}; work stops at five.
Luggage can stay in the hall from nine in the morning, and after check-out until the evening.
Water pressure drops for some minutes around eight when the whole street takes a shower.
The city collects a tourist tax that is part of the price you see; nothing is due in cash.
Swifts, bees and the odd {bird} share the house; they are harmless and better than any spray.
We restock coffee, paper and soap for the first {count} days; shops for the rest are close.
If a fuse trips, it is nearly always kettle and oven together; the box is behind the coats.
In a heat wave the upper room is best between midnight and noon.
A cot is free of charge; a second one has to be borrowed, which takes us about {count} days.
The lock has a keypad as well as a key, in case its battery dies in the longest night of {month}.
Some maps show our lane in the wrong place; follow the photos of the check-in guide for the last {minutes}
    metres.
""")

SUMMARIES = lines("""
Sleeps {capacity} in {bedrooms}, with a kitchen for people who really cook and a terrace for those who do not.
Quiet at night, close to everything by day, and looked after by two people who live around the corner.
For families, for friends who get along, and for anybody who needs a proper desk and an even better breakfast
    spot.
Old walls, new plumbing, fast fibre, good beds: the rest is {city}.
Stay three nights to see {city}, or three weeks to forget that you ever wanted to see anything.
""")

ACCESS = lines("""
The whole place is yours: every room, the terrace, the yard and the storage for bicycles.
You have the entire home to yourselves; only the cellar is kept locked.
All rooms and the roof are for you alone, and the passage is shared with one quiet neighbour.
""")

INTERACTION = lines("""
We live {minutes} minutes away, answer messages from seven to eleven and come by when something is wrong.
You will see as much or as little of us as you like: most guests take the first walk around the block with us.
Check-in is by keypad at any hour; on the second day we ask whether anything is missing, and then leave you
    alone.
""")

HEADLINES = lines("""
{nickname} in {area}: old beams, new beds and a terrace
{area} at the door, {city} at your feet
A home for {capacity} in the best street of {area}
Wake up to the sound of {area} - and to very good coffee
""")

CAPTION_SUBJECTS = lines("""
The living room
The long dining table
The kitchen counter
A corner of the library
The main bedroom
The second bedroom
The bunk under the eaves
The walk-in shower
The bathtub
The terrace
The outdoor table
The hammock
The front door
The desk
The staircase
The roof
The herb boxes
The inner yard
The reading nook
The hallway
""")

CAPTION_DETAILS = lines("""
in the morning, with light from {side}
after rain, when the {material} shines
with {wood} boards and a {colour} rug
seen from the {seat}
set for {count}, with flowers from the market
on an evening in {month}
and the {tree} behind the glass
with the first {drink} of the day
in the evening, when the lamps are lit
looking {side} over the roofs
as it was before the restoration, in a photo from {count} years ago
with fresh linen and the windows open
before the guests come, still quiet
and the cat that is not ours
""")

AMENITIES = lines("""
Essentials
Air conditioning
Heating
Hair dryer
Iron
Washer
Dryer
Dishwasher
Refrigerator
Freezer
Oven
Stove
Microwave
Coffee maker
Kettle
Toaster
Cooking basics
Wine glasses
Wireless internet
Laptop friendly workspace
TV
Sound system
Books
Board games
Smoke detector
Carbon monoxide detector
Fire extinguisher
First aid kit
Safe
Crib
High chair
Children's books and toys
Hangers
Bed linens
Extra pillows and blankets
Mosquito net
Private entrance
Garden or backyard
Patio or balcony
Outdoor furniture
BBQ area
Bicycles
Beach essentials
Luggage drop-off allowed
Long term stays allowed
""")

WORDS: Words = {
    "seat": ("window seat", "cane sofa", "rocking chair", "stone bench", "swing", "daybed", "armchair"),
    "count": ("three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve"),
    "material": ("slate", "terracotta", "blue tile", "river stone", "bamboo", "brick", "limestone", "copper"),
    "wood": ("oak", "teak", "chestnut", "cedar", "walnut", "mango wood", "larch", "beech", "cypress"),
    "colour": ("saffron", "indigo", "moss green", "brick red", "cream", "charcoal", "turquoise", "mustard"),
    "side": ("east", "south-east", "west", "north", "south-west", "south"),
    "minutes": ("four", "six", "eight", "ten", "twelve", "fifteen", "twenty", "twenty-five", "thirty"),
    "number": ("4", "9", "12", "17", "23", "31", "38", "56"),
    "maker": ("a roaster in the next street", "a cooperative up the valley", "two sisters at the market",
              "the monastery", "an old friend", "the shop below"),
    "month": ("January", "March", "April", "May", "June", "August", "September", "October", "November"),
    "tree": ("fig tree", "lemon tree", "old maple", "frangipani", "olive tree", "plum tree", "magnolia"),
    "bird": ("nightingale", "owl", "blackbird", "oriole", "thrush", "wagtail", "cuckoo", "nightjar"),
    "width": ("90", "120", "140", "160", "180", "200"),
    "double": ("140", "160", "180"),
    "thick": ("45", "50", "60", "70", "80"),
    "pieces": ("200", "500", "750", "1,000"),
    "metres": ("four", "five", "six", "seven", "eight"),
    "drink": ("coffee", "green tea", "mint tea", "lemonade", "chai"),
    "neighbour": ("baker", "tailor", "bookbinder", "florist", "piano teacher", "cobbler", "retired captain"),
    "neighbour_cap": ("Baker", "Fishmonger", "Butcher", "Cheesemonger", "Tea merchant"),
}  # fmt: skip
