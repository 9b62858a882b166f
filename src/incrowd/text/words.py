"""Splits texts into words and maps words to items; takes and returns Arrow arrays."""

from __future__ import annotations

import string
import unicodedata
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.clean import bytes_of, rows_with
from incrowd.core.types import Bools
from incrowd.taxonomy.sources.wordnet import lexicon
from incrowd.taxonomy.words import names_of, with_texts

__all__ = [
    "LISTED",
    "NAMED",
    "NEVER",
    "OTHER",
    "STOP",
    "STOP_WORDS",
    "TERM",
    "TYPED",
    "UNLISTED",
    "Nouns",
    "find_named",
    "find_nouns",
    "find_terms",
    "normalise",
    "split_terms",
]

# What a word was found to be.
LISTED = 0  # a noun of WordNet
UNLISTED = 1  # unknown to WordNet
OTHER = 2  # known to WordNet, but not as a noun
STOP = 3  # a function word
TERM = 4  # any other word, where WordNet is not used
TYPED = 5  # no word: an item of another kind
NEVER = 6  # on the publisher's list of words that are never published
NAMED = 10  # and above: unknown to WordNet, and of a kind of incrowd.taxonomy.words, in their order

# WordNet lists many of these as nouns ("he" is helium, "in" is Indiana), so they are removed before the look-up.
# Left in on purpose, because people search for them as nouns: may, mine, past, round, still, us, well, will.
STOP_WORDS = frozenset(
    """
    a an the
    about above across after against along alongside amid among amongst around as at before behind below beneath
    beside besides between beyond by despite down during except for from in inside into like near of off on onto
    out outside over per since than through throughout till to toward towards under underneath until unto up upon
    versus via vs with within without
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves this that these those
    all another any anybody anyone anything both each either every everybody everyone everything few many more
    most much neither nobody none nothing other others several some somebody someone something such
    and but or nor so yet if because although though unless whereas whether while
    am is are was were be been being do does did doing done have has had having can cannot could shall should
    would must might ought
    can't couldn't didn't doesn't don't hadn't hasn't haven't isn't aren't wasn't weren't won't wouldn't shouldn't
    i'm i've i'd i'll it's he's she's that's there's what's where's who's how's you're you've we're they're let's
    who whom whose what which when where why how whatever whenever wherever whichever whoever
    again also else ever here just never no not now once only own same then there too very
    d ll m re s t ve
    com http https org www
    """.split()  # noqa: SIM905 (a list of 240 quoted words is hard to read)
)

# White space that NFKC does not turn into blanks.
_WHITE = r"[\t-\r\x{85}\x{1680}\x{2028}\x{2029}]"
# Control characters, the soft hyphen, and invisible marks of text direction or line breaks.
_INVISIBLE = (
    r"[\p{Cc}\x{AD}\x{61C}\x{180E}\x{200B}\x{200E}\x{200F}"
    r"\x{202A}-\x{202E}\x{2060}-\x{206F}\x{FEFF}\x{FFF9}-\x{FFFB}]+"
)


def normalise(texts: pa.StringArray) -> pa.StringArray:
    """Normalise each text: NFKC, lower case, single blanks, no control characters, trimmed.

    Invisible marks of text direction are removed too; the joiners that emoji and some scripts need stay. Nulls stay null.
    """
    plain = pc.ascii_trim(pc.ascii_lower(texts), " ")
    messy = _rows_beyond_plain_ascii(plain)
    if not messy.any():
        return plain
    mask = pa.array(messy)
    return pc.replace_with_mask(plain, mask, _normalise_unicode(plain.filter(mask)))


def split_terms(texts: pa.StringArray) -> pa.ListArray:
    """Split normalised texts at blanks and trim the punctuation around each word; empty words are dropped.

    ``"+md"`` gives ``"md"``; ``"www.example.com"``, ``"jane@example.org"`` and ``"don't"`` stay whole.
    """
    pieces = pc.split_pattern(texts, " ")
    words = pc.utf8_trim(pieces.flatten(), _punctuation())
    kept = np.array(pc.not_equal(words, ""), dtype=np.bool_)
    before = np.concatenate(([0], np.cumsum(kept, dtype=np.int32)))  # kept words before each piece
    ends = np.cumsum(pc.fill_null(pc.list_value_length(pieces), 0), dtype=np.int32)
    offsets = before[np.concatenate(([0], ends))].astype(np.int32)
    nulls = texts.is_null() if texts.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), words.filter(pa.array(kept)), mask=nulls)


