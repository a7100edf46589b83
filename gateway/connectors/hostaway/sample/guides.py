"""Two short documents: a check-in guide and a cleaning checklist."""

CHECK_IN_GUIDE = """\
# Check-in guide

Thank you for booking with us! 🎉 Five minutes with this page will spare you half an hour at the door.

## Before you travel

1. Tell us your hour of arrival three days ahead, even if it is only a guess.
2. Fill in the registration of guests; in Portugal, Japan and Thailand the law asks for it.
3. Save the map of the last two hundred metres. Navigation gives up in three of our lanes.

## On the day

| when | what happens |
|---|---|
| 09:00 | bags may be left in the hall |
| 10:00 | you receive the code of the door and the name of the network |
| 15:00 | the house is yours |
| 22:00 | quiet hours begin (in Kyoto and Chiang Mai at 21:00) |

Type the code, finish with the tick mark and **wait for the green light** before you press the handle. After
three wrong attempts the keypad rests for two minutes. It forgives everything.

## In the first quarter of an hour

- open the windows, look for the fuse box, find the extinguisher
- shoes off, please: slippers are in the basket
- read the sheet behind the door of the kitchen cupboard

## If something is wrong

- **Code refused:** check the date of your booking, then write to us. We answer within ten minutes until
  midnight.
- **No light:** push the breaker that hangs in the middle down, and then up.
- **No network:** unplug both boxes, count to thirty, plug in the white one first.
- **Not as clean as it should be:** send a photo before you unpack; somebody comes within two hours.

## In other languages

ไทย: รหัสประตูจะส่งให้ในเช้าวันเข้าพัก เวลาเช็คอิน 15.00 น.
日本語：ドアの暗証番号は当日の朝十時にお送りします。チェックインは十五時からです。
Español: el código de la puerta llega la mañana de la entrada; la casa es suya a partir de las 15:00.

Have a good journey, and bring an appetite. 🚪✨
"""

CLEANING_CHECKLIST = """\
CLEANING CHECKLIST FOR A TURNOVER Between check-out at 11:00 and check-in at 15:00. Two people, three hours;
the last hour belongs to the inspection. Work from the top floor down and from the far corner to the door.
Tick as you go, sign at the end.

BEFORE YOU BEGIN
[ ] Ring the bell twice, wait, ring again. People oversleep.
[ ] Open all windows. Photograph every room from its door, before anything is moved.
[ ] Collect what was forgotten, one bag per booking, with the number of the reservation and the date on it.
[ ] Look for damage: glasses, lamps, tiles, the seat of the chair by the window. Photograph, report, do not
    repair.
[ ] Start the first machine of towels. It decides when you will be done.

BEDROOMS
[ ] Strip the beds, look at the mattress and its cover. Stains are treated now and not tomorrow.
[ ] Shake the pillows outside. If a guest is allergic to feathers, take the synthetic ones from the upper
    cupboard.
[ ] Make the beds: sheet without folds, blanket with its label at the foot end, two pillows upright.
[ ] Dust from high to low: curtain rail, lamp, frame, shelf, sill, skirting board.
[ ] Empty the wardrobe except for hangers, lavender and the spare blanket. Look under the bed. Really look.
[ ] Test both reading lamps, and the sockets beside them with the small tester.

BATHROOMS
[ ] Descaler on the glass first; it needs ten minutes while you do the rest.
[ ] Toilet last, with the yellow cloth. The yellow cloth never leaves the room.
[ ] Take the hair from the drain and the sieve of the bath. Let hot water run for a minute and listen.
[ ] Refill soap, shampoo and conditioner to the line. Two rolls of paper on the holder, four in the cupboard.
[ ] Towels: one large, one small and one for the face per guest, folded in three. Bath mat on the edge.
[ ] Mirrors and taps dry and without streaks, seen from the side with the light on.

KITCHEN
[ ] Empty the dishwasher, then its sieve. Salt and rinse aid up to the mark.
[ ] Fridge: throw away what is open, keep what is sealed and dated, wipe the shelves with vinegar.
[ ] Oven and hob, including the knobs and the edge towards the wall.
[ ] Kettle and coffee machine descaled in odd weeks. The moka pot is washed with water alone.
[ ] Count cups, plates and knives against the card in the drawer. Below ten of a kind, write it down.
[ ] Sponge, cloth and tea towel new. Tins with a red dot filled: coffee, sugar, salt, oil.
[ ] Rubbish out, bins washed, a new bag in each of them. Check the calendar for the colour of the week.

LIVING ROOM AND HALL
[ ] Cushions beaten, blankets folded, remote controls wiped and in the tray.
[ ] Floors: first vacuum, then mop with little water. Wood does not like to drown.
[ ] Loudspeakers and television logged out of the accounts of the last guests.
[ ] Guest book open at a free page, pen tried out. Manual on the table.
[ ] Slippers washed and sorted by size. Umbrellas: four.

OUTSIDE
[ ] Table and chairs wiped, cushions dry, ashtray empty, grill brushed, coals in the metal bin.
[ ] Plants: finger into the soil. Water only those that are dry.
[ ] Pool: net, then water test at the deep end, values on the sheet. Above 7.6 call the technician.
[ ] Sweep the entrance and the first three metres of the lane. It is not our lane, but it is our guests' first
    view.

LAUNDRY AND STORES
[ ] Count linen in and linen out. What is torn becomes a cloth, what is stained goes into the blue bag.
[ ] Second machine of towels running before the floors are mopped, dryer sieve empty, drum left ajar.
[ ] Cupboard of supplies: soap, paper, salt, coffee, bulbs. Whatever is down to one goes on the list of the
    office.
[ ] Cot folded with its locks closed, high chair wiped, stair gate back in the box with the giraffe.

AFTER LONG STAYS (MORE THAN SEVEN NIGHTS)
[ ] Pull out the fridge and clean behind it. Defrost the freezer if the ice is thicker than a finger.
[ ] Wash the covers of the sofa cushions, turn the mattresses, air the wool blankets for an hour.
[ ] Filters of the air conditioning: out, rinse, dry, in. The little door is on the top.
[ ] Run the pump of the shower drain with a bucket of hot water and two spoons of soda.

BEFORE YOU LEAVE
[ ] Smoke detectors: press, listen, next. Extinguisher: needle in the green part.
[ ] Keys complete, keypad tried with the code of the cleaners. New guest code is active (the office confirms
    it).
[ ] Windows closed, heating to three below fifteen degrees, air conditioning off.
[ ] Water jug in the fridge, welcome card with the right name, fruit if it is summer.
[ ] One slow round without a cloth in your hand. Sit down on the sofa for a moment: what would you see as a
    guest?
[ ] Photographs of all rooms sent, hours written down, report closed.

Signed by: ______________________   Time: ________   Things for the office: ______________________________
"""
