"""Finds the noun phrases of queries: a part-of-speech tagger for search queries, vectorized over all words.

A query is rarely a sentence. The tagger looks up in WordNet what a word can be, and a few rules about its neighbours
decide what it is here. A phrase is a run of modifiers and then nouns: an adjective after a noun begins a new
phrase (*flights | new york*), and so does anything after a plural (*cars | trucks*).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.ragged import list_sums, starts_of
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.taxonomy.sources.wordnet import ADJECTIVE, VERB, lexicon
from incrowd.text.words import STOP_WORDS, normalise, split_terms

__all__ = ["Phrases", "are_stop_words", "noun_lemmas", "noun_phrases", "split_words"]

Flags = npt.NDArray[np.uint16]

# What a word can be, as bits: facts about the word alone.
STOPS = 1
NOUN = 2  # listed as a noun, or a gerund, or unknown: most likely a name
MODIFIER = 4
PLURAL = 8
BASE_VERB = 16
ING_FORM = 32  # of a verb; it names what is done, so it is a noun unless its neighbours say otherwise
BEFORE_VERB = 64
DETERMINER = 128
FOREIGN = 256  # a function word of another language
STRANGE = 512  # neither that nor known to WordNet
KNOWN = 1024

# WordNet lists these as separate nouns with a rare meaning ("shoes" is a situation); in queries they are plain plurals.
_PLAIN_PLURALS = """
    acres acts aides anklets banks barrels bars beads boards bones bowls brakes bridges buns burns businessmen cards chains
    channels chips clams cleaners clocks cobblers colors colours conditions costs cows crabs credits days deeds descendants
    details devices dumps effects eggs elements eyes feelings fields findings flies followers funds gates hands heaps hearts
    hooks hoops hours humans hurdles irons judges laws leaders legs letters links loads lots majors marks masters mates men
    minors minutes names numbers occasions operations organs papers parks parts peanuts polls porcupines prophets props
    queens raffles rails rates receipts relations rings roads rockers rooms roots sales scores seats sellers services
    sessions shades shoes sights spots stacks stakes stalls stations stays steps stocks stops strings stripes tails talks
    taps terms threads tigers times tours transactions trumpets twins values viewers wages ways weeds wells wings words
    writings years
"""

_BEFORE_VERB = "can can't cannot could did didn't do does doesn't don't i might must not shall should they to we would you"
_DETERMINERS = "a an another any her his its my our some that the their these this those your"
# In queries these have their usual part of speech and are hardly ever the noun.
_NEVER_NOUNS = "buy find finds get gets give go goes keep know let look looks make makes need put see sell take takes try want"
_ONLY_MODIFIERS = """
    best better childrens daily fast free funny good great local mens natural old online real small wild womens
"""
# Function words of other languages; the particles are frequent in English names too (la paz, los angeles).
_FOREIGN = """
    au aux avec che como con da das dans de del den der det di ein eine en et fuer für het im ist mit och para por pour que
    um un una und une wie y zu zum zur
