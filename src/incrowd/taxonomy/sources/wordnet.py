"""WordNet's nouns: as a taxonomy, their names, and the mapping from word forms to lemmas.

The table is made by ``scripts/make_wordnet.py``. It keeps the first sense of each lemma and the first
hypernym of each synset, so that the synsets form a tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.types import Bools, Ints32
from incrowd.taxonomy.tree import Taxonomy, find_by_label, positions

__all__ = ["ADJECTIVE", "VERB", "Lexicon", "lexicon", "wordnet_tree"]

Rules = tuple[tuple[str, str], ...]

# WordNet's rules of detachment (morphy), in its order: (ending, replacement).
NOUN_RULES: Rules = (
    ("s", ""),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
)
VERB_RULES: Rules = (
    ("s", ""),
    ("ies", "y"),
    ("es", "e"),
    ("es", ""),
    ("ed", "e"),
    ("ed", ""),
    ("ing", "e"),
    ("ing", ""),
)
ADJECTIVE_RULES: Rules = (("er", ""), ("est", ""), ("er", "e"), ("est", "e"))

# The bits of the table's column `other_kind`.
VERB, ADJECTIVE = 1, 2

SHORTEST_INFLECTED_NOUN = 3
FEW_WORDS = 1_000  # are looked up one by one


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The nouns of WordNet as a tree, with the tables to recognise them.

    Parameters
    ----------
    parent
        The parent of each node (noun synset). Nodes are numbered in pre-order; the root is 0, its parent -1.
    labels
        An unambiguous name of each node: ``"motor vehicle"``, or ``"mouse (sense 3)"`` if none of the
        synset's lemmas means it first of all.
    lemmas
        The noun lemmas in lower case, sorted by code point.
    lemma_node
        The node of each lemma's first sense.
    exceptions
        Irregular noun forms.
    exception_lemma
        The lemma of each irregular form, as a position in `lemmas`.
    others
        Single words that WordNet lists as verb, adjective or adverb, and irregular forms of these.
    other_kind
        What each of them is: a sum of `VERB`, `ADJECTIVE` and bits that stand for the rest.
    """

    parent: Ints32
    labels: pa.StringArray
    lemmas: pa.StringArray
    lemma_node: Ints32
    exceptions: pa.StringArray
    exception_lemma: Ints32
    others: pa.StringArray
    other_kind: npt.NDArray[np.uint8]

    def node(self, lemma: str) -> int | None:
        """Return the node of a lemma's first sense, or None if it is not a noun lemma."""
        position = self._position.get(lemma)
        return None if position is None else int(self.lemma_node[position])

    def lemma_of(self, word: str) -> str | None:
        """Return the noun lemma of one word, as `lemmas_of` does for many; None where there is none."""
        position = self._lemma_position(word)
        return None if position < 0 else self._lemma[position]

    def lemmas_of(self, words: pa.Array) -> Ints32:
        """Return each word's noun lemma as a position in `lemmas`; -1 where there is none (or the word is null)."""
        if len(words) < FEW_WORDS:  # all lemmas would be gone through for them
            return np.array([self._lemma_position(word) for word in words.to_pylist()], dtype=np.int32)
        irregular = positions(words, self.exceptions)
        stripped = _positions_by_rules(words, NOUN_RULES, self.lemmas)
        stripped[_are_never_inflected_nouns(words)] = -1
        by_form = np.where(irregular >= 0, self.exception_lemma[irregular], stripped)
        exact = positions(words, self.lemmas)
        return np.where(exact >= 0, exact, by_form)

    def _lemma_position(self, word: str | None) -> int:
        """Return the place of a word's noun lemma; -1 where there is none."""
        if word is None or word in self._position:
            return -1 if word is None else self._position[word]
        if word in self._irregular:
            return self._irregular[word]
        if len(word) < SHORTEST_INFLECTED_NOUN or word.endswith("ss"):
            return -1
        bases = (
            word.removesuffix(ending) + instead for ending, instead in NOUN_RULES if word.endswith(ending)
        )
        return next((self._position[base] for base in bases if base in self._position), -1)

    def nodes_of(self, words: pa.Array) -> Ints32:
        """Return the node of the first sense of each word's noun lemma; -1 where WordNet lacks it."""
        position = self.lemmas_of(words)
        return np.where(position < 0, np.int32(-1), self.lemma_node[position])

    def are_other_parts_of_speech(self, words: pa.Array) -> Bools:
        """Return for each word whether WordNet lists it as verb, adjective or adverb (it may be a noun as well)."""
        verbs, adjectives = (self.others.filter(self.other_kind & kind > 0) for kind in (VERB, ADJECTIVE))
        known: Bools = (
            (positions(words, self.others) >= 0)
            | (_positions_by_rules(words, VERB_RULES, verbs) >= 0)
            | (_positions_by_rules(words, ADJECTIVE_RULES, adjectives) >= 0)
        )
        return known

    @cached_property
    def _lemma(self) -> list[str]:
        found: list[str] = self.lemmas.to_pylist()
        return found

    @cached_property
    def _position(self) -> dict[str, int]:
        return {lemma: i for i, lemma in enumerate(self._lemma)}

    @cached_property
    def _irregular(self) -> dict[str, int]:
        return dict(zip(self.exceptions.to_pylist(), self.exception_lemma.tolist(), strict=True))


