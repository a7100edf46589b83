"""The house manual's text about the twelve houses: directions to each house, and banks of sentences for the rest."""

from gateway.connectors.hostaway.sample.prose import lines

# One paragraph per home, in the order of `homes.HOMES`.
WAYS_TO_THE_DOOR = (
    """\
Get off tram 28 at the church with the two unequal towers and walk down, not up. Count three flights of
steps; after the third, a passage opens on the left that looks private and is not. The green tiles begin at
its end. Taxis stop at the fountain below, from where it is a climb of four minutes. With heavy bags, ask
for Nuno, who has a hand cart and opinions about football.""",
    """\
From the iron bridge follow the river upstream on the side of the temple. The lane begins between a shop
for incense and a garage without a sign. Our gate is the wooden one with the carved peacock. Drivers know
the place as บ้านริมปิง; show them the words on your phone. Shoes stay on the lowest step, where the dog
next door guards them.""",
    """\
Take the bus to the weaving hall and walk back for one block. The alley is so narrow that most people pass
it twice: look for the paper lantern with 町家 on it, lit from five in the afternoon. Slide the lattice door
to the right, gently, without lifting it. The bell inside is a string with a small brass fish.""",
    """\
The road ends at the banyan tree. From there it is a path of two hundred metres between the terraces, paved
and lit, but too narrow for cars; the porters with the red caps wait from eight to eight and are paid by
us. Follow the sound of water. The second gate is ours, with two stone frogs that wear flowers behind their
ears.""",
    """\
Leave the parkway at the fire tower and stay on the gravel for two miles. The second bridge has no rail:
slow down, it is sound. Navigation gives up at the chapel; from there on follow the blue reflectors on the
trees. Park beside the woodshed and not on the grass, since what looks like grass is the septic field.""",
    """\
Metro to the top of the hill, exit towards the market. Behind the last stall a double door leads into the
passage; push where the brass is worn. Cross the yard diagonally, staircase B, fourth floor. The lift was
built for silk and takes two people, or one with a trunk. The key turns twice, and always against
expectation.""",
    """\
Pass the last petrol station and turn right at the wall with the painted jaguar. The next eight hundred
metres are sand: drive slowly, keep the windows closed and greet whoever comes the other way. A bell made
from a gas bottle hangs at the gate. Strike it once. Twice means that there is a fire.""",
    """\
The pier is where all pick-up trucks end. Walk along the old wooden street with the water on your left
until you see a post office that is painted blue; our house is two doors further, above the tide. At spring
tides the last plank is under water for an hour, and the tall boots in the basket are meant for that.""",
    """\
North exit of the station, over the bridge from which children watch trains, then straight on between the
temples. At the stone lion turn left into a lane without a name. The former candle shop has a white
curtain; the stairs are behind its left half. Mind your head at the top, as everybody is told and nobody
does.""",
    """\
From the bridge take the path beside the water to the clock without hands. The lane climbs to the right.
Ours is the black door below street level, eight steps down, with rosemary on both sides. The number is
painted and not screwed on, for reasons that the council could explain better than we.""",
    """\
Ask the driver for the top of the steps and not for the street: the street is on the other side of the
wall. Go down seventeen steps past the yellow house and the pink house. Cobalt blue is us. When the wind
blows, hold the screen door with one hand and the inner door with the other, or lose both.""",
    """\
Enter the gateway with the carved violin and cross the first yard. The staircase is in the second one,
behind the chestnut tree. There are eighty-one steps; on the third landing stands a chair for whoever needs
it. The last flight is made of wood, creaks, and serves as our alarm system.""",
)

CLEANERS = (
    "Fátima", "พี่นก (Phi Nok)", "北島さん (Kitajima-san)", "Ibu Wayan", "Dolores", "Maryvonne",
    "Doña Chela", "ป้าแอ๊ด (Pa Aet)", "大沢さん (Osawa-san)", "Morag", "Zubeida", "Pani Halina",
)  # fmt: skip

COLLECTIONS = (
    "paper on Monday, glass never (container at the fountain), the rest every evening but Saturday",
    "everything on Tuesday and Friday before six, glass in the basket by the gate",
    "burnable on Monday and Thursday, plastic on Tuesday, bottles every second Wednesday",
    "the staff take it along in the morning, sorted by wet and dry",
    "bear-proof box at the road, emptied on Wednesday; keep the latch closed, the bears can read",
    "yellow lid on Tuesday and Friday, grey lid each day, glass at the market",
    "Monday, Wednesday and Saturday from the hook at the gate, out of reach of dogs",
    "Tuesday and Friday by cart, at the blue post office, before seven",
    "burnable on Tuesday and Saturday, plastic on Friday, cans every second Monday",
    "communal containers at the corner, food in the small brown box",
    "blue bin on Thursday, wheeled down and brought up again before dark, or the wind takes it",
    "five colours in the second yard, collected on Wednesday; violin strings count as metal",
)

