"""The audit catches every kind of tampering with a written release, and says so with exit code 1."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import call, only_line

K = 3
BASKETS = ["milk bread"] * 5 + ["milk beer beer"] * 4 + ["milk bread wine"] * 3 + ["wine wine"] * 3
TAXONOMY = "milk\tdrink\nbeer\talcohol\nwine\talcohol\nalcohol\tdrink\ndrink\tfood\nbread\tfood\n"


@pytest.fixture(scope="module")
def untouched(tmp_path_factory):
    """A release with everything that can be tampered with, and its originals."""
    directory = tmp_path_factory.mktemp("untouched")
    (directory / "baskets.dat").write_text("\n".join(BASKETS) + "\n")
    (directory / "taxonomy.tsv").write_text(TAXONOMY)
    ran = call(
        *("anonymize", "--method=flock", directory / "baskets.dat", "--out", directory / "release", "--k", K),
        *(
            "--taxonomy",
            directory / "taxonomy.tsv",
            "--private-map",
            directory / "map",
            "--method",
            "partition",
            "--set",
            "publish=bag",
        ),
        *("--write", "csv,jsonl,dat"),
    )
    assert ran.code == 0, ran.err
    return directory


@pytest.fixture
def copy(untouched, tmp_path):
    """A copy to tamper with."""
    shutil.copytree(untouched, tmp_path, dirs_exist_ok=True)
    return SimpleNamespace(
        release=tmp_path / "release",
        map=tmp_path / "map",
        manifest=tmp_path / "release" / "manifest.json",
        with_originals=("--original", tmp_path / "baskets.dat", "--private-map", tmp_path / "map"),
    )


def verdict(copy, *options):
    """Audit a copy with the program; return its exit code and what it found."""
    ran = call("audit", copy.release, *options, "--json")
    assert "Traceback" not in ran.err
    return ran.code, ran.json.get("problems") or [ran.json.get("error")]


def rows_of(path):
    return pq.read_table(path).to_pylist()


def change_rows(path, change):
    """Change a Parquet file's rows in place, keeping its schema."""
    schema = pq.read_schema(path)
    rows = rows_of(path)
    changed = change(rows)
    pq.write_table(pa.Table.from_pylist(rows if changed is None else changed, schema), path)


def change_manifest(path, change):
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def smallest_class(rows):
    """Return where the rows of a class of exactly k begin; the fixture has one."""
    contents = [str(row) for row in rows]
    return next(n for n, content in enumerate(contents) if contents.count(content) == K)


def test_an_untouched_release_holds(copy):
    assert call("audit", copy.release).code == 0
    ran = call("audit", copy.release, *copy.with_originals, "--json")
    assert ran.code == 0
    assert ran.json["holds"] is True
    assert ran.json["records"] == len(BASKETS)
    assert ran.json["k_min"] == K
    assert len(ran.json["checks"]) >= 5
    assert ic.audit(copy.release).holds


def removed(rows):
    del rows[smallest_class(rows)]


def removed_a_whole_class(rows):
    start = smallest_class(rows)
    del rows[start : start + K]


def added(rows):
    rows.insert(0, rows[0])


def item_changed(rows):
    rows[0]["items"] = ["bread"] if rows[0]["items"] != ["bread"] else ["milk"]
    rows[0]["counts"], rows[0]["exact"] = [1], [True]


def item_unknown(rows):
    for row in rows:
        row["items"] = sorted(item.replace("milk", "oat milk") for item in row["items"])


def count_changed(rows):
    rows[-1]["counts"] = [count + 1 for count in rows[-1]["counts"]]


def unsorted(rows):
    rows.reverse()


def items_unsorted(rows):
    for row in rows:
        row["items"], row["counts"] = row["items"][::-1], row["counts"][::-1]
        row["exact"] = row["exact"][::-1]


def item_twice(rows):
    for row in rows:
        row["items"], row["counts"] = row["items"] + row["items"][-1:], row["counts"] + [1]
        row["exact"] = row["exact"] + row["exact"][-1:]


def count_missing(rows):
    for row in rows:
        row["counts"] = row["counts"][:-1]


def count_of_zero(rows):
    for row in rows:
        row["counts"] = [0] * len(row["counts"])


def row_of_nothing(rows):
    rows[0] = {"items": None, "exact": None, "counts": None}


def item_of_nothing(rows):
    rows[0]["items"] = [None, *rows[0]["items"][1:]]


def count_of_nothing(rows):
    rows[0]["counts"] = [None, *rows[0]["counts"][1:]]


