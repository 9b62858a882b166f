"""Finds the concepts of queries: the nodes of a knowledge base that a query's phrases name.

A knowledge base is a taxonomy. In WordNet every lemma is a name of its first sense; in any other tree the labels are
names (of a path, its last step). Names and queries are compared by their words' base forms, without function words:
*Swimming_and_Diving* and *swimming, diving* match.

Names are kept in a trie, read from the last word to the first. The longest name at the end of a phrase is then found
in one walk: it is the last name met on the way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import Stemmer

from incrowd.core.ragged import starts_of
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.taxonomy.matching import own_names
from incrowd.taxonomy.sources.wordnet import lexicon
from incrowd.taxonomy.tree import Taxonomy
from incrowd.text.phrases import Phrases, are_stop_words, noun_lemmas, noun_phrases, split_words

__all__ = ["Concepts", "Knowledge", "find_concepts"]


@dataclass(frozen=True, eq=False)
class Concepts:
    """The concepts of query q, ``node[start[q]:start[q + 1]]``: distinct nodes in order of appearance."""

    start: Ints64
    node: Ints32


@dataclass(frozen=True, eq=False)
class Knowledge:
    """A taxonomy whose nodes can be found by their names.

    Parameters
    ----------
    tree
        The taxonomy. Its root is no concept, since it says nothing about a person.
    is_wordnet
        Whether words are reduced to WordNet's lemmas, in names and queries alike, and not to stems.
    words
        The distinct words of all names.
    step
        The steps of the tree of names: ``place * len(words) + word``, ascending. The first place is 0, and
        step i leads to place i + 1.
    node
        The node that is called by the words up to each place, or -1.
    """

    tree: Taxonomy
    is_wordnet: bool
    words: pa.StringArray
    step: Ints64
    node: Ints32

    @classmethod
    def of(cls, tree: Taxonomy) -> Knowledge:
        """Learn the names of a taxonomy that is not yet fitted to any data.

        Where two nodes of WordNet share a name (less its function words), the one with fewer words is meant;
        elsewhere the one nearest to the root, then the one that comes first. There, words that are no node's name
        may stand for a node whose name contains them: a member of an enumeration (*diving* is *Swimming and
        Diving*), else any single word (*fixtures* is *Store Fixtures*).
        """
        return _know_wordnet(tree) if tree.labels.equals(lexicon().labels) else _know_labels(tree)

    def longest_names(self, phrases: Phrases) -> tuple[Ints64, Ints32]:
        """Return how many words the longest name that ends at each word of the queries has, and its node.

        Where there is none: 0 and -1. A name lies within one query, whatever phrases it crosses.
        """
        key = self._keys(phrases)[phrases.word]
        room = np.arange(len(key)) - np.repeat(phrases.word_start[:-1], np.diff(phrases.word_start))
        length, node = np.zeros(len(key), dtype=np.int64), np.full(len(key), -1, dtype=np.int32)
        at, place, walked = np.arange(len(key)), np.zeros(len(key), dtype=np.int64), 0
        while len(at):
            at, place = self._take_step(at, place, key[at - walked])
            walked += 1
            named = self.node[place] >= 0
            length[at[named]], node[at[named]] = walked, self.node[place[named]]
            further = room[at] >= walked
            at, place = at[further], place[further]
        return length, node

    def _keys(self, phrases: Phrases) -> Ints64:
        """Return the position in `words` of each distinct word of the queries, or -1."""
        if not self.is_wordnet:
            return self._positions(_stems(phrases.vocabulary))
        # Words that are not nouns of WordNet may have a plural too: t-shirts.
        singular = pc.replace_substring_regex(phrases.lemma, "s$", "")
        found = self._positions(pa.concat_arrays([phrases.lemma, singular])).reshape(2, -1)
        as_it_is, without_s = found[0], found[1]
        return np.asarray(np.where(as_it_is >= 0, as_it_is, without_s), dtype=np.int64)

    def _positions(self, forms: pa.StringArray) -> Ints64:
        return np.asarray(pc.fill_null(pc.index_in(forms, value_set=self.words), -1), dtype=np.int64)

    def _take_step(self, at: Ints64, place: Ints64, key: Ints64) -> tuple[Ints64, Ints64]:
        """Return the walks that can take a step by their key, and the places they reach."""
        wanted = place * len(self.words) + key
        step = np.searchsorted(self.step, wanted)
        there = (key >= 0) & (step < len(self.step))
        there[there] = self.step[step[there]] == wanted[there]
        return at[there], step[there] + 1


def find_concepts(queries: pa.StringArray, knowledge: Knowledge) -> Concepts:
    """Find the concepts of each query: of its noun phrases, and of names of several words wherever they stand.

    A phrase gives the concept of its longest ending that is a name (*exciting water sports*: *water sports*),
    or nothing. A name of two words or more counts within a phrase (*new york* hotels) and across phrases
    (*statue of liberty*). No word is used twice; names further right come first.
    """
    phrases = noun_phrases(queries)
    length, node = knowledge.longest_names(phrases)
    is_head = np.zeros(len(node), dtype=np.bool_)
    is_head[phrases.end - 1] = True
    at = np.flatnonzero((length > 1) | (is_head & (length == 1)))
    at = at[_are_apart(at, length[at])]
    query = np.searchsorted(phrases.word_start, at, side="right") - 1
    return _distinct(query, node[at], len(queries), len(knowledge.tree))


def _are_apart(at: Ints64, length: Ints64) -> Bools:
    """Choose spans, each given by its last word and length, from right to left so that no two share a word."""
    chosen = []
    taken_from = at[-1] + 1 if len(at) else 0
    for last, many in zip(at[::-1].tolist(), length[::-1].tolist(), strict=True):
        free = last < taken_from
        chosen.append(free)
        if free:
            taken_from = last - many + 1
    return np.array(chosen[::-1], dtype=np.bool_)


def _distinct(query: Ints64, node: Ints32, queries: int, nodes: int) -> Concepts:
    """Return each query's nodes, each at its first appearance."""
    _, first = np.unique(query * nodes + node, return_index=True)
    first.sort()
    return Concepts(np.searchsorted(query[first], np.arange(queries + 1)), node[first])


