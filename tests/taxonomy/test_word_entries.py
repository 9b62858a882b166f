"""Words that WordNet lacks: where each belongs, and words that are easily taken for something else."""

from __future__ import annotations

import pytest

from incrowd.taxonomy.sources.wordnet import lexicon
from incrowd.taxonomy.words import KINDS, name_words, why_unknown
from incrowd.taxonomy.words.entries import FULL_NAME, RARE_NAME
from incrowd.taxonomy.words.numbers import CODE, LONG_NUMBER
from incrowd.taxonomy.words.people import other_words

FORTY = {
    # word: kind, what is published, the node that it hangs under
    "bbc.co.uk": ("site", "bbc.co.uk", "site from the united kingdom"),
    "http://www.hotels.com/paris?x=1": ("site", "hotels.com", "site about travel"),
    "whitehouse.gov": ("site", "whitehouse.gov", "site of a government"),
    "www.stanford.edu": ("site", "stanford.edu", "site of a school"),
    "geocities.com": ("site", "geocities.com", "commercial site"),
    "1998": ("year", "1998", "years 1990 to 1999"),
    "1690s": ("year", "1690s", "years 1690 to 1699"),
    "$20": ("price", "$20", "monetary value"),
    "42": ("number", "42", "integer"),
    "23rd": ("number", "23rd", "ordinal number"),
    "mp3": ("code", "mp3", CODE),
    "f150": ("code", "f150", CODE),
    "restaurant's": ("form", "restaurant", "restaurant"),
    "web-site": ("form", "website", "web site"),
    "u.s": ("form", "us", "united states"),
    "honda's": ("form", "honda", "trade name"),
    "hondas": ("form", "honda", "trade name"),
    "dont": ("function word", "dont", "function word"),
    "avec": ("function word", "avec", "function word"),
    "kmart": ("brand", "kmart", "department store"),
    "starbucks": ("brand", "starbucks", "cafe"),
    "wendy's": ("brand", "wendys", "restaurant"),
    "microsoft": ("brand", "microsoft", "trade name"),
    "margaret": ("given name", "margaret", "given name of women"),
    "kenneth": ("given name", "kenneth", "given name of men"),
    "ukiah": ("place", "ukiah", "town in california"),
    "maastricht": ("place", "maastricht", "town in the netherlands"),
    "northridge": ("place", "northridge", "town in the united states"),
    "walsh": ("surname", "walsh", "surname"),
    "o'neal": ("surname", "oneal", "surname"),
    "weatherreport": ("compound", "weatherreport", "report"),
    "musicvideo": ("compound", "musicvideo", "video"),
    "hotel-reservation": ("compound", "hotel-reservation", "reservation"),
    "resturant": ("misspelling", "restaurant", "restaurant"),
    "苹果": ("chinese noun", "苹果", "apple"),
    "resturants": ("misspelling", "restaurant", "restaurant"),
    "educational": ("derived", "educational", "education (sense 3)"),
    "tcl": ("shape", "tcl", "initials"),
    "москва": ("shape", "москва", "cyrillic word"),
    "東京": ("shape", "東京", "chinese or japanese word"),
}

# Nouns of WordNet stay where WordNet has them, whatever else they may be.
NOUNS = [
    "paris",
    "jordan",
    "turkey",
    "may",
    "apple",
    "chat",
    "o'brien",
    "ford",
    "yahoo",
    "springfield",
    "manger",
]

TRAPS = {
    "90210": ("private number", "zip code"),
    "90210-1234": ("private number", "zip code"),
    "sw1a1aa": ("private number", "zip code"),
    "555-1234": ("private number", "phone number"),
    "5551234": ("private number", "phone number"),
    "(555)123-4567": ("private number", "phone number"),
    "1-800-flowers": ("private number", "phone number"),
    "+442079460000": ("private number", "phone number"),
    "123-45-6789": ("private number", "identification number"),
    "4111111111111111": ("private number", "identification number"),
    "192.168.0.1": ("private number", "identification number"),
    "10/12/1974": ("private number", "date"),
    "1974-10-12": ("private number", "date"),
    "4512": ("number", LONG_NUMBER),
    "$1,234,567": ("price", "monetary value"),
    "dragon1977": ("code", CODE),
    "1hgcm82633a004352": ("private number", "identification number"),
    "jane@example.org": ("e-mail address", "e-mail address"),
    "johnsmith": ("full name", FULL_NAME),
    "john.smith": ("full name", FULL_NAME),
    "mary_jones": ("full name", FULL_NAME),
    "john-q-smith": ("full name", FULL_NAME),
    "johnsmith's": ("full name", FULL_NAME),
    "walsh-montoya": ("full name", FULL_NAME),
    "www.johnsmith.com": ("site", "personal site"),
    "john-smith.org": ("site", "personal site"),
    "5551234.com": ("site", "commercial site"),
    "tregoning": ("rare surname", RARE_NAME),
    "may-day": ("form", "mayday"),
    "contect": None,  # content, context, connect
    "mising": None,  # too short for a repair
    "what.is": None,
    "boulder.co": None,
    "carpark": None,  # a part of three letters
    "lionking": None,  # rather a name than a king
    "boxscores": None,
    "a-men": None,  # not amen
    "starfleet": ("full name", "possible name"),  # two common nouns that are names too
    "young's": ("given name", "young's"),  # more often a name than offspring
    "ceolas": None,  # given names have no plurals
    "portishead": None,  # a small town; more often something else
    "baxter": ("surname", "baxter"),  # a small town and a surname
    "http://38.21.11.25/x": ("site", "web site"),
    "mary q. walsh": ("full name", FULL_NAME),  # as one item; as two words of a query they are two items
    "will smith movies": None,  # other texts of several words are no word
    "smith&wesson": None,  # two surnames with another sign than a hyphen are rather a firm
    "x-files": None,
    "zzyzxqqq": None,
}

