"""The everyday plots: something is lost, given, shared, heard, eaten, planted.

They teach the names, the pronouns and the turns of a story; `games.py` holds the plots that
teach looking back.
"""

from core.model.training import words
from core.model.training.telling import DAY, Telling, ending, opening
from core.model.training.template import capitalise, in_words, with_article


def lost_and_found(telling: Telling) -> str:
    """The hero loses a thing and a friend finds it."""
    hero, friend, thing = telling.meet(), telling.meet(), telling.find_thing()
    place = telling.chooser.pick_zipf(words.PLACES)
    first, second = telling.chooser.sample_zipf(words.HIDING_PLACES, 2)
    return (
        opening(telling, hero)
        + telling.write(
            " {hero} [had {thing.a}|loved {hero.his} {thing}]."
            " [It was a gift from {hero.his} {RELATIVE}."
            "|{hero.He} took the {thing.noun} everywhere."
            "|{hero.He} played with the {thing.noun} every day.] "
            + DAY
            + ", {hero} went to the {place} and lost the {thing.noun}. {hero.He} was very {SAD}."
            " {hero.He} looked {first}. The {thing.noun} was not there."
            " [Then {friend} the {friend.species} came by.|Then {hero} saw {friend}."
            "|Soon {friend} came to the {place}.]"
            ' "[What is wrong?|Why are you crying?|Can I help you?]" [asked|said] {friend}.'
            ' "I lost my {thing}," said {hero}.'
            " [They looked for the {thing.noun} together."
            "|{friend} helped {hero} look for the {thing.noun}.]"
            " [{friend} found the {thing} {second}.|At last they found the {thing} {second}.]"
            ' "Thank you, {friend}!" said {hero}. ',
            hero=hero,
            friend=friend,
            thing=thing,
            place=place,
            first=first,
            second=second,
        )
        + ending(telling, hero, friend)
    )


def gift(telling: Telling) -> str:
    """A friend brings a surprise."""
    hero, friend, thing = telling.meet(), telling.meet(), telling.find_thing()
    return (
        opening(telling, hero)
        + telling.write(
            " [It was {hero.his} birthday.|" + DAY + ", {hero} went to the {PLACE}.]"
            " {hero.His} friend {friend} [came with a box|came to visit|had a surprise]."
            ' "{hero}, I have something for you," said {friend}.'
            ' ["What is it?" asked {hero}.|{hero} opened the box.]'
            " [It was {thing.a}!|{friend} gave {hero} {thing.a}.]"
            ' ["What {thing.a}!" said {hero}.'
            '|"Thank you, {friend}! I love the {thing}," said {hero}.] '
            "[|{hero} put the {thing.noun}"
            " [on the shelf|next to the bed|in a safe place|on the table]. ]",
            hero=hero,
            friend=friend,
            thing=thing,
        )
        + ending(telling, hero, friend)
    )


def taking_turns(telling: Telling) -> str:
    """Two children want the same thing and learn to take turns."""
    hero, friend = telling.meet("child"), telling.meet("child")
    return telling.write(
        "{hero} and {friend} went to the {PLACE}. They saw {thing.a}."
        ' "It is my {thing.noun}!" said {hero}. "No, it is my {thing.noun}!" said {friend}.'
        " {hero} was {SAD} and {friend} was {SAD}. Then {third} the {third.species} came."
        ' "You can take turns," said {third}. "First {hero}, then {friend}."'
        " So {hero} played with the {thing.noun} first."
        " Then {friend} played with the {thing.noun}. ",
        hero=hero,
        friend=friend,
        third=telling.meet(),
        thing=telling.find_thing(),
    ) + ending(telling, hero, friend)


def walk_together(telling: Telling) -> str:
    """On the way more and more animals come along."""
    chooser = telling.chooser
    hero, place = telling.meet(), chooser.pick_zipf(words.PLACES)
    others = [animal for animal in words.ANIMALS if animal != hero.species]
    animals = chooser.sample(others, chooser.number(2, 3))
    meets = chooser.pick(["On the way, {group} met", "Soon {group} met", "Then {group} saw"])
    story = opening(telling, hero) + telling.write(
        " " + DAY + ", {hero} walked to the {place} [to find {a OBJECT}"
        "|to see the [moon|king|queen|snow|stars|big ship]"
        "|to buy some [bread|milk|honey|flowers]].",
        hero=hero,
        place=place,
    )
    group = [hero.name]
    for animal in animals:
        story += telling.write(
            " " + meets + ' {an_animal}. "Where are you going?" asked the {animal}.'
            ' "{we} going to the {place}," said {hero}. "May I come too?" asked the {animal}.'
            ' "Yes," said {hero}.',
            group=in_words(group),
            an_animal=with_article(animal),
            animal=animal,
            we="I am" if len(group) == 1 else "We are",
            hero=hero,
            place=place,
        )
        group.append(f"the {animal}")
    return f"{story} So {in_words(group)} went to the {place} together. " + ending(telling, hero)


def pull_together(telling: Telling) -> str:
    """Something is stuck until enough friends pull."""
    chooser = telling.chooser
    hero = telling.meet()
    thing = chooser.pick(words.HEAVY_THINGS)
    group = [hero.name]
    story = opening(telling, hero) + telling.write(
        " {hero} found a very big {thing} near the {PLACE}."
        " {hero.He} pulled and pulled, but the {thing} did not move.",
        hero=hero,
        thing=thing,
    )
    for _ in range(chooser.number(1, 3)):
        friend = telling.meet()
        group.append(friend.name)
        story += f" {hero} called {friend}. {friend} came to help."
        story += f" {in_words(group)} pulled and pulled."
    return story + telling.write(
        ' ["One, two, three, pull!" said {hero}.|"Pull again!" said {last}.]'
        " Pop! The {thing} came out."
        " [They were all {GLAD}.|Everyone cheered.|Then they all had a good supper.]",
        hero=hero,
        last=group[-1],
        thing=thing,
    )