# Six of these go to each home, none of them twice.
PECULIARITIES = lines("""
The light in the hall has two switches that disagree; whoever touched one last is right.
The blue cup belongs to the neighbour. She comes for it on Sundays and stays for a quarter of an hour.
The kitchen window opens outwards: look for passers-by before you push.
A brass tap in the yard gives rain water from the cistern, fine for plants and feet only.
The clock on the landing is eleven minutes fast and has been so for forty years.
The loose tile next to the bath is loose because the valve is below it.
On the roof there is a second chair behind the chimney, for those who find it.
The wardrobe in the small room can only be opened while the door is shut.
The dial of the toaster was mounted upside down: one is dark, six is pale.
Two keys look alike. The one with the nick is for the cellar, which holds nothing but a boiler.
In strong east wind the letter box whistles. A folded postcard cures it.
The upper bunk has its own window, and the child who sleeps there sees the sun first.
Pull the flush handle up and not down. A small drawing on the wall says the same.
The dining table can be made longer with a board that stands behind the curtain.
The bench by the door opens and holds boots, games and a box of candles.
Small birds enter by the top window in spring, so leave it ajar or keep it shut for good.
The piano is tuned twice a year and stays in tune if nobody puts a vase on it.
The shower needs seven seconds before it gets warm, and thirty on the first morning.
Behind the mirror is a shelf with plasters, thread, buttons and a spare pair of glasses.
The knob of the middle drawer comes off; it screws back on with two turns.
The fourth plank of the terrace gives way a little under two people, and not at all under one.
The doorbell rings in the house next door as well, an arrangement from times of a shared cook.
The green lamp flickers before rain, and we do not know why either.
The garden hose has a leak that waters the mint, and is not to be repaired.
The lid of the cistern carries children but not adults.
The lowest shelf of the oven is bent and fits only with its curve upwards.
The gate sticks after a week of rain: lift, then push, then thank it.
The desk drawer locks itself in dry weather. The key is taped below the seat of the chair.
A map of the quarter from 1923 hangs in the corridor; two of its streets still lead to where it says.
The dehumidifier asks for its tank with three beeps, mostly at breakfast.
Do not hang anything on the iron hook in the beam. It holds the beam.
The socket beside the bath is for razors and sulks when it meets a hair dryer.
From the second step of the ladder one can reach the fruit, from the fourth one falls.
The radio finds a single station, and it is a good one.
The cat flap belongs to a cat that moved away. Cats of the quarter have not been told.
The smaller frying pan is older than all of us and is washed with water alone.
The stained glass in the stairwell throws a red spot on the wall at half past four in October.
The hatch in the floor is nailed shut. There is only sand underneath, we looked.
One of the twelve chairs is lower than its sisters and is fought over by the children.
The curtain rail in the study comes down if pulled. Slide, please.
On windy nights close the flap of the kitchen hood with the chain on its left.
The tall vase hides the switch for the pump of the fountain.
The latch of the shutter in the north room has to be turned twice; the second turn is the one that holds.
The copper kettle whistles in two notes: when you hear the second one, it is empty.
The cellar stairs have a light that goes off after a minute, so take the lantern for anything longer.
A drawer in the sideboard is full of foreign coins. Add one, take one.
The washing machine walks when it spins. The rubber mat keeps it in its room.
Rain on the tin roof is louder than one expects and, after ten minutes, the best sound in the world.
The bookshelf in the bedroom leans. It has been screwed to the wall in that position.
If you hear steps above you at six, that is the marten.
There is a nail on the terrace for the hat of the first owner; please leave it free.
The ice maker groans like a ghost between two and three at night and can be switched off at its side.
The hammock hook on the left was replaced, the one on the right is from a ship.
Bread keeps longest in the clay pot on the floor, with its lid a finger wide open.
An owl lives in the ruin opposite and begins at eleven.
Chalk is provided for the slate beside the stove: leave a line for those who come after you.
A lever under the sink diverts warm water into the foot bath, a luxury from 1911.
The keys of the bicycles hang on the antlers.
The glass door closes by itself, quietly and without mercy for full trays.
The wine rack is decoration, with the exception of the lowest row.
The lower path floods after heavy rain; the upper one takes three minutes longer.
The parasol has to be closed at sunset, because the evening wind arrives punctually.
The big pan does not fit into the machine unless the upper basket is lifted out.
The narrow bed is the most comfortable one, as everyone discovers on the last night.
The old telephone works inside the house: turn the crank, somebody in the kitchen will answer.
The lamp at the gate is controlled from the bedroom, so that one can see who comes so late.
A spare fuse for the doorbell lies in the sugar bowl that has no sugar.
The lemon tree in the pot wants a litre of water every other day, and no compliments.
The window seat is hinged. Blankets, a kite, and a chess set with eleven pawns live inside.
The attic door has no handle on the inside: put the wedge under it.
The stone basin at the entrance is for washing hands and watering dogs, in this order.
Every bell that you hear at seven, noon and seven is the same bell.
""")