def no_rows(rows):
    rows.clear()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (removed, "fewer than 3"),
        (removed_a_whole_class, "no part of them"),
        (added, "no part of them"),
        (item_changed, "fewer than 3"),
        (item_unknown, "taxonomy.parquet does not list"),
        (count_changed, "fewer than 3"),
        (unsorted, "out of order"),
        (items_unsorted, "out of order"),
        (item_twice, "twice"),
        (count_missing, "damaged"),
        (count_of_zero, "count of at least 1"),
        (row_of_nothing, "damaged"),
        (item_of_nothing, ""),
        (count_of_nothing, ""),
        (no_rows, "no records"),
    ],
)
def test_changed_records_are_caught(copy, change, says):
    change_rows(copy.release / "records.parquet", change)
    code, problems = verdict(copy)
    assert code == 1
    assert any(says in problem for problem in problems)
    assert not ic.audit(copy.release).holds


def test_the_same_tampering_is_shown_to_people(copy):
    change_rows(copy.release / "records.parquet", removed)
    ran = call("audit", copy.release)
    assert ran.code == 1
    assert ran.err == ""
    assert ran.out.startswith("The claim does NOT hold: ")
    assert "problem: 1 distinct records are shared by fewer than 3" in ran.out


def test_no_problem_quotes_a_record(copy):
    change_rows(copy.release / "records.parquet", unsorted)
    change_rows(copy.map, owners_swapped)
    code, problems = verdict(copy, *copy.with_originals)
    assert code == 1
    assert not any(word in problem for problem in problems for word in ("milk", "bread", "beer", "wine"))


@pytest.mark.parametrize("name", ["owner", "time"])
def test_an_extra_column_is_caught(copy, name):
    path = copy.release / "records.parquet"
    table = pq.read_table(path)
    pq.write_table(table.append_column(name, pa.array(range(len(table)))), path)
    code, problems = verdict(copy)
    assert code == 1
    assert any("other columns" in problem for problem in problems)


def test_notes_in_the_schema_are_caught(copy):
    path = copy.release / "records.parquet"
    pq.write_table(pq.read_table(path).replace_schema_metadata({"owners": "1,2,3"}), path)
    assert verdict(copy)[0] == 1


def test_columns_of_another_type_are_caught(copy):
    path = copy.release / "records.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(0, "items", pa.array(range(len(table)))), path)
    assert verdict(copy)[0] == 1


@pytest.mark.parametrize("name", ["records_in", "records_out", "withheld", "groups", "k_min"])
def test_a_wrong_count_in_the_manifest_is_caught(copy, name):
    change_manifest(copy.manifest, lambda manifest: manifest["counts"].update({name: 7}))
    code, problems = verdict(copy)
    assert code == 1
    assert any("manifest" in problem for problem in problems)


def test_a_claim_that_promises_more_is_caught(copy):
    def raise_k(manifest):
        words = manifest["claim"]["in_words"].replace(str(K), str(K + 1))
        manifest["claim"].update(k=K + 1, in_words=words)

    change_manifest(copy.manifest, raise_k)
    code, problems = verdict(copy)
    assert code == 1
    assert any("not the one of this method and parameters" in problem for problem in problems)


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: manifest["claim"].update(k=1),
        lambda manifest: manifest["claim"].update(in_words="Perfectly anonymous."),
        lambda manifest: manifest["claim"].update(kind="perfection"),
        lambda manifest: manifest.pop("claim"),
        lambda manifest: manifest.pop("counts"),
        lambda manifest: manifest.update(counts=[1, 2]),
        lambda manifest: manifest.update(counts=None),
        lambda manifest: manifest["counts"].update(withheld="none"),
    ],
)
def test_a_manifest_that_does_not_say_what_it_must_is_caught(copy, change):
    change_manifest(copy.manifest, change)
    code, problems = verdict(copy)
    assert code == 1
    assert problems
    shown = call("show", copy.release)
    assert shown.code in (0, 1, 2)
    assert "internal error" not in shown.err


def cycle(rows):
    above = {row["label"]: row for row in rows}
    above["drink"]["parent"] = "milk"


def second_root(rows):
    next(row for row in rows if row["label"] == "drink")["parent"] = None


def label_missing(rows):
    return [row for row in rows if row["label"] != "milk"]


def parent_missing(rows):
    return [row for row in rows if row["parent"] is not None]


def label_twice(rows):
    rows.append(rows[-1])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (cycle, "parent is not listed"),
        (second_root, "2 roots"),
        (label_missing, "does not list"),
        (parent_missing, "0 roots"),
        (label_twice, "twice"),
    ],
)
def test_a_changed_taxonomy_is_caught(copy, change, says):
    change_rows(copy.release / "taxonomy.parquet", change)
    code, problems = verdict(copy)
    assert code == 1
    assert any(says in problem for problem in problems)


