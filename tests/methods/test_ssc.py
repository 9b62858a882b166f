"""SSC as a method: the paper's running example, what is published and what must not be."""

from __future__ import annotations

import sys
from collections import Counter
from fractions import Fraction

import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import AOL_HEADER, aol_line, call, only_line, refused
from golden import GOLDEN
from strategies import taxonomy_of

EXAMPLE = GOLDEN["ssc"]
NAMES = list(EXAMPLE["vocabularies"])
WORDS = {"thing": ["drink", "cloth"], "drink": ["beer", "wine", "milk"], "cloth": ["boot", "shoe", "hat"]}


def whole(children):
    """Return the children of every node, leaves included."""
    return {**{leaf: [] for family in children.values() for leaf in family}, **children}


def example(**settings):
    rows = ic.Transactions.from_rows(EXAMPLE["vocabularies"].values())
    tree = taxonomy_of(whole(EXAMPLE["taxonomy"]))
    return ic.anonymize(rows, tree, k=EXAMPLE["k"], method="ssc", eps=EXAMPLE["eps"], **settings)


def clusters(release):
    found = {}
    for name, number in zip(NAMES, release.classes.of_row.tolist(), strict=True):
        found.setdefault(number, []).append(name)
    return sorted(found.values())


def published(release):
    """Return the distinct records, by the first row that has each."""
    table = release.table().to_pylist()
    row_of = release.records.row_of.tolist()
    return [dict(zip(table[row]["items"], table[row]["counts"], strict=True)) for row in row_of]


@pytest.mark.parametrize("order", ["ascending", "input"])
@pytest.mark.parametrize("terms", ["safe", "verbatim"])
def test_the_papers_running_example(order, terms):
    expected = EXAMPLE[f"seed_order_{order}"]
    release = example(order=order, terms=terms)
    assert clusters(release) == sorted(expected["clusters"])
    assert release.losses.blm == pytest.approx(float(Fraction(expected["blm_derived"])), abs=1e-12)
    for members, typical in zip(expected["clusters"], expected.get("typical", []), strict=False):
        assert published(release)[NAMES.index(members[0])] == typical


def test_lg_bag_on_the_running_example():
    rows = ic.Transactions.from_rows(EXAMPLE["vocabularies"].values())
    tree = taxonomy_of(whole(EXAMPLE["taxonomy"]))
    release = ic.anonymize(rows, tree, k=EXAMPLE["k"], method="partition", publish="bag")
    assert clusters(release) == sorted(EXAMPLE["lg_bag_derived"]["groups"])
    assert release.losses.blm == pytest.approx(float(Fraction(EXAMPLE["lg_bag_derived"]["blm"])), abs=1e-12)


def test_the_bags_and_their_generalization():
    bags = published(example(typical="bags", terms="verbatim"))[0]
    assert bags == {"Jackets": 1, "{Shoes:2, Boots:1}": 1, "{Vino:2, Wine:1}": 1, "{Wine:2, Vino:1}": 1}
    assert published(example(typical="generalize"))[0] == {"Alcohol": 2, "Footwear": 1, "Jackets": 1}


def test_alternatives_are_in_the_taxonomy_below_what_covers_them(tmp_path):
    example(typical="bags", terms="verbatim").write(tmp_path / "release")
    rows = {row["label"]: row for row in pq.read_table(tmp_path / "release/taxonomy.parquet").to_pylist()}
    assert rows["{Shoes:2, Boots:1}"] == {
        "label": "{Shoes:2, Boots:1}",
        "exact": False,
        "parent": "Footwear",
        "level": 4,
        "leaves": 2,
    }
    assert len(rows) == len(set(rows))


def test_alternatives_that_no_tree_lists_may_be_many(tmp_path):
    """Years hang under their decade, which has no leaves of its own: the audit must not take that for a limit."""
    rows = [[year, other] for year in ("1941", "1942", "1943") for other in ("1944", "1945")] * 2
    data = ic.Transactions.from_rows(rows)
    release = ic.anonymize(data, "wordnet", k=2, method="ssc", typical="bags", unlisted="name")
    release.write(tmp_path / "release")
    listed = {row["label"]: row for row in pq.read_table(tmp_path / "release/taxonomy.parquet").to_pylist()}
    bags = [row for row in listed.values() if row["label"].startswith("{")]
    assert bags
    assert all(row["leaves"] > listed[row["parent"]]["leaves"] for row in bags)


