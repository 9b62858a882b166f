"""Words that may be a person's whole name, in whatever way it is written: they are never published, even if some are something else."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from incrowd.taxonomy.sources.wordnet import VERB_RULES, lexicon
from incrowd.taxonomy.words.table import word_table

__all__ = [
    "ends_like_a_surname",
    "folded",
    "holds_full_name",
    "is_certain",
    "is_full_name",
    "is_other",
    "is_rare_double",
    "other_words",
    "squeezed",
    "usual_digits",
]

SHORTEST_NAME, SHORTEST_FULL_NAME = 3, 7  # of names that are written as one word
SHORTEST_GIVEN, SHORTEST_SURNAME = 4, 5  # where more than one given name and one frequent surname is tried
SHORTEST_UNKNOWN = 4
LONGEST_FULL_NAME = 60  # trying all cuts of anything longer would take too long
TITLES = frozenset("mr mrs ms miss dr prof sir jr sr md phd esq ii iii".split())  # noqa: SIM905
_TITLED = re.compile(r"(?:mrs?|ms|dr|prof)(?P<name>.{7,})|(?P<before>.{7,})(?:md|phd|jr|esq)")
_PARTS = re.compile("[a-z]+")
_SURNAME_ENDING = re.compile(
    r"[a-z]{2,}(?:wski|wska|wicz|poulos|ovich?|evich|vitch|witz|nczyk|chuk)s?|mc[a-z]{4,}"
)
_OF_DOUBLE_NAMES = re.compile(r"[a-z]+(?:[-._][a-z]+)+")
_WITH_INITIALS = re.compile(r"(?:[a-z][._])+[a-z]{4,}")
_INVISIBLE = ("Cc", "Cf", "Mn")
# Letters of other scripts that look like Latin ones, in words that have both.
_ALIKE = str.maketrans("аеорсухіѕјһԁɡοανικτυχкмтвнԝѵӏρεηωγμςβɩ", "aeopcyxisjhdgoaviktuxkmtbhwvlpenwyusbi")
_LATIN = re.compile(
    r"(?:.+ )?LATIN (?:(?:SMALL|CAPITAL) LETTER|LETTER SMALL CAPITAL)(?: DOTLESS)? ([A-Z])(?: WITH .+)?"
)
_CHINESE_DIGITS = str.maketrans("〇零幺一二三四五六七八九", "001123456789")
FEWEST_CHINESE_DIGITS = 7  # fewer are a word: 三七, 二一


def folded(word: str) -> str:
    """Return a word as it looks: usual forms of letters and digits, and none that are invisible.

    Digits of all scripts are the usual ones, and so are Chinese ones where many stand together. Letters that only look Latin become
    Latin in words that have Latin letters too; Latin ones lose strokes and hooks (ø, ł).
    """
    if word.isascii():
        return word
    usual = unicodedata.normalize("NFKC", word).lower()
    seen = "".join(c for c in usual if unicodedata.category(c) not in _INVISIBLE)
    digits = usual_digits(seen)
    if sum(ord(c) in _CHINESE_DIGITS for c in digits) >= FEWEST_CHINESE_DIGITS:
        digits = digits.translate(_CHINESE_DIGITS)
    plain = "".join(map(_plain_letter, digits))
    return plain.translate(_ALIKE) if re.search("[a-z]", plain) else plain


def usual_digits(text: str) -> str:
    """Return a text with the usual digits in place of those of other scripts."""
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)


@cache
def _plain_letter(letter: str) -> str:
    """Return a Latin letter without what it has beside its usual form; any other character as it is."""
    found = None if letter.isascii() else _LATIN.fullmatch(unicodedata.name(letter, ""))
    return found[1].lower() if found else letter


def squeezed(word: str) -> str:
    """Return a word without accents and the signs between its letters."""
    if _PARTS.fullmatch(word):
        return word
    return "".join(c for c in _without_accents(word) if c not in "'’`._-")  # noqa: RUF001


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


def is_certain(word: str) -> bool:
    """Tell whether a full name is hardly anything else: signs are between the names, or one of them is no common noun (*starfleet* is no name)."""
    if not _PARTS.fullmatch(word) or len(word) > LONGEST_FULL_NAME:
        return True
    table = word_table()
    cuts = [(word[:end], word[end:]) for end in range(SHORTEST_NAME, len(word) - SHORTEST_NAME + 1)]
    found = [cut for cut in cuts if _are_names(*cut)]
    return any(not table.common.issuperset(cut) for cut in found)


def is_full_name(word: str) -> bool:
    """Tell whether a word is a given name and a surname in any order, with an initial or a title or signs between them; or two surnames with a hyphen.

    A word that is known as something else is not, nor a text with other words beside the names.
    """
    if _PARTS.fullmatch(word):
        return any(map(_is_joined_name, _untitled(word))) and not (_is_known(word) or is_other(word))
    text = re.sub("['’`]", "", _without_accents(word))  # noqa: RUF001
    if any(c.isalpha() and not "a" <= c <= "z" for c in text) or _is_known(squeezed(word)):
        return False
    found = _PARTS.findall(text)
    parts = ["".join(found)] if all(len(part) == 1 for part in found) else found  # j.o.h.n
    parts = [part for part in parts if part not in TITLES]
    if " " in word and not all(map(_is_name, parts)):
        return False
    if (len(parts) > 1 and _names_in(parts)) or (_OF_DOUBLE_NAMES.fullmatch(text) and _is_double(parts)):
        return True
    if _WITH_INITIALS.fullmatch(text) and _is_surname(parts[-1]):
        return True
    return any(_is_joined_name(one) and not _is_known(part) for part in parts for one in _untitled(part))


def _is_known(word: str) -> bool:
    return word in word_table().words or lexicon().lemma_of(word) is not None


def is_other(word: str) -> bool:
    """Tell whether WordNet has a word as a verb, an adjective or an adverb, in a regular form."""
    others = other_words()
    forms = (word.removesuffix(end) + instead for end, instead in VERB_RULES if word.endswith(end))
    return word in others or any(form in others for form in forms)


@cache
def other_words() -> frozenset[str]:
    """Return WordNet's verbs, adjectives and adverbs, with their irregular forms."""
    return frozenset(lexicon().others.to_pylist())


