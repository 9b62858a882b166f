"""What a word is that WordNet's nouns lack: its kind, what is published in its place, and the node that it hangs under.

The kinds are tried in one order, and the first that fits is taken: e-mail address, site, number, Chinese noun, full name, form of a noun of WordNet, word derived
from one, then the table's function words, brands, given names, towns and frequent surnames, rare surname, compound, misspelling, shape.
A verb, an adjective or an adverb of WordNet is a number, a form of a noun, derived from one, or nothing of these.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from incrowd.taxonomy.sources.wordnet import VERB_RULES, lexicon
from incrowd.taxonomy.words.chinese import chinese_noun
from incrowd.taxonomy.words.numbers import parse_identity, parse_number
from incrowd.taxonomy.words.people import (
    ends_like_a_surname,
    folded,
    holds_full_name,
    is_certain,
    is_full_name,
    is_other,
    is_rare_double,
    other_words,
    squeezed,
)
from incrowd.taxonomy.words.sites import parse_site
from incrowd.taxonomy.words.spelling import Spelling
from incrowd.taxonomy.words.table import word_table

__all__ = ["KINDS", "Entry", "name_words", "why_unknown"]

# What words of each kind are called together.
KINDS = {
    "e-mail address": "e-mail addresses (published as their kind only)",
    "site": "sites",
    "year": "years",
    "price": "prices",
    "number": "numbers",
    "code": "codes of letters and digits",
    "private number": "telephone-, postal- and identity-like numbers and dates (published as their kind only)",
    "chinese noun": "Chinese nouns",
    "full name": "full names (published as their kind only)",
    "form": "forms of other words",
    "derived": "verbs and adjectives with a noun",
    "function word": "function words",
    "brand": "brands",
    "given name": "given names",
    "place": "towns",
    "surname": "frequent surnames",
    "rare surname": "rare surnames (published as their kind only)",
    "compound": "compounds of two words",
    "misspelling": "misspellings",
    "shape": "initials, symbols and other scripts",
}
FULL_NAME, POSSIBLE_NAME, RARE_NAME = "full name", "possible name", "rare name"
EMAIL, PERSONAL_SITE, SITE = "e-mail address", "personal site", "web site"
# Second words of compounds: what is written as one word with one of these is of its kind; with most other words it is a name.
HEADS = frozenset(
    """
    airline album bag book card catalog child club college collection company contest course dealer directory doctor event exhibition festival film
    food furniture game group guide hotel insurance jewelry job lawyer league lesson lover magazine maker man market medicine money movie museum
    music newspaper office owner party photograph picture player poem police product program recipe report reservation restaurant sale
    school service shop show site software song sport stock store student supply teacher team theater ticket tour toy tournament
    training vacation video weather website wine woman worker writer
    """.split()  # noqa: SIM905
)
SHORTEST_PART = 4  # of a compound
LONGEST_COMPOUND = 60
SHORTEST_MISSPELLED = 7
SHORTEST_PLURAL = 5
MOST_INITIALS = 3
MOST_NEAR = 5  # known words that are named
MOST_DIGITS = 4  # in the name of a site that is published
SHORTEST_RARE_SURNAME = 4  # shorter ones are initials rather
DOTTED = frozenset(["us", "usa", "uk", "tv", "dc"])  # as u.s.; other short ones mean many things
_EMAIL = re.compile(r"\S+(?:@|%40|[(\[{<]at[)\]}>])\S+|\S+_at_[^\s._]+\.\S+")
_NUMBERED_SITE = re.compile(
    r"(?:[a-z]{3,5}://\d+(?:\.\d+){3}|\d+(?:\.\d+){3}(?=[:/]))(?:[:/?#].*)?", re.DOTALL
)
_WORD = re.compile("[a-z]+")
_INITIALS = re.compile(r"[a-z](?:[.&]?[a-z]){0,2}")
_SEPARATORS = re.compile("[._-]+")
_SCRIPTS = {
    "ARABIC": "arabic word", "CJK": "chinese or japanese word", "HIRAGANA": "chinese or japanese word",
    "KATAKANA": "chinese or japanese word", "CYRILLIC": "cyrillic word", "DEVANAGARI": "devanagari word",
    "GREEK": "greek word", "HANGUL": "hangul word", "HEBREW": "hebrew word", "THAI": "thai word",
}  # fmt: skip
_NAMES = frozenset(["brand", "surname"])  # kinds that have plurals


class Entry(NamedTuple):
    """What a word is.

    ``kind`` is one of `KINDS`. ``item`` is what is published in the word's place: the word itself, the word that it is a form or a
    misspelling of, or the label of a node, where nothing but its kind may be published. ``parent`` is the label of the node that
    the item hangs under (or is). ``why`` says in words how that was found.
    """

    kind: str
    item: str
    parent: str
    why: str


def name_words(words: Sequence[str]) -> list[Entry | None]:
    """Return what each word is; None for nouns of WordNet, words of which nothing is known, and texts of several words that are not private.

    Words are in small letters. Those that are no nouns, names or numbers are compared with all known words at once.
    """
    found = [_name(word) for word in words]
    unknown = {
        word
        for word, entry in zip(words, found, strict=True)
        if entry is None and lexicon().lemma_of(word) is None
    }
    lost = [word for word in words if word in unknown and _may_be_misspelled(word)]
    repaired = _repaired(lost) if lost else {}
    return [
        repaired.get(word) or _shape(word) if word in unknown else entry
        for word, entry in zip(words, found, strict=True)
    ]


def _name(word: str) -> Entry | None:
    """Return what a word is by all rules but those of misspelling and shape."""
    if not word or lexicon().lemma_of(word) is not None:
        return None
    if word in other_words():
        return next((entry for rule in _RULES_OF_OTHERS if (entry := rule(word)) is not None), None)
    if _WORD.fullmatch(word):  # most are
        return next((entry for rule in _RULES_OF_LETTERS if (entry := rule(word)) is not None), None)
    if (hidden := _hidden(word)) is not None or " " in word:
        return hidden
    return next((entry for rule in _RULES if (entry := rule(word)) is not None), None)


def _hidden(word: str) -> Entry | None:
    """Return what is private in a text of several words, or in a word with unusual characters once those are the usual ones."""
    plain = folded(word)
    if plain == word and " " not in word:
        return None
    rules = _RULES if " " not in word else (_email, _identity, _full_name)
    found = next((entry for rule in rules if (entry := rule(plain)) is not None), None)
    return found if found is not None and found.item == found.parent else None


def _identity(text: str) -> Entry | None:
    number = parse_identity(text)
    return None if number is None else Entry(*number)


def _email(word: str) -> Entry | None:
    return (
        Entry(EMAIL, EMAIL, EMAIL, "an e-mail address: published as its kind only")
        if any(map(_EMAIL.fullmatch, word.split(" ")))
        else None
    )


def _site(word: str) -> Entry | None:
    """Return a site; that of a person, or with a number in its name, is published as its kind only."""
    if _NUMBERED_SITE.fullmatch(word):
        return Entry("site", SITE, SITE, "the address of a site by its number: published as its kind only")
    site = parse_site(word, word_table().countries)
    if site is None:
        return None
    name = site.name
    if (is_full_name(name) and is_certain(name)) or _rare_surname(name):
        return Entry(
            "site", PERSONAL_SITE, PERSONAL_SITE, "a site with a person's name: published as its kind only"
        )
    many_digits = sum(c.isdigit() for c in name) > MOST_DIGITS
    if many_digits or parse_identity(name) or is_full_name(name) or holds_full_name(name):
        return Entry(
            "site",
            site.parent,
            site.parent,
            "a site with a number or a person in its name: published as its kind only",
        )
    return Entry("site", site.site, site.parent, "the address of a site")


def _number(word: str) -> Entry | None:
    number = parse_number(word)
    return None if number is None else Entry(*number)


def _chinese(word: str) -> Entry | None:
    noun = chinese_noun(word)
    return noun and Entry("chinese noun", word, *noun)


def _full_name(word: str) -> Entry | None:
    """Return a given name and a surname in one word, with or without something between them."""
    if not is_full_name(word):
        return None
    node = FULL_NAME if is_certain(word) else POSSIBLE_NAME
    return Entry(FULL_NAME, node, node, "a person's names in one word: published as its kind only")


def _form(word: str) -> Entry | None:
    """Return the possessive of a word, or a noun of WordNet that is written with other signs between its letters."""
    letters = squeezed(word)
    base = word.removesuffix("'s")
    if base != word and letters not in word_table().words:
        return _possessive(word, base)
    parts = _SEPARATORS.split(word)
    if len({len(part) == 1 for part in parts}) > 1:
        return None  # "a-men" is not "amen"
    for form in (letters, " ".join(parts)):
        too_short = len(form) <= MOST_INITIALS and form not in DOTTED
        if form != word and not too_short and (lemma := lexicon().lemma_of(form)) is not None:
            return Entry("form", lemma, _label_of(lemma), f"the noun '{lemma}' written in another way")
    return None


def _possessive(word: str, base: str) -> Entry | None:
    """Return what a possessive is of; that of a noun which is a name too is the name's (*young's*)."""
    lemma = lexicon().lemma_of(base)
    if lemma is None:
        entry = _name(base)
        return entry and entry._replace(kind="form", why=f"a possessive; {entry.why}")
    for kind, names, node in (
        ("given name", word_table().given_names, "first name"),
        ("surname", word_table().surnames, "surname"),
    ):
        if base in names:
            return Entry(kind, word, node, f"the possessive of a {kind}")
    return Entry("form", lemma, _label_of(lemma), f"the possessive of the noun '{lemma}'")


def _label_of(lemma: str) -> str:
    known = lexicon()
    node = known.node(lemma)
    assert node is not None  # noqa: S101 - it is a lemma
    return str(known.labels[node].as_py())


def _derived(word: str) -> Entry | None:
    """Return a verb or an adjective with a noun that WordNet derives from it; what only looks like a form of one and is listed is not (*bates*)."""
    nouns = word_table().noun_of
    if word not in nouns and word in word_table().words:
        return None
    bases = [
        word,
        *(word.removesuffix(ending) + instead for ending, instead in VERB_RULES if word.endswith(ending)),
    ]
    base = next((base for base in bases if base in nouns), None)
    if base is None:
        return None
    label = str(lexicon().labels[nouns[base]].as_py())
    return Entry("derived", word, label, f"a verb or an adjective; its noun is '{label}'")


def _listed(word: str) -> Entry | None:
    """Return a word of the table, or the plural of one."""
    words, letters = word_table().words, squeezed(word)
    if letters in words:
        kind, parent = words[letters]
        return Entry(kind, letters, parent, f"a {kind} that the table lists")
    one = letters.removesuffix("s")
    if len(letters) >= SHORTEST_PLURAL and one in words and one != letters and words[one].kind in _NAMES:
        return Entry(
            "form",
            one,
            words[one].parent,
            f"the plural of '{one}', a {words[one].kind} that the table lists",
        )
    return None


def _rare_surname(word: str) -> Entry | None:
    """Return a rare surname of the census, or what is written like one."""
    letters = squeezed(word)
    listed = len(letters) >= SHORTEST_RARE_SURNAME and letters in word_table().rare_surnames
    if listed:
        return Entry("rare surname", RARE_NAME, RARE_NAME, "a rare surname: published as its kind only")
    if ends_like_a_surname(letters) or is_rare_double(word):
        return Entry(
            "rare surname", RARE_NAME, RARE_NAME, "written like a rare name: published as its kind only"
        )
    return None


def _compound(word: str) -> Entry | None:
    """Return a word of two common words of four letters or more, if it can be cut in one way only: with a hyphen, or of a kind that compounds tell."""
    if len(word) > LONGEST_COMPOUND:
        return None
    parts = word.split("-")
    ends = range(SHORTEST_PART, len(word) - SHORTEST_PART + 1)
    cuts = [(word[:end], word[end:]) for end in ends] if len(parts) == 1 else []
    if len(parts) == 1 and not any(last in _head_forms() for _, last in cuts):
        return None
    if len(parts) == 2 and min(map(len, parts)) >= SHORTEST_PART:  # noqa: PLR2004
        cuts = [(parts[0], parts[1])]
    fitting = [(first, lemma) for first, last in cuts if (lemma := _common(last)) and _common(first)]
    if len(fitting) != 1:
        return None
    ((first, lemma),) = fitting
    if len(parts) == 1 and lemma not in HEADS:
        return None
    return Entry("compound", word, _label_of(lemma), f"the words '{first}' and '{lemma}' in one")


@cache
def _head_forms() -> frozenset[str]:
    """Return the heads of compounds, and what may be their plurals."""
    plurals = (
        f"{head.removesuffix(end)}{more}"
        for head in HEADS
        for end, more in (("", "s"), ("", "es"), ("y", "ies"))
    )
    return HEADS | frozenset(plurals) | {"children", "men", "women"}


def _common(word: str) -> str | None:
    """Return the lemma of a noun that is common and names its first sense itself."""
    lemma = lexicon().lemma_of(word) if _WORD.fullmatch(word) else None
    return lemma if lemma is not None and lemma in word_table().common and _label_of(lemma) == lemma else None


def _may_be_misspelled(word: str) -> bool:
    return len(word) >= SHORTEST_MISSPELLED and _WORD.fullmatch(word) is not None and not is_other(word)


def _repaired(words: Sequence[str]) -> dict[str, Entry]:
    """Return the words, or plurals of words, that one known word and no other is one typing error away from; a common noun it must be."""
    entries = {}
    for word, found in _near(words).items():
        if len(found) == 1 and (aim := found[0]) in word_table().common:
            why = f"nearest to '{aim}', and to no other word that is known"
            entries[word] = Entry("misspelling", aim, _label_of(aim), why)
    return entries


def _near(words: Sequence[str]) -> dict[str, list[str]]:
    """Return the known words that are one typing error away from each word, or from what it is a plural of."""
    near = _spelling().near([*words, *(word.removesuffix("s") for word in words if word.endswith("s"))])
    found = {}
    for word in words:
        one = word.removesuffix("s")
        known = near.get(word) or (near.get(one) if len(one) >= SHORTEST_MISSPELLED else None)
        if known:
            found[word] = known
    return found


def why_unknown(word: str) -> str:
    """Say why a word (in small letters) of which `name_words` says nothing, and which is no noun of WordNet, stays unknown."""
    if " " in word:
        return "words of a query are items of their own"
    if is_other(word):
        return "WordNet has it as a verb, an adjective or an adverb, and no noun that is derived from its first sense"
    near = _near([word]).get(word, []) if _may_be_misspelled(word) else []
    if not near:
        return "nothing is known of it"
    names = ", ".join(f"'{one}'" for one in near[:MOST_NEAR])
    if len(near) == 1:
        return f"the only known word that is one typing error away, {names}, is no common noun"
    return f"{len(near)} known words are one typing error away ({names}{', ...' if len(near) > MOST_NEAR else ''})"


@cache
def _spelling() -> Spelling:
    """Return all known words that a misspelling can be near to."""
    known = lexicon()
    listed = (pa.array([*words], pa.string()) for words in (word_table().words, word_table().towns))
    words = pa.concat_arrays([known.lemmas, known.others, *listed])
    return Spelling.of(
        words.filter(pc.match_substring_regex(words, f"^[a-z]{{{SHORTEST_MISSPELLED - 1},}}$"))
    )


def _shape(word: str) -> Entry | None:
    """Return what the characters of a word tell: initials, another script, symbols; None for any other word."""
    if not word or " " in word or word in other_words():
        return None
    if _INITIALS.fullmatch(word):
        return Entry("shape", word, "initials", "a word of one to three letters")
    if _WORD.fullmatch(word):
        return None
    letters = [c for c in word if c.isalpha()]
    if not letters:
        return Entry("shape", word, "word of symbols", "a word without letters and digits")
    scripts = {unicodedata.name(c, "").split(" ")[0].split("-")[0] for c in letters}
    if "LATIN" in scripts:
        return None
    nodes = {_SCRIPTS.get(script, "word in another script") for script in scripts}
    return Entry(
        "shape",
        word,
        nodes.pop() if len(nodes) == 1 else "word in another script",
        "a word in another script than the Latin",
    )


_RULES: tuple[Callable[[str], Entry | None], ...] = (
    _email, _site, _number, _chinese, _full_name, _form, _derived, _listed, _rare_surname, _compound,
)  # fmt: skip
# Those that say something of words of small letters alone.
_RULES_OF_LETTERS = (_full_name, _derived, _listed, _rare_surname, _compound)
# And those of WordNet's own verbs, adjectives and adverbs: "day-to-day" is no shop, "black-and-white" nobody's name.
_RULES_OF_OTHERS = (_number, _form, _derived)