def made(rows, *, k=2, people=None, **settings):
    data = ic.Transactions.from_rows(rows, people=people)
    return ic.anonymize(data, taxonomy_of(whole(WORDS)), k=k, method="ssc", **settings)


def test_what_one_person_has_is_not_published_unless_asked_for():
    rows = [["wine", "boot"], ["beer", "boot"]]
    assert published(made(rows, eps=2)) == [{"boot": 1, "drink": 1}] * 2
    assert published(made(rows, eps=2, terms="verbatim")) == [{"boot": 1, "wine": 1}] * 2
    assert published(made(rows, eps=2, typical="bags")) == [{"boot": 1, "drink": 1}] * 2


@pytest.mark.parametrize("typical", ["medoid", "bags", "generalize"])
def test_terms_of_single_people_promise_nothing(typical):
    rows = [["wine", "boot"], ["beer", "boot"]]
    assert made(rows, eps=2, typical=typical).claim.kind == "k-anonymity"
    literal = made(rows, eps=2, typical=typical, terms="verbatim")
    assert literal.claim.kind == "none"
    assert "a single person typed" in str(literal.claim.not_promised)


@pytest.mark.parametrize("typical", ["medoid", "bags", "generalize"])
def test_what_few_have_is_published_as_what_enough_people_have_below_it(typical):
    """Nobody shares a drink, two share a boot: the drinks are covered, three people have one."""
    rows = [["wine", "boot"], ["beer", "boot"], ["milk", "hat"]]
    assert published(made(rows, k=3, eps=2, typical=typical)) == [{"drink": 1, "cloth": 1}] * 3


def test_people_are_counted_for_what_is_safe():
    """Two sessions of one person do not make a term common."""
    rows = [["wine", "boot"], ["wine", "boot"], ["beer", "boot"], ["beer", "boot"]]
    assert {tuple(bag) for bag in published(made(rows, people=["a", "a", "b", "b"], eps=2))} == {
        ("boot", "drink")
    }
    assert {tuple(bag) for bag in published(made(rows, eps=2))} == {("beer", "boot"), ("boot", "wine")}


def test_losses_are_those_of_what_the_terms_stand_for():
    release = made([["wine", "boot"], ["beer", "boot", "hat"]], eps=2, terms="verbatim")
    lm_of_drink = 2 / 5
    assert release.losses.blm == pytest.approx((2 * lm_of_drink + 1) / 5)
    assert release.losses.kept_exactly == pytest.approx(3 / 5)  # boot twice, wine once
    assert release.losses.avg_length == 2


def test_who_has_nothing_in_common_is_withheld():
    release = made([["wine"], ["wine"], ["boot"], ["milk", "hat"]], k=2, eps=0)
    assert release.counts.withheld == 2
    assert published(release)[0] == {"wine": 1}
    assert release.account[-1].startswith("Looked for the nearest among")


def test_unlisted_words_match_themselves_only():
    rows = [["beer", "zzz"], ["wine", "zzz"], ["beer", "zzy"], ["wine", "zzx"]]
    data = ic.Transactions.from_rows(rows)
    release = ic.anonymize(
        data, taxonomy_of(whole(WORDS)), k=2, method="ssc", eps=4, unlisted="keep", terms="verbatim"
    )
    assert Counter(item for bag in published(release) for item in bag if item.startswith("z")) == {"zzz": 2}


def test_distances_are_those_of_the_given_tree():
    """A word and the concept it names are one; without that, three steps would be too few."""
    tree = {"thing": ["animal"], "animal": ["dog"], "dog": ["pug", "hound"]}
    data = ic.Transactions.from_rows([["animal"], ["pug"]])
    settings = {"method": "ssc", "k": 2, "typical": "generalize"}
    assert ic.anonymize(data, taxonomy_of(whole(tree)), eps=2, **settings).losses.avg_level == 2
    with pytest.raises(ic.BadInputError, match="leaves nothing to publish"):
        ic.anonymize(data, taxonomy_of(whole(tree)), eps=1, **settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"eps": -1}, "eps must be between 0 and 1,000"),
        ({"eps": 1_001}, "eps must be between 0 and 1,000"),
        ({"eps": "nan"}, "eps must be between 0 and 1,000"),
        ({"eps": "wide"}, "eps must be of type float"),
        ({"omega": 2}, "omega must be greater than eps / 2 = 2"),
        ({"eps": 0, "omega": 0}, "omega must be greater than eps / 2 = 0"),
        ({"omega": 2_001}, "at most 2,000"),
        ({"omega": 3.00004}, "omega must have at most 3 decimals"),
        ({"order": "down"}, "order must be one of"),
        ({"model": "prefect"}, "did you mean 'perfect'"),
    ],
)
def test_parameters_out_of_range_say_the_rule(settings, words):
    with pytest.raises(ic.BadInputError, match=words):
        made([["wine"], ["wine"]], **settings)