def _untitled(word: str) -> Iterator[str]:
    """Yield a word, and what it is without a title at either end."""
    yield word
    if found := _TITLED.fullmatch(word):
        yield found["name"] or found["before"]


def _names_in(parts: list[str]) -> bool:
    """Tell whether a given name and a surname are side by side; initials between names do not count."""
    given, letters = word_table().given_names, [part for part in parts if len(part) > 1]
    return any(
        one in given and _is_surname(other) for side in pairwise(letters) for one, other in (side, side[::-1])
    )


def _is_double(parts: list[str]) -> bool:
    """Tell whether words are surnames, and not all of them common words."""
    ends = (parts[0], parts[-1])
    return all(map(_is_surname, ends)) and not word_table().common.issuperset(parts)


def _is_name(word: str) -> bool:
    return len(word) == 1 or word in word_table().given_names or _is_surname(word)


def _is_surname(word: str) -> bool:
    return word in word_table().surnames or word in word_table().rare_surnames


def _is_joined_name(word: str) -> bool:
    """Tell whether a word is names without anything between them, or an initial and a frequent surname."""
    table = word_table()
    if len(word) > SHORTEST_SURNAME and word[1:] in table.surnames and word not in table.rare_surnames:
        return True
    if not SHORTEST_FULL_NAME <= len(word) <= LONGEST_FULL_NAME:
        return False
    for end in range(SHORTEST_NAME, len(word) - SHORTEST_NAME + 1):
        first = word[:end]
        if (first in table.given_names or first in table.surnames) and _are_names(first, word[end:]):
            return True
    return False


def _are_names(first: str, last: str) -> bool:
    """Tell whether a given name is followed by a surname, with another name or an initial between them, or a surname by a given name."""
    table = word_table()
    long = len(first) >= SHORTEST_GIVEN and len(last) >= SHORTEST_SURNAME
    if first in table.given_names:
        if last in table.surnames or (len(last) >= SHORTEST_SURNAME and last in table.given_names):
            return True
        rest = {last[1:], *(last[end:] for end in range(SHORTEST_GIVEN, len(last)) if _is_inner(last[:end]))}
        plural = last.removesuffix("s")
        frequent = any(len(one) >= SHORTEST_SURNAME and one in table.surnames for one in (*rest, plural))
        if long and (frequent or last in table.rare_surnames):
            return True
        if len(last) > SHORTEST_SURNAME and ends_like_a_surname(last):
            return True
    return (
        len(first) >= SHORTEST_SURNAME
        and first in table.surnames
        and any(len(one) >= SHORTEST_GIVEN and one in table.given_names for one in (last, last[:-1]))
    )


def _is_inner(word: str) -> bool:
    """Tell whether a word may stand between a given name and a surname."""
    table = word_table()
    return word in table.given_names or (len(word) >= SHORTEST_SURNAME and word in table.surnames)


def is_rare_double(word: str) -> bool:
    """Tell whether a word is a name and an unknown word with a hyphen, a point or a line between them: most likely a rare name."""
    parts = _without_accents(word.replace("'", "")).split("-" if "-" in word else "." if "." in word else "_")
    if len(parts) != 2 or not all(_PARTS.fullmatch(part) and len(part) >= SHORTEST_UNKNOWN for part in parts):  # noqa: PLR2004
        return False
    names = [_is_name(part) for part in parts]
    known = [_is_known(part) or is_other(part) for part in parts]
    return any(name and not one for name, one in zip(names, reversed(known), strict=True))


def holds_full_name(name: str) -> bool:
    """Tell whether a site's name begins with a given name and a frequent surname, or ends with them: ``johnsmithphotos``."""
    letters = squeezed(name)
    if not SHORTEST_GIVEN + SHORTEST_SURNAME <= len(letters) <= LONGEST_FULL_NAME:
        return len(letters) > LONGEST_FULL_NAME
    return _begins_with_names(letters) or _ends_with_names(letters)


def _begins_with_names(letters: str) -> bool:
    table, longest = word_table(), len(letters) - SHORTEST_NAME
    return any(
        letters[cut:end] in table.surnames
        for cut in range(SHORTEST_GIVEN, longest - SHORTEST_SURNAME + 1)
        if letters[:cut] in table.given_names
        for end in range(cut + SHORTEST_SURNAME, longest + 1)
    )


def _ends_with_names(letters: str) -> bool:
    table = word_table()
    return any(
        letters[start:cut] in table.given_names
        for cut in range(SHORTEST_NAME + SHORTEST_GIVEN, len(letters) - SHORTEST_SURNAME + 1)
        if letters[cut:] in table.surnames
        for start in range(SHORTEST_NAME, cut - SHORTEST_GIVEN + 1)
    )


def ends_like_a_surname(word: str) -> bool:
    """Tell whether an unknown word has an ending, or a beginning, that hardly any word but surnames has."""
    return _SURNAME_ENDING.fullmatch(word) is not None
