"""A made-up log of 1,000 people has the measures of a real one, within a quarter.

The real ones were counted in a log of 1,000 heavy users over three months. An *event* is a line; where the real log's
events may have been counted otherwise, both ways are tested: lines, or moments (lines of the same person, query and
second are one). Words are split at non-word characters. An *occurrence* of a query, a word or a pair of neighbouring
words is one in an event; the share that at least m people share is that of the occurrences of those queries, words or
pairs that occur in the events of at least m people.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from incrowd.logs.synth import terms
from incrowd.logs.synth.generate import write_log
from incrowd.logs.synth.misspelling import misspelled

WORD = re.compile(r"\w+")
PEOPLE = 1_000
SHARED_BY = (2, 5, 10, 50)
REAL = {
    "events a person": 318,
    **dict(
        zip(
            (f"decile {number} of events a person" for number in range(1, 10)),
            (183, 220, 249, 272, 294, 321, 359, 405, 476),
            strict=True,
        )
    ),
    "distinct queries an event": 160_670 / 318_023,
    "events that repeat the one before": 0.20,
    "moments that repeat the one before": 0.20,
    "sessions of 30 minutes an event": 154_374 / 318_023,
    **dict(
        zip(
            (f"distinct queries of {number} words" for number in ("1", "2", "3", "4", "5", "6", "more")),
            (0.09, 0.24, 0.26, 0.18, 0.11, 0.06, 0.07),
            strict=True,
        )
    ),
    **{
        f"{what} shared by {people}": share
        for what, shares in {
            "queries": (0.25, 0.15, 0.12, 0.08),
            "queries, once a person,": (0.25, 0.15, 0.12, 0.08),
            "words": (0.93, 0.85, 0.78, 0.51),
            "pairs": (0.44, 0.23, 0.15, 0.05),
        }.items()
        for people, share in zip(SHARED_BY, shares, strict=True)
    },
    "words of 10 people": 2_509,
    "words of 100 people": 13_018,
    "words of 300 people": 26_520,
    "words of 1000 people": 53_690,
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("synth") / "log.tsv"
    write_log(path, users=PEOPLE)
    return [line.split("\t") for line in path.read_text("ascii").split("\n")[1:-1]]


@pytest.fixture(scope="module")
def holders(rows):
    return holders_of(rows)


def holders_of(rows):
    """Return the people that each query has, each word, and each pair of words, numbered by first appearance."""
    number = {user: place for place, user in enumerate(dict.fromkeys(row[0] for row in rows))}
    queries, words, pairs = (defaultdict(set) for _ in range(3))
    for user, query in dict.fromkeys((row[0], row[1]) for row in rows):
        split = WORD.findall(query)
        queries[query].add(number[user])
        for word in split:
            words[word].add(number[user])
        for pair in itertools.pairwise(split):
            pairs[pair].add(number[user])
    return queries, words, pairs


@pytest.fixture(scope="module")
def measured(rows, holders):
    return {**of_people(rows), **of_repeats(rows), **of_queries(rows), **of_sharing(rows, *holders)}


def of_people(rows):
    events = np.array(list(Counter(row[0] for row in rows).values()))
    deciles = np.quantile(events, np.arange(1, 10) / 10)
    return {
        "events a person": events.mean(),
        **{f"decile {number} of events a person": decile for number, decile in enumerate(deciles, start=1)},
    }


def of_repeats(rows):
    lines = [(row[0], row[1]) for row in rows]
    moments = [moment[:2] for moment in dict.fromkeys((row[0], row[1], row[2]) for row in rows)]
    time = np.array([row[2] for row in rows], dtype="datetime64[s]").astype(np.int64)
    user = np.array([int(row[0]) for row in rows])
    return {
        "events that repeat the one before": np.mean([a == b for a, b in itertools.pairwise(lines)]),
        "moments that repeat the one before": np.mean([a == b for a, b in itertools.pairwise(moments)]),
        "sessions of 30 minutes an event": np.mean((np.diff(user) != 0) | (np.diff(time) > 30 * 60)),
    }


def of_queries(rows):
    distinct = {row[1] for row in rows}
    words = Counter(min(7, len(WORD.findall(query))) for query in distinct)
    return {
        "distinct queries an event": len(distinct) / len(rows),
        **{f"distinct queries of {number} words": words[number] / len(distinct) for number in range(1, 7)},
        "distinct queries of more words": words[7] / len(distinct),
    }


def of_sharing(rows, queries, words, pairs):
    asked = Counter(row[1] for row in rows)
    of_words, of_pairs = Counter(), Counter()
    for query, count in asked.items():
        split = WORD.findall(query)
        for word in split:
            of_words[word] += count
        for pair in itertools.pairwise(split):
            of_pairs[pair] += count
    once = {query: len(own) for query, own in queries.items()}
    kinds = [
        ("queries", queries, asked),
        ("queries, once a person,", queries, once),
        ("words", words, of_words),
        ("pairs", pairs, of_pairs),
    ]
    first = np.array([min(own) for own in words.values()])
    return {
        f"{what} shared by {people}": sum(counts[item] for item, own in holders.items() if len(own) >= people)
        / sum(counts.values())
        for what, holders, counts in kinds
        for people in SHARED_BY
    } | {f"words of {people} people": int((first < people).sum()) for people in (10, 100, 300, 1_000)}


def test_every_measure_is_taken(measured):
    assert set(measured) == set(REAL)


@pytest.mark.parametrize("name", REAL)
def test_the_log_is_like_a_real_one(measured, name):
    assert REAL[name] * 0.75 <= measured[name] <= REAL[name] * 1.25


def test_a_log_with_places_is_like_a_real_one(tmp_path):
    write_log(tmp_path / "log.tsv", users=PEOPLE, with_columns="place")
    rows = [line.split("\t") for line in (tmp_path / "log.tsv").read_text("ascii").split("\n")[1:-1]]
    measured = {
        **of_people(rows),
        **of_repeats(rows),
        **of_queries(rows),
        **of_sharing(rows, *holders_of(rows)),
    }
    ratios = {name: measured[name] / REAL[name] for name in REAL}
    assert {name: ratio for name, ratio in ratios.items() if not 0.75 <= ratio <= 1.25} == {}


def test_the_page_has_these_figures(rows, measured):
    page = (Path(__file__).parents[2] / "docs" / "synth.md").read_text("utf-8")
    vocabulary = ", ".join(f"{measured[f'words of {people} people']:,}" for people in (10, 100, 300, 1_000))
    assert f"| {len({row[1] for row in rows}):,} of {len(rows):,} |" in page
    assert f"| {vocabulary} |" in page
    for what, title in (
        ("queries", "query occ"),
        ("words", "word occ"),
        ("pairs", "neighbouring word pairs"),
    ):
        shares = ", ".join(f"{100 * measured[f'{what} shared by {people}']:.0f}" for people in SHARED_BY)
        assert re.search(rf"^\| {title}.*\| {shares} % \|$", page, re.MULTILINE), (what, shares)


def test_half_of_the_words_are_one_persons(holders):
    _, words, _ = holders
    assert 0.45 < np.mean([len(own) == 1 for own in words.values()]) < 0.65


def test_new_words_keep_coming_though_ever_fewer(holders):
    _, words, _ = holders
    first = np.array([min(own) for own in words.values()])
    new = np.histogram(first, bins=np.arange(0, PEOPLE + 1, 200))[0]
    assert (np.diff(new) < 0).all()
    assert new[-1] > 25 * 200  # a person's own words do not end


def test_queries_are_phrased_as_people_do(rows):
    queries = {row[1] for row in rows}
    known = terms.read_terms()
    cities = known.pieces[known.first("cities") :][: known.count("cities")]
    endings = tuple(f" in {city}" for city in cities)
    words = {word for query in queries for word in query.split()}
    shares = {
        "questions": np.mean(
            [query.startswith(("how ", "what ", "where ", "is ", "can ")) for query in queries]
        ),
        "places": np.mean([query.endswith(endings) for query in queries]),
        "addresses": np.mean([query.endswith((".com", ".org", ".net")) for query in queries]),
        "phrases": np.mean(["high school" in query or "real estate" in query for query in queries]),
    }
    assert all(0.001 < share < 0.15 for share in shares.values()), shares
    assert {"how", "to", "floors", "houses", "google", "coupons"} <= words


def test_brands_come_with_what_they_sell(rows):
    known = terms.read_terms()
    home = known.topics.index("home")
    start, size = known.start["brands"][home], known.size["brands"][home]
    brands = known.pieces[start : start + size]
    with_more = {row[1] for row in rows if any(row[1].startswith(f"{brand} ") for brand in brands)}
    assert len(with_more) > 200


def test_some_words_are_misspelled(rows):
    words = Counter(word for row in rows for word in row[1].split())
    known = terms.read_terms()
    nouns = [noun for noun in known.pieces[known.start["nouns"][0] :][:500] if len(noun) > 6]
    ways = itertools.product(range(12), range(4))
    wrong = {misspelled(noun, *way) for way in ways for noun in nouns} - set(known.pieces)
    assert 0.01 < sum(words[word] for word in wrong) / sum(words[noun] for noun in nouns) < 0.1


@pytest.mark.parametrize("place", range(12))
@pytest.mark.parametrize("text", ["credit card", "tv", "a", "area rugs", "x box"])
def test_a_misspelled_term_keeps_its_first_letter_and_single_blanks(text, place):
    for way in range(4):
        wrong = misspelled(text, place, way)
        assert wrong[0] == text[0]
        assert wrong == " ".join(wrong.split())
        assert abs(len(wrong) - len(text)) <= 1


def names_a_word(query, address):
    return any(word.removesuffix("s") in address for word in WORD.findall(query) if len(word) >= 3)


def test_clicks_fit_the_query(rows):
    clicks = [(row[1], row[4]) for row in rows if row[4]]
    fitting = np.mean([names_a_word(*click) for click in clicks])
    others = np.mean([names_a_word(query, clicks[place - 999][1]) for place, (query, _) in enumerate(clicks)])
    assert fitting > 0.6
    assert others < 0.15


def test_other_clicks_go_to_sites_of_the_topic(rows):
    known = terms.read_terms()
    lists = {
        name: [
            known.pieces[start : start + size]
            for start, size in zip(known.start[name], known.size[name], strict=True)
        ]
        for name in ("things", "sites", "general_sites")
    }
    topics = defaultdict(set)
    for topic, things in enumerate(lists["things"]):
        for thing in things:
            topics[thing].add(topic)
    sites = [{site.removesuffix(".com") for site in own} for own in lists["sites"]]
    general = {site.removesuffix(".com") for site in lists["general_sites"][0]}
    fits = []
    for row in rows:
        site = row[4].removeprefix("http://www.").removesuffix(".com")
        if (
            site
            and len(topics.get(row[1], ())) == 1
            and site not in general
            and not names_a_word(row[1], site)
        ):
            fits.append(site in sites[min(topics[row[1]])])
    assert len(fits) > 300
    assert np.mean(fits) > 0.95


def test_people_are_looked_for_where_people_are_found(rows):
    known = terms.read_terms()
    first = known.pieces[known.first("first_names") :][: known.count("first_names")]
    family = known.topics.index("family")
    sites = known.pieces[known.start["sites"][family] :][: known.size["sites"][family]]
    names = [row for row in rows if row[4] and len(row[1].split()) == 2 and row[1].split()[0] in first]
    general = known.pieces[known.first("general_sites") :][: known.count("general_sites")]
    other = {piece for start in known.start["sites"] for piece in known.pieces[start : start + 5]}
    other -= {*sites, *general}
    addresses = [row[4].removeprefix("http://www.").removesuffix(".com") for row in names]
    found, elsewhere = (sum(address in some for address in addresses) for some in (sites, other))
    assert found > 500
    assert elsewhere < 0.1 * found


def test_who_types_an_address_gets_there(rows):
    typed = [row for row in rows if row[1].startswith("www.") and row[3] == "1"]
    assert len(typed) > 1_000
    assert all(row[4] == f"http://{row[1]}" for row in typed)


def test_a_session_stays_with_its_thing(rows):
    queries = [(row[0], row[1]) for row in rows]
    following = [(a[1], b[1]) for a, b in itertools.pairwise(queries) if a[0] == b[0] and a[1] != b[1]]
    later = [
        (a[1], b[1]) for a, b in zip(queries, queries[40:], strict=False) if a[0] == b[0] and a[1] != b[1]
    ]
    near, far = (
        np.mean(
            [bool(set(a.split()) & set(b.split()) - {"in", "of", "for", "and", "with"}) for a, b in pairs]
        )
        for pairs in (following, later)
    )
    assert near > 1.3 * far