def _know_wordnet(tree: Taxonomy) -> Knowledge:
    """Take the lemmas as names; one that reads like a form of another (*ladies'*, *shoes*) comes after it."""
    lexical = lexicon()
    words = split_words(lexical.lemmas)
    many = np.diff(np.asarray(words.offsets))
    content_words = np.diff(starts_of(~are_stop_words(words.values))[np.asarray(words.offsets)])
    # An article may be dropped from a name (The Hague), other function words may not ("moving in" is not "moving").
    has_article = np.asarray(pc.starts_with(lexical.lemmas, "the "))
    kept = (content_words > 1) | (many == 1) | has_article
    reads_like_another = np.asarray(pc.not_equal(noun_lemmas(lexical.lemmas)[0], lexical.lemmas))
    rank = 2 * many + reads_like_another
    return _know(tree, words.filter(pa.array(kept)), lexical.lemma_node[kept], rank[kept], is_wordnet=True)


def _know_labels(tree: Taxonomy) -> Knowledge:
    """Take the labels as names, then the members of those that enumerate, then the words within."""
    own = pc.replace_substring(own_names(tree), "_", " ")
    node = np.arange(len(tree), dtype=np.int32)
    members = pc.split_pattern_regex(own, r"(?i)\s*(?:,|&|\band\b)\s*")
    whole = split_words(own)
    lone_words = pa.ListArray.from_arrays(
        pa.array(np.arange(len(whole.values) + 1, dtype=np.int32)), whole.values
    )
    owners = [node, *(np.repeat(node, np.diff(np.asarray(lists.offsets))) for lists in (members, whole))]
    rank = np.concatenate([tree.level[owner] + tier * tree.height for tier, owner in enumerate(owners)])
    names = pa.concat_arrays([whole, split_words(members.values), lone_words])
    return _know(tree, names, np.concatenate(owners), rank, is_wordnet=False)


def _know(tree: Taxonomy, names: pa.ListArray, node: Ints32, rank: Ints32, *, is_wordnet: bool) -> Knowledge:
    """Build the trie of names; of equal names the one with the least rank counts, then the one with the least node."""
    kept = ~are_stop_words(names.values)
    start = starts_of(kept)[np.asarray(names.offsets)]
    encoded = names.values.filter(pa.array(kept)).dictionary_encode()
    forms = noun_lemmas(encoded.dictionary)[0] if is_wordnet else _stems(encoded.dictionary)
    reduced = forms.dictionary_encode()
    word = np.asarray(reduced.indices)[np.asarray(encoded.indices)].astype(np.int64)
    order = np.lexsort((node, rank))
    order = order[(np.diff(start)[order] > 0) & (node[order] > 0)]
    step, place = _grow(word, start[:-1][order], start[1:][order], len(reduced.dictionary))
    at = np.full(len(step) + 1, -1, dtype=np.int32)
    at[place[::-1]] = node[order][::-1]  # of equal names the first is kept
    return Knowledge(tree, is_wordnet, reduced.dictionary, step, at)


def _grow(word: Ints64, start: Ints64, end: Ints64, width: int) -> tuple[Ints64, Ints64]:
    """Return the steps of the tree of names, and the place that each name leads to, its last word first."""
    place = np.zeros(len(start), dtype=np.int64)
    levels = [np.empty(0, dtype=np.int64)]
    count = 0
    growing = np.arange(len(start))
    for depth in range(1, int((end - start).max(initial=0)) + 1):
        growing = growing[end[growing] - start[growing] >= depth]
        wanted = place[growing] * width + word[end[growing] - depth]
        steps, which = np.unique(wanted, return_inverse=True)
        place[growing] = count + which + 1
        levels.append(steps)
        count += len(steps)
    return np.concatenate(levels), place


def _stems(words: pa.StringArray) -> pa.StringArray:
    plain = pc.replace_substring(words, "'", "")
    return pa.array(Stemmer.Stemmer("english").stemWords(plain.to_pylist()), pa.string())