@pytest.mark.parametrize("name", ["records.parquet", "taxonomy.parquet"])
@pytest.mark.parametrize("how", ["missing", "cut", "text", "empty"])
def test_a_missing_or_damaged_file_is_caught(copy, name, how):
    path = copy.release / name
    content = path.read_bytes()
    path.unlink()
    if how != "missing":
        path.write_bytes({"cut": content[: len(content) // 2], "text": b"not Parquet", "empty": b""}[how])
    code, problems = verdict(copy)
    assert code == 1
    assert any("missing or damaged" in problem for problem in problems)
    assert "internal error" not in call("show", copy.release).err


@pytest.mark.parametrize("content", [None, "", "not JSON", "[1]", '{"format": "else"}'])
def test_a_directory_that_is_no_release_is_bad_input(copy, content):
    copy.manifest.unlink() if content is None else copy.manifest.write_text(content)
    ran = call("audit", copy.release)
    assert ran.code == 2
    assert "manifest.json" in only_line(ran.err)


@pytest.mark.parametrize("name", ["records.csv", "records.jsonl", "records.dat"])
def test_a_changed_text_form_is_caught(copy, name):
    path = copy.release / name
    path.write_text(path.read_text().replace("milk", "wine", 1))
    code, problems = verdict(copy)
    assert code == 1
    assert any(name in problem for problem in problems)


def owners_swapped(rows):
    """Give two people who published different records each other's row."""
    first, last = rows[0], max(rows, key=lambda row: row["row"])
    first["row"], last["row"] = last["row"], first["row"]


def owner_missing(rows):
    rows.pop()


def row_twice(rows):
    rows[0]["row"] = rows[1]["row"]


def row_beyond(rows):
    rows[0]["row"] = 1_000


def stranger(rows):
    rows[0]["owner"] = "stranger"


def one_owner_more(rows):
    rows.append({"owner": "stranger", "row": 0})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (owners_swapped, "does not generalize"),
        (owner_missing, "exactly one owner"),
        (row_twice, "exactly one owner"),
        (row_beyond, "exactly one owner"),
        (stranger, "owner"),
        (one_owner_more, "owner"),
    ],
)
def test_a_changed_map_is_caught_with_the_originals(copy, change, says):
    change_rows(copy.map, change)
    assert call("audit", copy.release).code == 0  # without the originals there is nothing to see
    code, problems = verdict(copy, *copy.with_originals)
    assert code == 1
    assert any(says in problem for problem in problems)


def test_other_originals_are_caught(copy):
    other = copy.release.parent / "baskets.dat"
    other.write_text("\n".join(reversed(BASKETS)) + "\n")
    assert verdict(copy, *copy.with_originals)[0] == 1


def test_the_original_needs_the_map(copy):
    ran = call("audit", copy.release, *copy.with_originals[:2])
    assert ran.code == 2
    assert "--original needs --private-map" in only_line(ran.err)


def test_what_is_no_map_is_bad_input(copy):
    for wrong in (copy.manifest, copy.release / "records.parquet", copy.release / "no"):
        ran = call("audit", copy.release, *copy.with_originals[:2], "--private-map", wrong)
        assert ran.code == 2
        assert "private map" in only_line(ran.err)


def test_a_failed_check_is_not_listed_as_passed(copy):
    """Also when there are more problems than are listed."""
    table = pq.read_table(copy.release / "records.parquet")
    many = pa.concat_tables([table] * 30)
    pq.write_table(many, copy.release / "records.parquet")
    found = call("audit", copy.release, "--json").json
    assert found["holds"] is False
    assert not any("sorted" in check or "counts" in check for check in found["checks"])


def test_sessions_and_nouns_are_audited_against_the_log(tmp_path):
    log = tmp_path / "log.csv"
    lines = [
        f"u{user},{query},2006-03-0{day} 10:00:00\n"
        for user in range(6)
        for day, query in enumerate(["dogs", "cats and mice", "the"], 1)
    ]
    log.write_text("person,words,at\n" + "".join(lines))
    options = ("--columns", "user=person,query=words,time=at", "--unit", "session:1h", "--sets")
    ran = call(
        "anonymize",
        "--method=flock",
        log,
        "--out",
        tmp_path / "release",
        "--k",
        3,
        *options,
        "--private-map",
        tmp_path / "map",
    )
    assert ran.code == 0, ran.err
    owners = {row["owner"] for row in rows_of(tmp_path / "map")}
    assert len(owners) == 12  # "the" leaves nothing
    ran = call("audit", tmp_path / "release", "--original", log, "--private-map", tmp_path / "map")
    assert ran.code == 0, ran.out + ran.err
    assert "12 published records generalize their owners' originals" in ran.out