def noise_at_night(telling: Telling) -> str:
    """The hero hears a noise, and it is only an animal."""
    chooser = telling.chooser
    hero = telling.meet()
    animal, sound = chooser.pick_zipf(words.ANIMALS), chooser.pick_zipf(words.SOUNDS)
    return (
        opening(telling, hero)
        + telling.write(
            " [One night|Late at night|One dark evening], {hero} heard a noise. {Sound}, {sound}!"
            " {hero.He} was [scared|afraid|worried]."
            ' ["What is that?" said {hero}.|"Who is there?" asked {hero}.] {Sound}, {sound}!'
            " It came again. {hero} took a lamp and looked {HIDING_PLACE}."
            " [It was only {an_animal}!|There was a little {animal}!]"
            ' "[I am sorry|I am cold|I am lost|I only want to play|I am hungry],"'
            " said the {animal}. {hero} [laughed and let the {animal} come in."
            "|gave the {animal} some [milk|bread|soup].|was not afraid anymore.] ",
            hero=hero,
            animal=animal,
            an_animal=with_article(animal),
            sound=sound,
            Sound=capitalise(sound),
        )
        + ending(telling, hero)
    )


def sharing_food(telling: Telling) -> str:
    """The hero has some food and gives one away."""
    hero, friend = telling.meet(), telling.meet()
    food = telling.chooser.pick_zipf(words.FOODS)
    count = telling.chooser.number(2, 9)
    return (
        opening(telling, hero)
        + telling.write(
            " " + DAY + ", {hero} had {count} {food}s."
            ' {friend} was [hungry|tired|cold] and {SAD}. "May I have {a_food}?" asked {friend}.'
            ' "Yes, {friend}," said {hero}. "Here is {a_food} for you."'
            " [|Now {hero} had {one_less} [{food}s |]left. ]"
            "[The {food} was sweet.|{friend} ate the {food} and smiled."
            '|"This is the best {food}," said {friend}.] ',
            hero=hero,
            friend=friend,
            food=food,
            a_food=with_article(food),
            count=words.NUMBERS[count],
            one_less=words.NUMBERS[count - 1],
        )
        + ending(telling, hero, friend)
    )


def race(telling: Telling) -> str:
    """Two run a race, one falls and the other helps."""
    hero, friend = telling.meet(), telling.meet()
    winner, loser = (hero, friend) if telling.chooser.chance(0.5) else (friend, hero)
    return telling.write(
        "{hero} the {hero.species} and {friend} the {friend.species} ran a race to the {PLACE}."
        " {hero} was fast, but {friend} was [slow|faster|careful|very small]."
        ' {loser} fell down. "Ouch!" said {loser}. {winner} stopped and helped {loser.him}.'
        ' "Thank you, {winner}," said {loser}. "You are a good friend."'
        " [{hero} and {friend} finished the race together."
        "|{winner} won the race, and {loser} clapped.] ",
        hero=hero,
        friend=friend,
        winner=winner,
        loser=loser,
    ) + ending(telling, hero, friend)


def slow_plant(telling: Telling) -> str:
    """A plant needs its days."""
    hero = telling.meet()
    return (
        opening(telling, hero)
        + telling.write(
            " {hero.His} {RELATIVE} gave {hero.him} a {plant}."
            " {hero} put the {plant} in the [garden|ground|soft earth]."
            " {hero.He} gave it water every day. {hero} waited {days} days."
            " [Nothing happened.|It did not grow.]"
            ' "[Please grow|Wake up], little {plant}," said {hero}.'
            " [The rain came.|The sun came out.] After {days} days, the {plant} began to grow."
            " It was [big|tall] and {COLOR}. ",
            hero=hero,
            plant=telling.chooser.pick_zipf(words.PLANTS),
            days=telling.chooser.pick(words.NUMBERS[1:7]),
        )
        + ending(telling, hero)
    )


def up_in_a_tree(telling: Telling) -> str:
    """The wind takes a thing into a tree and a friend climbs."""
    hero, friend = telling.meet(), telling.meet()
    return (
        opening(telling, hero)
        + telling.write(
            " The wind took {hero.his} {thing} into a tall tree."
            ' {hero} jumped, but {hero.he} was too small. "I can climb," said {friend}.'
            ' {friend} climbed the tree. "Do you see the {thing.noun}?" asked {hero}.'
            ' "Yes, I see the {thing}," said {friend}.'
            " {friend} [threw|gave] the {thing.noun} [down to|to] {hero}."
            ' "You are so {TRAIT}, {friend}!" said {hero}. ',
            hero=hero,
            friend=friend,
            thing=telling.find_thing(),
        )
        + ending(telling, hero, friend)
    )


def day_inside(telling: Telling) -> str:
    """The weather is bad and two make something instead."""
    hero, friend = telling.meet(), telling.meet()
    return telling.write(
        "It was a {WEATHER} day. {hero} and {friend} could not go to the {PLACE}."
        ' {hero} was {SAD}. "I know what we can do," said {friend}.'
        ' "We can [make|draw|paint] {thing.a}." [They worked all day.|It was hard work.]'
        ' At last the {thing.noun} was ready. "It is the best {thing.noun} of all," said {hero}. ',
        hero=hero,
        friend=friend,
        thing=telling.find_thing(),
    ) + ending(telling, hero, friend)