def test_too_wide_a_reach_is_refused(monkeypatch):
    monkeypatch.setattr(sys.modules["incrowd.methods.ssc.method"], "MOST_PAIRS", 10)
    rows = [["wine", "beer", "milk", "boot", "shoe", "hat"]] * 2
    assert made(rows, eps=0).counts.records_out == 2
    with pytest.raises(ic.BadInputError, match="eps = 2 makes more than 10 pairs"):
        made(rows, eps=2)


def test_omega_in_between_changes_what_is_near():
    """With a small omega an exact match of one term beats a poor match of two."""
    rows = [["wine", "hat"], ["wine"], ["beer", "boot"], ["milk"]]
    near = {
        omega: made(rows, eps=2, omega=omega, order="input").classes.of_row for omega in (1.001, 3.999, 4.001)
    }
    assert near[1.001].tolist() == near[3.999].tolist() == [0, 0, 1, 1]
    assert near[4.001].tolist() == [0, 1, 0, 1]


def test_a_vocabulary_of_thousands_of_terms():
    """There is no limit: 6,000 terms on both sides, and counts of thousands."""
    long = [f"w{n}" for n in range(6_000)]
    data = ic.Transactions.from_rows([long, long[3_000:] + ["w0"] * 9_000, long[:4_000], ["w1"] * 7_000])
    release = ic.anonymize(data, ic.balanced(data, 5), k=2, method="ssc", eps=2)
    assert release.counts.records_out == 4


def test_progress_is_told():
    told = []
    data = ic.Transactions.from_rows([["wine"]] * 7)
    ic.anonymize(
        data, ic.balanced(data, 2), k=2, method="ssc", progress=lambda done, rows: told.append((done, rows))
    )
    assert told[-1] == (7, 7)
    assert told == sorted(told)


@pytest.fixture
def log(tmp_path):
    times = ["2006-03-01 10:00:00", "soon", "2006-03-01 10:10:00"]
    lines = [aol_line(user, "red wine", time) for user in range(5) for time in times]
    path = tmp_path / "log.tsv"
    path.write_text(AOL_HEADER + "".join(lines), encoding="utf-8")
    return path


def run(log, *more):
    return call("anonymize", log, "--out", log.parent / "release", "--method", "ssc", "--k", 3, *more)


def test_times_that_cannot_be_read_are_rejects(log):
    ran = run(log, "--unit", "session:30m", "--json")
    assert ran.code == 0, ran.err
    assert sum(ran.json["rejected"]["by_reason"].values()) == 5
    assert ran.json["records_in"] == 5
    assert "bounds avoided" in ran.json["account"][-1]


def test_sessions_without_times_and_bad_values_on_the_command_line(log, tmp_path):
    plain = tmp_path / "plain.csv"
    plain.write_text("user,query\n" + "".join(f"{user},wine\n" for user in range(5)))
    assert "session needs times" in refused(run(plain, "--unit", "session:30m"), tmp_path / "release")
    assert "eps must be between" in refused(run(log, "--set", "eps=-2"), tmp_path / "release")
    assert "omega must be greater" in only_line(run(log, "--set", "omega=1").err)
    assert "unit needs a gap" in only_line(run(log, "--unit", "session:soon").err)


def test_the_audit_says_what_it_cannot_see_without_the_originals(tmp_path):
    example().write(tmp_path / "release")
    assert ic.audit(tmp_path / "release").unproven == [
        "how near published items are to their owners' own: only the originals show it"
    ]
    example(typical="generalize").write(tmp_path / "general")
    assert ic.audit(tmp_path / "general").unproven == []