@dataclass(frozen=True, eq=False)
class Nouns:
    """The item and kind of each word in a list.

    Parameters
    ----------
    item
        The item of each word; null for a word that is left out.
    kind
        What each word was found to be: `LISTED`, `UNLISTED`, `OTHER`, `STOP`, `TERM`, or `NAMED` and the number of a kind.
    """

    item: pa.StringArray
    kind: npt.NDArray[np.int8]


def find_nouns(words: pa.StringArray, *, named: bool = False) -> Nouns:
    """Find the noun that each (distinct, normalised, not null) word stands for.

    The item is the lemma of a noun that WordNet lists, or the word itself if WordNet does not know it at all
    (most likely a name). Stop words and words that are only verbs, adjectives or adverbs have no item. With `named`, a word that
    WordNet does not know is what :mod:`incrowd.taxonomy.words` publishes in its place, and of the kind that it has there.
    """
    known = lexicon()
    lemma = known.lemmas_of(words)
    kind = np.select(
        [_are_stop_words(words), lemma >= 0, known.are_other_parts_of_speech(words)],
        [STOP, LISTED, OTHER],
        default=UNLISTED,
    ).astype(np.int8)
    lemmas = known.lemmas.take(pa.array(lemma, mask=kind != LISTED))
    unlisted = pc.if_else(pa.array(kind == UNLISTED), words, None)
    found = Nouns(pc.coalesce(lemmas, unlisted), kind)
    return _with_names(found, UNLISTED) if named else found


def find_terms(words: pa.StringArray, *, named: bool = False) -> Nouns:
    """Take each (distinct, normalised, not null) word as it is, without the stop words; `named` as for :func:`find_nouns`."""
    stop = _are_stop_words(words)
    found = Nouns(pc.if_else(pa.array(stop), None, words), np.where(stop, STOP, TERM).astype(np.int8))
    return _with_names(found, TERM) if named else found


def find_named(words: pa.StringArray) -> Nouns:
    """Take each text as it is, but for words that WordNet lacks: what is published in their place, as for :func:`find_nouns`."""
    return _with_names(Nouns(words, np.full(len(words), TERM, dtype=np.int8)), TERM)


def _with_names(found: Nouns, unnamed: int) -> Nouns:
    """Return the items with those of one kind replaced by what is published in their place, where that is known."""
    place = np.flatnonzero(found.kind == unnamed)
    names = names_of(pc.utf8_lower(found.item.take(pa.array(place))))
    number, kind = np.array(names["kind"], dtype=np.int8), found.kind.copy()
    kind[place] = np.where(number < 0, unnamed, NAMED + number)
    changed = np.array(pc.not_equal(names["item"], names["word"]), dtype=np.bool_)
    instead = names["item"].combine_chunks().filter(pa.array(changed))
    return Nouns(with_texts(found.item, place[changed], instead), kind)


def _are_stop_words(words: pa.StringArray) -> Bools:
    return np.array(pc.is_in(words, value_set=pa.array(sorted(STOP_WORDS), pa.string())), dtype=np.bool_)


def _rows_beyond_plain_ascii(texts: pa.StringArray) -> Bools:
    """Mark the rows with anything but single blanks and printable ASCII, in one scan of all bytes."""
    rows = np.zeros(len(texts), dtype=np.bool_)
    characters = bytes_of(texts)
    odd = (characters < ord(" ")) | (characters > ord("~"))
    blank = characters == ord(" ")
    odd[1:] |= blank[1:] & blank[:-1]
    rows[rows_with(texts, np.flatnonzero(odd))] = True
    return rows


def _normalise_unicode(texts: pa.StringArray) -> pa.StringArray:
    visible = pc.replace_substring_regex(pc.replace_substring_regex(texts, _WHITE, " "), _INVISIBLE, "")
    lower = pc.utf8_lower(pc.utf8_normalize(visible, "NFKC"))
    # Compose again: a small letter may combine with its accent where the capital could not.
    composed = pc.utf8_normalize(lower, "NFKC")
    return pc.ascii_trim(pc.replace_substring_regex(composed, "  +", " "), " ")


@cache
def _punctuation() -> str:
    """Return ASCII's punctuation and symbols, and Unicode's punctuation; emoji and currency signs count as words."""
    # Beyond U+FFFF hardly any script in daily use has punctuation, and looking there takes 0.4 s.
    characters = map(chr, range(0x80, 0x10000))
    return string.punctuation + "".join(c for c in characters if unicodedata.category(c).startswith("P"))
