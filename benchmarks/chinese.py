"""The list of Chinese nouns, measured: how many words get a parent that tells what they mean.

    python benchmarks/chinese.py [--draw SEED]

Needs jieba (``pip install 'incrowd[zh]'``). Prints the share of words and of occurrences with an informative parent in the sample of ``tests/text/zh``,
and of occurrences in jieba's dictionary, by its own frequencies, of words of two characters or more that are no names of persons. ``--draw``
prints 100 entries of the list, and 100 words of that dictionary that are two entries, to be judged one by one.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jieba
import pyarrow as pa

from incrowd.taxonomy.words import name_words
from incrowd.taxonomy.words.chinese import chinese_noun, chinese_nouns
from incrowd.text.chinese import segmented
from incrowd.text.words import normalise, split_terms

SAMPLE = Path(__file__).resolve().parents[1] / "tests/text/zh/queries.tsv"
DRAWN = 100


def main() -> None:
    parser: Any = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draw", type=int, metavar="SEED", help="draw entries to be judged")
    seed = parser.parse_args().draw
    print(f"the list: {len(chinese_nouns()):,} words")
    print(f"the sample: {sample()}")
    words = list(dictionary())
    for what, some in (("nouns", [row for row in words if row[2].startswith("n")]), ("all words", words)):
        telling = sum(times for word, times, _ in some if chinese_noun(word) is not None)
        print(
            f"jieba's dictionary, {what}: {telling / sum(times for _, times, _ in some):.1%} of occurrences"
        )
    if seed is not None:
        listed = sorted(chinese_nouns())
        pairs = sorted(word for word, *_ in words if word not in chinese_nouns() and chinese_noun(word))
        for name, some_words in (("entries", listed), ("two entries in one word", pairs)):
            print(f"\n{name}: {len(some_words):,}")
            for word in random.Random(seed).sample(some_words, DRAWN):
                print(word, chinese_noun(word))


def sample() -> str:
    """Return the words and occurrences of the sample with an informative parent, of all."""
    with SAMPLE.open(encoding="utf-8", newline="") as file:
        queries = [row["query"] for row in csv.DictReader(file, delimiter="\t")]
    counts = Counter(split_terms(normalise(segmented(pa.array(queries)))).flatten().to_pylist())
    entries = dict(zip(counts, name_words(list(counts)), strict=True))
    telling = [word for word, entry in entries.items() if entry is not None and entry.kind != "shape"]
    of_list = [word for word in telling if chinese_noun(word) is not None]
    times = [sum(counts[word] for word in some) for some in (telling, of_list, counts)]
    return (
        f"{len(telling)} of {len(counts)} words have an informative parent, {len(of_list)} of them by the list; "
        f"{times[0]} of {times[2]} occurrences, {times[1]} of them by the list"
    )


def dictionary() -> Iterator[tuple[str, int, str]]:
    """Yield the words of jieba's dictionary that are no names of persons, with their frequency and part of speech."""
    with (Path(jieba.__file__).parent / "dict.txt").open(encoding="utf-8") as file:
        for line in file:
            word, times, flag = line.split()
            if len(word) > 1 and not flag.startswith("nr") and "\u4e00" <= word[0] <= "\u9fff":
                yield word, int(times), flag


if __name__ == "__main__":
    main()