"""
_PARTICLES = "des du el il la las le les los van von"
_FEWEST_FOREIGN = 3


@dataclass(frozen=True, eq=False)
class Phrases:
    """The noun phrases of some queries, as spans of the queries' words.

    Parameters
    ----------
    vocabulary
        The distinct words.
    lemma
        The base form of each of them, by :func:`noun_lemmas`.
    word, word_start
        The words of query q without its stop words, ``word[word_start[q]:word_start[q + 1]]``, as positions
        in `vocabulary`. A query in another language than English has none.
    first, end
        Phrase p is the words ``first[p]:end[p]``.
    start
        The phrases of query q are ``start[q] .. start[q + 1] - 1``.
    """

    vocabulary: pa.StringArray
    lemma: pa.StringArray
    word: Ints32
    word_start: Ints64
    first: Ints64
    end: Ints64
    start: Ints64

    def texts(self) -> pa.ListArray:
        """Return the phrases of each query, spelled out."""
        inside = np.zeros(len(self.word) + 1, dtype=np.int64)
        np.add.at(inside, self.first, 1)
        np.add.at(inside, self.end, -1)
        words = self.vocabulary.take(pa.array(self.word[np.cumsum(inside[:-1]) > 0]))
        bounds = starts_of(self.end - self.first).astype(np.int32)
        phrases = pc.binary_join(pa.ListArray.from_arrays(pa.array(bounds), words), " ")
        return pa.ListArray.from_arrays(pa.array(self.start.astype(np.int32)), phrases)


def noun_phrases(queries: pa.StringArray) -> Phrases:
    """Find the noun phrases of each query.

    ``"diving in the mediterranean"`` has *diving* and *mediterranean*; ``"stores offering bargain apple
    computers"`` has *stores* and *bargain apple computers*. A null or empty query has none, nor has one that
    is not English: more foreign than English function words, and more foreign or unknown words than known ones.
    """
    pieces = split_words(queries)
    encoded = pieces.values.dictionary_encode()
    code = np.asarray(encoded.indices, dtype=np.int32)
    start = np.asarray(pieces.offsets).astype(np.int64)
    words = encoded.dictionary
    lemma, is_noun = noun_lemmas(words)
    flags = _classify(words, lemma, is_noun)[code]
    tag = _tag(flags, start)
    kept = (flags & STOPS == 0) & ~_in_foreign_query(flags, start)
    place = np.flatnonzero(kept)
    word_start = starts_of(kept)[start]
    apart = np.diff(place, prepend=-2) > 1  # a stop word lies between
    apart[word_start[:-1][word_start[:-1] < len(place)]] = True
    first, end = _chunk(tag[place], apart, plural=flags[place] & PLURAL > 0)
    phrases_start = np.searchsorted(first, word_start)
    return Phrases(words, lemma, code[place], word_start, first, end, phrases_start)


def split_words(texts: pa.StringArray) -> pa.ListArray:
    """Normalise texts and split them into words, at hyphens, slashes and underscores too; null becomes empty.

    A single letter stays with what follows its hyphen: ``"x-ray"`` is *xray*, as people type it.
    """
    text = pc.replace_substring(normalise(pc.fill_null(texts, "")), "\u2019", "'")
    joined = pc.replace_substring_regex(text, r"\b([a-z])-([a-z])", r"\1\2")
    return split_terms(pc.replace_substring_regex(joined, "[-_/]+", " "))


def are_stop_words(words: pa.StringArray) -> Bools:
    """Return for each word whether it is an English function word."""
    return np.asarray(pc.is_in(words, value_set=pa.array(sorted(STOP_WORDS), pa.string())))


def noun_lemmas(words: pa.StringArray) -> tuple[pa.StringArray, Bools]:
    """Return each word's noun lemma, or the word itself without apostrophes, and whether WordNet lists it as a noun."""
    plain = pc.replace_substring(words, "'", "")
    singular = plain
    for ending, instead in (("men$", "man"), ("ies$", "y"), ("s$", "")):
        singular = pc.replace_substring_regex(singular, ending, instead)
    plain = pc.if_else(pa.array(_among(plain, _PLAIN_PLURALS)), singular, plain)
    position = lexicon().lemmas_of(plain)
    listed = lexicon().lemmas.take(pa.array(position, mask=position < 0))
    return pc.coalesce(listed, plain), position >= 0


