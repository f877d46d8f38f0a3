"""The word lists of the story grammar, most frequent word first.

The order matters: the chooser draws from these lists with Zipf weights, so the first words are
common and the last ones rare, as in natural text.  All text here was written for this project.
"""

GIRLS = tuple(
    "Mia Lily Anna Emma Zoe Lucy Nora Ruby Ella Ivy "
    "Rosa Sara Amy Jane Kate Dora Alma Tina Wendy Hana".split()
)
BOYS = tuple(
    "Tom Ben Sam Max Leo Jack Finn Noah Tim Oscar "
    "Hugo Adam Paul Nick Omar Luke Rob Dan Peter Karl".split()
)
ANIMALS = tuple(
    "fox rabbit bear mouse duck frog cat dog owl pig "
    "goat hen turtle squirrel lamb pony goose bee hedgehog donkey".split()
)
PLACES = tuple(
    "park garden forest beach farm market river school "
    "barn lake library meadow village castle mill bridge".split()
)
OBJECTS = tuple(
    "ball kite book hat cup box drum boat bell key lamp doll "
    "map coin shell stone scarf basket flute spoon ring pillow whistle bucket".split()
)
COLORS = tuple("red blue green yellow white black pink brown orange purple golden silver".split())
LOOKS = tuple("big small shiny old new soft round pretty tiny heavy".split())
FOODS = tuple("apple cake pie pear cookie carrot plum bun muffin pancake".split())
HIDING_PLACES = (
    "under the bed",
    "behind the door",
    "in the grass",
    "under a tree",
    "behind a big rock",
    "in the box",
    "under the table",
    "near the gate",
    "in the mud",
    "on the roof",
    "next to the well",
    "inside the barn",
)
TRAITS = tuple("kind brave clever gentle funny quiet curious cheerful shy careful".split())
GLAD = tuple("happy glad proud excited joyful".split())
SAD = tuple("sad worried upset scared lonely angry".split())
SOUNDS = tuple("boom bang splash crash knock thump pop whoosh creak hoot".split())
WEATHERS = tuple("sunny rainy windy snowy cloudy warm cold foggy".split())
HOBBIES = tuple("sing dance draw run swim read climb paint cook count".split())
RELATIVES = tuple("mother father grandma grandpa aunt uncle".split())
NUMBERS = tuple("one two three four five six seven eight nine ten".split())
PLANTS = tuple("seed flower bean rose pumpkin sunflower".split())
HEAVY_THINGS = tuple("carrot pumpkin turnip log stone cart rope".split())
THINGS_THAT_OPEN = tuple("gate door cave tower wall".split())

# Invented words are made of consonant-vowel syllables, so a model cannot know them, only copy them.
CONSONANTS = tuple("bdfghjklmnprstvwz")
VOWELS = tuple("aeiou")

# The lists a template may name in braces, such as {COLOR}.
LISTS = {
    "ANIMAL": ANIMALS,
    "COLOR": COLORS,
    "FOOD": FOODS,
    "GLAD": GLAD,
    "HIDING_PLACE": HIDING_PLACES,
    "HOBBY": HOBBIES,
    "NUMBER": NUMBERS,
    "OBJECT": OBJECTS,
    "PLACE": PLACES,
    "PLANT": PLANTS,
    "RELATIVE": RELATIVES,
    "SAD": SAD,
    "SOUND": SOUNDS,
    "TRAIT": TRAITS,
    "WEATHER": WEATHERS,
}

# Every single word that may be said in the copy game.
ALL_WORDS = tuple(sorted({word for words in LISTS.values() for word in words if " " not in word}))