@cache
def lexicon() -> Lexicon:
    """Load the WordNet table that ships with incrowd (once per process)."""
    buffer = pa.py_buffer((files("incrowd.data") / "wordnet.arrow").read_bytes())
    row = pa.ipc.open_file(buffer).get_batch(0)
    column = {name: lists.values for name, lists in zip(row.schema.names, row.columns, strict=True)}
    return Lexicon(
        parent=column["parent"].to_numpy(),
        labels=_labels_with_senses(column["lemma"].take(column["label_lemma"]), column["label_sense"]),
        lemmas=column["lemma"],
        lemma_node=column["lemma_node"].to_numpy(),
        exceptions=column["exception"],
        exception_lemma=column["exception_lemma"].to_numpy(),
        others=column["other"],
        other_kind=column["other_kind"].to_numpy(),
    )


def _labels_with_senses(lemmas: pa.StringArray, senses: pa.UInt8Array) -> pa.StringArray:
    """Add the sense number to the lemmas that need it."""
    ambiguous = pc.greater(senses, 1)
    numbers = pc.cast(senses.filter(ambiguous), pa.string())
    numbered = pc.binary_join_element_wise(lemmas.filter(ambiguous), " (sense ", numbers, ")", "")
    return pc.replace_with_mask(lemmas, ambiguous, numbered)


def _positions_by_rules(words: pa.Array, rules: Rules, among: pa.Array) -> Ints32:
    """Return the position in a list of the first base form that is there; -1 where none is."""
    rows, bases = [], []
    for ending, instead in reversed(rules):
        applies = pc.fill_null(pc.ends_with(words, ending), False)  # noqa: FBT003 (a fill value)
        rows.append(np.flatnonzero(applies))
        bases.append(pc.replace_substring_regex(words.filter(applies), f"{ending}$", instead))
    row, found = np.concatenate(rows), positions(pa.concat_arrays(bases), among)
    position = np.full(len(words), -1, dtype=np.int32)
    position[row[found >= 0]] = found[found >= 0]  # the last assignment to a row wins: the earliest rule's
    return position


def _are_never_inflected_nouns(words: pa.Array) -> Bools:
    short = pc.less(pc.utf8_length(words), SHORTEST_INFLECTED_NOUN)
    return np.array(pc.fill_null(pc.or_(short, pc.ends_with(words, "ss")), True), dtype=np.bool_)  # noqa: FBT003


@cache
def wordnet_tree() -> Taxonomy:
    """Return the tree of all noun synsets (made once per process), each under its first hypernym, ``entity`` at the root.

    A word is placed at its first sense. Synonyms share a synset: the word that the synset is called by
    is the synset itself, every other one becomes a leaf below it.
    """
    words = lexicon()
    return Taxonomy.from_parents(words.parent, words.labels, name="wordnet", find=_find_word)


def _find_word(tree: Taxonomy, items: pa.Array, *, any_case: bool = False) -> Ints32:
    """Find each word's first sense; a name such as ``mouse (sense 3)`` is found as well."""
    if any_case:
        lowered = pc.utf8_lower(items)  # as all names are
        changed = np.array(pc.not_equal(lowered, items), dtype=np.bool_)
        found = np.full(len(items), -1, dtype=np.int32)
        found[changed] = _find_word(tree, lowered.filter(pa.array(changed)))
        return found
    node = lexicon().nodes_of(items)
    return np.where(node >= 0, node, find_by_label(tree, items))
