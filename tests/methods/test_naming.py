"""What few people have is published by no method and no safe variant, neither as a query nor as a name."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd as ic
from incrowd.auditing.owners import alternatives
from incrowd.core.classes import WITHHELD
from incrowd.core.transactions import Transactions
from incrowd.methods.naming import NOTHING, Copies, classes_of, rule_for
from incrowd.release.rows import entries_of
from incrowd.taxonomy import attach
from incrowd.taxonomy.meaning import meaning_of
from strategies import taxonomy_of

SECRET_QUERY, SECRET_CONCEPT = "17 quagglewick lane", "leprosy"
TREE = {
    "thing": ["food", "beast", "illness"],
    "food": ["drink", "bread"],
    "drink": ["wine", "tea", "milk"],
    "beast": ["dog", "cat", "fish"],
    "fish": ["eel", "cod"],
    "illness": ["skin disease", "flu"],
    "skin disease": [SECRET_CONCEPT, "acne"],
}
PARENT = {child: parent for parent, family in TREE.items() for child in family}
UNLISTED = ["zorblax", "quuxify", "unlisted", "anything", SECRET_QUERY]
COMMON_WORDS = ["wine", "tea", "dog", "cat", "eel", "flu", "acne", "food", "fish", "zorblax", "quuxify"]
CASES = [
    *((name, {}) for name in ("microaggregation", "navarro", "erola", "plain")),
    ("microaggregation", {"block_size": 4}),
    *(
        ("ssc", {"typical": typical, "model": model, "order": order, "eps": eps})
        for typical in ("medoid", "bags", "generalize")
        for model, order, eps in (
            ("perfect", "ascending", 4),
            ("maximum", "input", 2),
            ("perfect", "farthest", 9),
        )
    ),
]


def tree():
    leaves = {leaf: [] for family in TREE.values() for leaf in family}
    return taxonomy_of({**leaves, **TREE})


def made_up(seed):
    """Return rows of queries, whose they are, and k; fewer than k people have the secret query and the rare concept."""
    chance = random.Random(seed)
    k = chance.randint(2, 4)
    people = [f"p{n}" for n in range(chance.randint(k, 4 * k))]
    rows, whose = [], []
    for person in people:
        for _ in range(chance.choice([1, 1, 3])):
            rows.append(chance.choices(COMMON_WORDS + UNLISTED[2:4], k=chance.randint(0, 5)))
            whose.append(person)
    for secret in (SECRET_QUERY, SECRET_CONCEPT):
        for person in chance.sample(people, k - 1):
            own = [n for n, name in enumerate(whose) if name == person]
            rows[chance.choice(own)] += [secret] * chance.randint(1, 5)
    return rows, whose, k


def holders(rows, people):
    """Return the different people who have each item, or anything below it, by walking up."""
    found = defaultdict(set)
    for row, person in zip(rows, people, strict=True):
        for item in row:
            node = item
            while node is not None:
                found[node].add(person)
                node = PARENT.get(node)
    return found


def parts(label):
    """Return what a published label names: a bag of alternatives names several, classes among them in brackets."""
    return [text for text, _ in alternatives(label)] or [label]


@pytest.mark.parametrize("distinct", ["people", "records"])
@pytest.mark.parametrize(("method", "variant"), CASES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_few_people_have_is_not_published(seed, method, variant, distinct):
    rows, people, k = made_up(seed)
    if method == "ssc" and distinct == "records":
        people = [str(n) for n in range(len(rows))]  # k counts records there, and nothing is said of people
    data = Transactions.from_rows(rows, people=people).with_events()
    try:
        release = ic.anonymize(
            data, tree(), k=k, method=method, unlisted="keep", distinct=distinct, seed=seed % 7, **variant
        )
    except ic.BadInputError as error:
        assert "leaves nothing" in str(error) or "k must be at most" in str(error)  # noqa: PT017
        return
    found = holders(rows, people)
    named = {
        name
        for label in entries_of(release.classes, release.taxonomy).labels.to_pylist()
        for name in parts(label)
    }
    if len(found[SECRET_QUERY]) < k:
        assert SECRET_QUERY not in named
    if len(found[SECRET_CONCEPT]) < k:
        assert SECRET_CONCEPT not in named
    assert {name: len(found[name]) for name in named if len(found[name]) < k} == {}
    assert (np.diff(release.classes.start) > 0).all()
    if release.claim.typed_by is not None:
        assert release.claim.typed_by == k
        assert "thing" not in named  # a name that says nothing


@pytest.mark.parametrize("method", ["microaggregation", "navarro", "erola", "plain"])
def test_verbatim_does_publish_it_so_the_search_can_find(method):
    rows = [[SECRET_CONCEPT] * 9, [SECRET_CONCEPT] * 8 + ["tea"], [SECRET_QUERY] * 9]
    data = Transactions.from_rows(rows).with_events()
    release = ic.anonymize(data, tree(), k=3, method=method, unlisted="keep", verbatim=True)
    assert SECRET_CONCEPT in entries_of(release.classes, release.taxonomy).labels.to_pylist()
    assert release.claim.kind == "none"


def spelled(rows, copies, *, k, of_row=None):
    """Return what is published of copies (class, concept, query or None), and the class of each row."""
    data, taxonomy, *_ = attach(Transactions.from_rows(rows).with_events(), tree(), unlisted="keep")
    texts, labels = data.events.texts.to_pylist(), taxonomy.labels.to_pylist()
    meaning = meaning_of(taxonomy)
    query = np.array([NOTHING if q is None else texts.index(q) for *_, q in copies], dtype=np.int64)
    node = np.array([labels.index(name) for _, name, _ in copies], dtype=np.int32)
    classes = classes_of(
        Copies(
            np.array([c for c, *_ in copies], dtype=np.int64),
            node,
            query,
            np.ones(len(copies), dtype=np.int64),
        ),
        np.array(range(len(rows)) if of_row is None else of_row, dtype=np.int32),
        events=data.events,
        meaning=meaning,
        rule=rule_for(data, taxonomy, data.events, meaning, people=None, least=k),
    )
    names = entries_of(classes, taxonomy).labels.to_pylist()
    bounds = zip(classes.start[:-1].tolist(), classes.start[1:].tolist(), strict=True)
    return [dict(zip(names[a:b], classes.counts[a:b].tolist(), strict=True)) for a, b in bounds], classes


def test_a_name_is_climbed_to_the_nearest_that_enough_people_have():
    rows = [["wine"], ["tea"], ["bread"], ["bread"]]
    copies = [
        (0, "wine", "wine"),
        (0, "wine", None),
        (1, "tea", None),
        (2, "bread", "bread"),
        (3, "bread", None),
    ]
    assert spelled(rows, copies, k=2)[0] == [{"drink": 2}, {"drink": 1}, {"bread": 1}, {"bread": 1}]
    assert spelled(rows, copies, k=4)[0] == [{"food": 2}, {"food": 1}, {"food": 1}, {"food": 1}]


def test_an_unlisted_query_is_published_if_enough_people_typed_it_and_else_not_at_all():
    rows = [["zorblax"], ["zorblax"], ["quuxify", "tea"], ["tea"]]
    copies = [(0, "zorblax", "zorblax"), (2, "quuxify", "quuxify"), (2, "tea", "tea")]
    assert spelled(rows, copies, k=2)[0] == [{"zorblax": 1}, {"tea": 1}]


def test_the_rows_of_a_class_of_which_nothing_is_left_are_withheld():
    rows = [["tea"], ["tea"], ["dog"], ["zorblax"], ["quuxify"], []]
    copies = [(0, "tea", "tea"), (1, "dog", "dog"), (1, "quuxify", None), (2, "tea", None)]
    found, classes = spelled(rows, copies, k=2, of_row=[0, 0, 1, 1, 2, WITHHELD])
    assert found == [{"tea": 1}, {"tea": 1}]
    assert classes.of_row.tolist() == [0, 0, WITHHELD, WITHHELD, 1, WITHHELD]
    assert classes.withheld == 3


def test_only_the_root_or_a_made_branch_is_no_name():
    rows = [["wine"], ["dog"], ["zorblax"], ["quuxify"]]
    copies = [(row, rows[row][0], rows[row][0]) for row in range(4)]
    found, classes = spelled(rows, copies, k=2)
    assert found == []
    assert classes.withheld == 4


def test_small_numbers_are_not_told():
    rows = [["tea"], ["tea"], ["tea", "zorblax"]]
    (note,) = spelled(rows, [(0, "tea", "tea"), (1, "tea", None), (2, "zorblax", "zorblax")], k=3)[1].notes
    assert "dropped fewer than 3" in note
    assert "fewer than 3 distinct queries mean nothing" in note