def _classify(words: pa.StringArray, lemma: pa.StringArray, noun: Bools) -> Flags:
    """Return what each distinct word can be, as a sum of the bits above."""
    listing = lexicon()
    position = pc.index_in(words, value_set=listing.others)
    kind = np.where(position.is_valid(), listing.other_kind[pc.fill_null(position, 0)], 0)
    other = listing.are_other_parts_of_speech(words)
    gerund = other & (kind == 0) & _matching(words, "ing$")
    stop, foreign = are_stop_words(words), _among(words, _FOREIGN)
    wordless = _matching(words, r"^[^\p{L}]*$|^.$") | (_matching(words, "[.@]") & ~noun)
    possessive = _matching(words, "'s$|s'$")
    modifier = _among(words, _ONLY_MODIFIERS) | possessive | (~noun & (kind & ADJECTIVE > 0))
    excluded = stop | foreign | wordless | _among(words, _PARTICLES) | _among(words, _NEVER_NOUNS)
    facts = {
        STOPS: stop,
        NOUN: ~excluded & ~modifier & (noun | gerund | ~other),
        MODIFIER: ~excluded & modifier,
        PLURAL: noun & np.asarray(pc.not_equal(lemma, words)),
        BASE_VERB: kind & VERB > 0,
        ING_FORM: gerund,
        BEFORE_VERB: _among(words, _BEFORE_VERB),
        DETERMINER: _among(words, _DETERMINERS),
        FOREIGN: foreign,
        STRANGE: ~(noun | other | stop | foreign | wordless),
        KNOWN: (noun | other) & ~(stop | foreign),
    }
    flags = np.zeros(len(words), dtype=np.uint16)
    for bit, holds in facts.items():
        flags[holds] |= bit
    return flags


def _tag(flags: Flags, start: Ints64) -> Flags:
    """Return what each word is where it stands: `NOUN`, `MODIFIER`, or 0 for all that ends a phrase."""
    before, after = _neighbours(flags, start)
    after_auxiliary = (flags & BASE_VERB > 0) & (before & BEFORE_VERB > 0)  # to train
    begins = (flags & BASE_VERB > 0) & (before == 0)
    has_object = (begins | (flags & ING_FORM > 0)) & (after & DETERMINER > 0)  # rent a car, buying a house
    of_several = (before & PLURAL > 0) & (after & (NOUN | MODIFIER) > 0)  # stores offering computers
    verb = after_auxiliary | has_object | ((flags & ING_FORM > 0) & of_several)
    return np.where(verb, 0, flags & (NOUN | MODIFIER)).astype(np.uint16)


def _neighbours(flags: Flags, start: Ints64) -> tuple[Flags, Flags]:
    """Return the flags of the word before and of the word after each; 0 at a query's ends."""
    before, after = np.zeros_like(flags), np.zeros_like(flags)
    before[1:], after[:-1] = flags[:-1], flags[1:]
    inner = start[(start > 0) & (start < len(flags))]
    before[inner] = 0
    after[inner - 1] = 0
    return before, after


def _in_foreign_query(flags: Flags, start: Ints64) -> Bools:
    """Return for each word whether its query is in another language."""

    def count(bit: int) -> Ints64:
        return list_sums(start, flags & bit > 0)

    foreign = count(FOREIGN | STRANGE)
    elsewhere = (foreign >= _FEWEST_FOREIGN) & (foreign > count(KNOWN)) & (count(FOREIGN) > count(STOPS))
    return np.repeat(elsewhere, np.diff(start))


def _chunk(tag: Flags, apart: Bools, *, plural: Bools) -> tuple[Ints64, Ints64]:
    """Return where each phrase begins and ends: modifiers, then nouns, then something else.

    `apart` marks the words that do not directly follow the one before.
    """
    inside = tag > 0
    after_noun = np.concatenate(([False], tag[:-1] == NOUN))
    after_plural = after_noun & np.concatenate(([False], plural[:-1]))
    after_nothing = apart | np.concatenate(([True], ~inside[:-1]))
    begins = inside & (after_nothing | after_plural | (after_noun & (tag == MODIFIER)))
    ends = inside & np.concatenate((~inside[1:] | begins[1:], [True]))[: len(tag)]
    first, last = np.flatnonzero(begins), np.flatnonzero(ends)
    has_noun = tag[last] == NOUN
    return first[has_noun], last[has_noun] + 1


def _matching(words: pa.StringArray, pattern: str) -> Bools:
    return np.asarray(pc.match_substring_regex(words, pattern))


def _among(words: pa.StringArray, these: str) -> Bools:
    return np.asarray(pc.is_in(words, value_set=pa.array(these.split(), pa.string())))