# Three for each home, in the order of `homes.HOMES`.
TIPS = lines("""
For breakfast go down to the corner with the blue chairs and order what the dockers have.
The best view is not from the castle, which everybody climbs, but from the steps behind the school.
The late bakery sells what is left after eight for half its price, custard tarts included.
The noodle place by the bridge has no sign. Follow the steam.
Ask at the temple gate whether visitors are welcome at the morning chant; they usually are.
The night market moves into the school yard in the rainy season, with the same grandmother and the same soup.
The weaver at the corner shows her loom to anybody who bows first and photographs last.
The bath house opens at three; go before five, when the water is hottest and the men from the depot arrive.
The garden behind the hospital is open to everyone and has the largest camellias of the quarter.
Walk the ridge between the rivers before seven, when only dogs and schoolchildren are on it.
The wood carver at the banyan sells spoons by weight and owls by mood.
The bus to the waterfalls is the one with flowers on the dashboard.
The ridge trail starts behind the fire tower and needs proper shoes after rain.
At the general store the pie is sold out by noon, and the news by nine.
On clear Fridays the college opens the dome of its observatory and lends blankets.
The cheese stall at the far end of the market lets you taste everything except the blue one.
The little cinema shows films in their original language on Mondays, in a hall for forty.
For a picnic buy the bread first, then the tomatoes, and the wine in the shop without a window.
Cyclists take the road past the old quarry, where there is shade until eleven.
The second cenote is better than the first, and the third belongs to the bats after five.
Try the soup on Wednesdays. On other days it is a different soup.
Rent a boat only from the man with the straw hat: his engines start.
Fresh fish comes to the pier at five in the afternoon, and by six there is none.
The ferry pilot lets children blow the horn when it is not foggy.
The umbrella maker will also sharpen your knife, or ours.
The library has desks, silence and fast internet, and asks only for a name.
In the cemetery on the hill stand the oldest cherry trees, and nobody minds a quiet lunch below them.
A walk along the water to the harbour takes two hours and ends at a bus stop, so one need not walk back.
On the first Sunday of the month the gallery opens an hour earlier, for those who like it empty.
The bookbinder in the basement repairs whatever the children have done to the atlas.
The spice shop grinds while you wait and tells the history of the street meanwhile.
Book the cable car only on the morning itself, once you have seen the mountain without its tablecloth.
The barber on the steps speaks six languages and is discreet in all of them.
The antique dealer in the second yard does not bargain, but adds a spoon for nothing.
A choir rehearses two streets further on Tuesdays, with its windows open from May on.
At the end of the tram line there is an inn where they still count with chalk on the table.
""")

THINGS = (
    "torch", "first-aid box", "fuse box", "main water tap", "iron", "vacuum cleaner", "spare bulbs",
    "sewing kit", "baby bath", "beach bag", "ladder", "extension lead", "corkscrew", "board games",
    "cat's brush", "spare blankets", "clothes rack", "fire blanket", "picnic basket", "guest book",
)  # fmt: skip

PLACES = (
    "in the bench by the door", "behind the coats, at eye level", "under the stairs, left",
    "in the chest at the landing", "on the top shelf of the pantry", "below the kitchen sink",
    "in the blue cupboard, second drawer", "beside the washing machine",
    "in the niche next to the stove", "behind the bathroom door", "under the daybed",
    "on the hook inside the cellar door", "in the sideboard, right half", "next to the router",
    "in the basket on the wardrobe", "outside, in the box with the brass lid",
)  # fmt: skip