# Verbs, adjectives and adverbs of WordNet, and forms of them: none is a typing error, a shop, a name or initials.
OTHERS = {
    "eastern": None,  # not easter
    "certainly": None,
    "closest": None,
    "supplied": None,  # not supplier
    "launched": None,  # not launcher
    "thanking": None,  # not thinking
    "amiss": None,
    "got": None,
    "ne'er": None,
    "day-to-day": None,
    "half-price": None,
    "back-to-back": None,
    "double-chinned": None,
    "award-winning": None,
    "button-down": None,
    "cross-country": "cross country",
    "co-author": "coauthor",
    "10th": "ordinal number",
}


def entry(word):
    (found,) = name_words([word])
    return found


@pytest.mark.parametrize("word", FORTY)
def test_forty_words_of_all_kinds_are_where_they_belong(word):
    assert entry(word)[:3] == FORTY[word]


def test_the_forty_are_forty_and_of_all_kinds_that_have_a_telling_parent():
    only = {"e-mail address", "private number", "full name", "rare surname"}
    assert len(FORTY) == 40
    assert {kind for kind, *_ in FORTY.values()} == set(KINDS) - only
    assert len(NOUNS) + len(TRAPS) >= 40


@pytest.mark.parametrize("word", NOUNS)
def test_a_noun_of_wordnet_is_nothing_else(word):
    assert lexicon().lemma_of(word) is not None
    assert entry(word) is None


@pytest.mark.parametrize("word", TRAPS)
def test_traps(word):
    found = entry(word)
    assert (found and (found.kind, found.item)) == TRAPS[word]


@pytest.mark.parametrize("word", OTHERS)
def test_a_word_that_wordnet_has_is_no_other_word(word):
    found = entry(word)
    assert (found and found.parent) == OTHERS[word]


def test_no_word_of_wordnet_is_repaired_or_hidden_as_a_name():
    words = [word for word in other_words() if word.startswith(("co", "de"))]
    kinds = {found.kind for found in name_words(words) if found is not None}
    assert len(words) > 1_000
    assert kinds <= {"derived", "form", "number"}


@pytest.mark.parametrize("word", [*FORTY, *TRAPS, *OTHERS])
def test_what_is_published_is_published_as_itself(word):
    """Items that were renamed once are not renamed again: reading a log and attaching its items both do it."""
    found = entry(word)
    if found is not None:
        again = entry(found.item)
        assert again is None or again.item == found.item


def test_many_words_at_once_are_named_as_one_by_one():
    words = [*FORTY, *TRAPS, *NOUNS]
    assert name_words(words) == [entry(word) for word in words]


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("contect", "7 known words are one typing error away ('confect', 'connect', 'contact',"),
        ("mising", "nothing is known of it"),
        ("zzyzxqqq", "nothing is known of it"),
        ("quickly", "WordNet has it as a verb, an adjective or an adverb"),
        ("walgrens", "the only known word that is one typing error away, 'walgreens', is no common noun"),
        ("will smith movies", "words of a query are items of their own"),
    ],
)
def test_why_a_word_stays_unknown(word, says):
    assert entry(word) is None
    assert why_unknown(word).startswith(says)


@pytest.mark.parametrize(
    ("word", "parent"),
    [
        ("bleed", "bleeding"),  # not hemophiliac
        ("educated", "education"),  # not student
        ("attends", "attendance"),
        ("create", None),  # of its nouns one is a person, and one an animal
        ("borrow", None),
        ("cowardly", "cowardice"),
        ("papal", "pope"),  # an adjective may be about a person
        ("bates", "surname"),  # listed, and no form of "bate"
        ("clements", "surname"),
    ],
)
def test_a_verb_is_what_is_done_and_not_who_does_it(word, parent):
    found = entry(word)
    assert (found and found.parent) == parent
