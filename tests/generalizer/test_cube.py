"""Cubes: what they count is what a scan counts, and no file is trusted that is not exactly the right one."""

from __future__ import annotations

import json
import math
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generalizer.naive import make_table
from incrowd.errors import BadInputError
from incrowd.generalizer import (
    Attribute,
    AuxiliaryTable,
    Policy,
    Schema,
    build_lattice,
    generalize,
    open_cube,
    predicted_bytes,
)
from incrowd.generalizer.cube import file as cubefile
from incrowd.generalizer.cube.layout import HEADER_BYTES, Layout

NAMES = ("a", "b", "c", "d")
LADDERS = {"a": {v: (v // 2, v // 4) for v in range(6)}, "c": {v: (v // 3,) for v in range(6)}}
DOMAINS = {"a": range(6), "b": range(3), "c": range(6), "d": range(4)}
ROWS = [(n % 6, n * n % 3, n // 7 % 6, n % 5 % 4) for n in range(90)]


def some_table(rows=ROWS, **parameters):
    return make_table(NAMES, rows, **({"domains": DOMAINS, "ladders": LADDERS} | parameters))


def assert_same(found, expected):
    assert found.shape == expected.shape
    assert found.totals.tolist() == expected.totals.tolist()
    assert {name: sums.tolist() for name, sums in found.guesses.items()} == {
        name: sums.tolist() for name, sums in expected.guesses.items()
    }


def nodes(table):
    """Strategies for a node of each attribute, "don't care" included."""
    return {
        each.name: st.tuples(st.integers(0, len(each.domain) - 1), st.integers(0, each.top))
        for each in table.schema.attributes
    }


@given(
    rows=st.lists(st.tuples(*(st.sampled_from(DOMAINS[name]) for name in NAMES)), min_size=1, max_size=40),
    laddered=st.sets(st.sampled_from("ac")),
    protected=st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True),
    data=st.data(),
)
def test_it_is_a_scan(rows, laddered, protected, data):
    table = some_table(rows, ladders={name: LADDERS[name] for name in laddered})
    cube = open_cube(table, protected)
    others = [name for name in NAMES if name not in protected]
    for _ in range(3):
        chosen = data.draw(st.sets(st.sampled_from(others)))
        fixed = {name: data.draw(st.integers(0, len(DOMAINS[name]) - 1)) for name in NAMES if name in chosen}
        known = {name: strategy for name, strategy in nodes(table).items() if name in others}
        past = data.draw(st.fixed_dictionaries({}, optional=known))
        assert_same(cube.lattice(fixed, protected, past), build_lattice(table, fixed, protected, past))
        assert_same(cube.lattice(fixed, protected[:1]), build_lattice(table, fixed, protected[:1]))


def test_every_cell_of_a_small_table():
    table = some_table()
    cube = open_cube(table, ["d"])
    for a in range(6):
        for b in range(3):
            for c in range(6):
                fixed = {"a": a, "b": b, "c": c}
                assert_same(cube.lattice(fixed, ["d"]), build_lattice(table, fixed, ["d"]))


def test_many_values_are_sorted_rightly():
    """Up to 200 protected values in a cell, in no order."""
    rows = [(n % 2, value) for n, value in enumerate(np.random.default_rng(3).zipf(1.3, 9000) % 200)]
    table = make_table(("a", "x"), [(a, int(x)) for a, x in rows])
    for fixed in ({}, {"a": 0}, {"a": 1}):
        assert_same(open_cube(table, ["x"]).lattice(fixed, ["x"]), build_lattice(table, fixed, ["x"]))


@pytest.mark.parametrize("count", [65_535, 65_536, 140_000])
def test_the_types_are_wide_enough(count):
    table = make_table(("a", "x"), [(n % 2, n % 3) for n in range(count)])
    assert_same(open_cube(table, ["x"]).lattice({"a": 1}, ["x"]), build_lattice(table, {"a": 1}, ["x"]))


def test_a_table_of_one_attribute_or_no_rows():
    table = make_table(("x",), [(1,), (1,), (2,)])
    assert_same(open_cube(table, ["x"]).lattice({}, ["x"]), build_lattice(table, {}, ["x"]))
    full = some_table()
    empty = AuxiliaryTable(full.schema, 0, {name: column[:0] for name, column in full.columns.items()})
    assert open_cube(empty, ["d"]).lattice({"a": 1}, ["d"]).totals.tolist() == [0] * 4


def schema(*sizes, ladder=()):
    attributes = [Attribute(f"q{place}", tuple(range(size))) for place, size in enumerate(sizes)]
    return Schema((*attributes, Attribute("z", tuple(range(8)), ladder)))


@pytest.mark.parametrize(
    ("rows", "values", "totals", "guesses"),
    [
        (65_535, 1, 2, 2),
        (65_536, 1, 4, 4),
        (40_000, 2, 2, 2),
        (43_691, 2, 2, 4),
        (10_000_000, 236, 4, 4),
        (2**32 - 1, 2, 4, 8),
        (2**32, 1, 8, 8),
    ],
)
def test_the_smallest_types_that_hold_the_numbers(rows, values, totals, guesses):
    layout = Layout.of(schema(values, 5), rows, "q0")
    assert (layout.totals_type.itemsize, layout.guesses_type.itemsize) == (totals, guesses)
    assert layout.cells == 6 * 9
    start = -(-(HEADER_BYTES + 54 * totals) // 64) * 64
    assert predicted_bytes(schema(values, 5), rows, ["q0"]) == start + 54 * guesses


def test_an_axis_has_the_distinct_nodes_of_its_ladder():
    ladder = (tuple("aabbccdd"), tuple("xxxxyyyy"))
    assert Layout.of(schema(3, ladder=ladder), 10, "q0").cells == 8 + 4 + 2 + 1


def test_prediction_does_not_overflow():
    assert predicted_bytes(schema(*[1000] * 12), 10**7, ["z"]) > 1000**12 * 8


# Files.


@pytest.fixture
def table():
    return some_table()


def the_file(directory):
    (path,) = directory.glob("*.cube")
    return path


@pytest.fixture
def builds(monkeypatch):
    """Count how often a cube is built."""
    built = []
    write = cubefile._write
    monkeypatch.setattr(cubefile, "_write", lambda *arguments: (built.append(1), write(*arguments)))
    return built


def check(table, directory, names=("d",)):
    cube = open_cube(table, names, directory)
    fixed = {"a": 1, "b": 2, "c": 3}
    for name in names:
        seen = {each: code for each, code in fixed.items() if each != name}
        assert_same(cube.lattice(seen, [name]), build_lattice(table, seen, [name]))
    return cube


def test_a_file_is_as_large_as_predicted_and_built_once(table, tmp_path, builds):
    names = ("d", "a")
    cube = check(table, tmp_path / "new" / "place", names)
    sizes = [path.stat().st_size for path in tmp_path.rglob("*.cube")]
    assert sum(sizes) == predicted_bytes(table.schema, table.rows, names) == cube.nbytes
    check(table, tmp_path / "new" / "place", names)
    assert len(builds) == 2
    assert not list(tmp_path.rglob("*.new"))


def test_what_is_mapped_cannot_be_written(table, tmp_path):
    face = open_cube(table, ["d"], tmp_path)._faces["d"]
    for numbers in (face.totals, face.guesses):
        assert not numbers.flags.writeable
        assert not numbers.flags.owndata


def header_of(path):
    return json.loads(path.read_bytes()[:HEADER_BYTES])


def with_header(path, **changes):
    content = path.read_bytes()
    path.write_bytes(
        json.dumps(header_of(path) | changes).encode().ljust(HEADER_BYTES) + content[HEADER_BYTES:]
    )


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "cut to its header": lambda path: path.write_bytes(path.read_bytes()[:HEADER_BYTES]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b" "),
    "garbage": lambda path: path.write_bytes(b"\xff" * path.stat().st_size),
    "no object": lambda path: path.write_bytes(b"[]".ljust(HEADER_BYTES) + path.read_bytes()[HEADER_BYTES:]),
    "another format": lambda path: with_header(path, format=2),
    "another's": lambda path: with_header(path, fingerprint="0" * 64),
    "other digests": lambda path: with_header(path, sha256=["0" * 64] * 2),
    "no digests": lambda path: with_header(path, sha256=None),
}


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_not_right_is_built_anew(table, tmp_path, builds, damage):
    open_cube(table, ["d"], tmp_path)
    right = the_file(tmp_path).read_bytes()
    DAMAGES[damage](the_file(tmp_path))
    check(table, tmp_path)
    assert len(builds) == 2
    assert the_file(tmp_path).read_bytes() == right


@pytest.mark.parametrize("where", [HEADER_BYTES, HEADER_BYTES + 401, -1, -400])
def test_one_bit_is_enough(table, tmp_path, builds, where):
    open_cube(table, ["d"], tmp_path)
    flip(the_file(tmp_path), where)
    check(table, tmp_path)
    assert len(builds) == 2


@pytest.mark.parametrize(
    "other",
    [
        some_table(ROWS[::-1] + ROWS[:1]),
        some_table([*ROWS[:-1], (0, 0, 0, 0)]),
        some_table(ladders={"a": {v: (v // 3, v // 6) for v in range(6)}, "c": LADDERS["c"]}),
        some_table(domains=DOMAINS | {"b": [2, 1, 0]}),
    ],
    ids=["more rows", "one row", "ladder", "domain"],
)
def test_a_stale_file_is_built_anew(table, tmp_path, builds, other):
    open_cube(table, ["d"], tmp_path)
    check(other, tmp_path)
    check(table, tmp_path)
    assert len(builds) == 3


def test_what_an_interrupted_run_left_is_no_harm(table, tmp_path, monkeypatch):
    def fails(table, layout):
        yield from list(cubefile_slabs(table, layout))[:2]
        raise KeyboardInterrupt

    cubefile_slabs = cubefile.slabs
    with monkeypatch.context() as patch:
        patch.setattr(cubefile, "slabs", fails)
        with pytest.raises(KeyboardInterrupt):
            open_cube(table, ["d"], tmp_path)
    assert not list(tmp_path.glob("*.cube"))
    assert list(tmp_path.glob("*.new"))
    check(table, tmp_path)
    assert not list(tmp_path.glob("*.new"))


def test_those_who_build_at_once_share_one_file(table, tmp_path, builds, monkeypatch):
    """Locks are held by open files, so threads are to each other what processes are."""

    def slowly(*arguments):
        time.sleep(0.2)
        return quickly(*arguments)

    quickly = cubefile.slabs
    monkeypatch.setattr(cubefile, "slabs", slowly)
    with ThreadPoolExecutor(8) as pool:
        cubes = list(pool.map(lambda _: open_cube(table, ["d"], tmp_path), range(8)))
    assert len(builds) == 1
    for cube in cubes:
        assert_same(cube.lattice({"a": 1}, ["d"]), build_lattice(table, {"a": 1}, ["d"]))


def test_a_directory_that_cannot_be_says_so(table, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BadInputError, match="name another directory") as error:
        open_cube(table, ["d"], tmp_path / "file")
    assert "\n" not in str(error.value)


def test_it_travels_as_the_name_of_its_file(table, tmp_path):
    cube = open_cube(table, ["d", "a"], tmp_path)
    cube.lattice({"b": 1}, ["d"])
    sent = pickle.dumps(cube)
    assert len(sent) < cube.nbytes
    again = pickle.loads(sent)
    assert_same(again.lattice({"b": 1}, ["d"]), build_lattice(table, {"b": 1}, ["d"]))
    in_memory = pickle.loads(pickle.dumps(open_cube(table, ["d"])))
    assert_same(in_memory.lattice({"b": 1}, ["d"]), build_lattice(table, {"b": 1}, ["d"]))
    open_cube(some_table(ROWS[:-1]), ["d"], tmp_path)
    with pytest.raises(BadInputError, match="not the one that was loaded before"):
        pickle.loads(sent)
    for path in tmp_path.glob("*.cube"):
        path.unlink()
    with pytest.raises(BadInputError, match="not the one that was loaded before"):
        pickle.loads(sent)
    assert cube.lattice({"b": 1}, ["d"]).totals[-1] == len(ROWS)  # what is mapped stays


# Mistakes.


def test_what_has_no_cube_is_named(table):
    cube = open_cube(table, ["d", "a"])
    assert cube.protected == ("d", "a")
    with pytest.raises(BadInputError, match="attribute 'b' has no cube; protect d, a"):
        cube.lattice({"c": 1}, ["d", "b"])


@pytest.mark.parametrize(("fixed", "past"), [({"d": 1}, {}), ({}, {"d": (1, 0)})])
def test_a_protected_attribute_cannot_be_fixed_or_disclosed(table, fixed, past):
    with pytest.raises(BadInputError, match="attribute 'd' is protected"):
        open_cube(table, ["d"]).lattice(fixed, ["d"], past)


def test_attributes_come_in_the_schemas_order(table):
    with pytest.raises(BadInputError, match="the schema's order"):
        open_cube(table, ["d"]).lattice({"b": 1, "a": 1}, ["d"])


def test_too_many_attributes_are_refused():
    names = [f"q{number}" for number in range(23)]
    tiny = make_table([*names, "x"], [(0,) * 24])
    # One value and "don't care" on each axis: the cube is small, the states of a query are too many.
    assert math.prod([2] * 23) > 1 << 22
    with pytest.raises(BadInputError, match="fixes 23 attributes"):
        open_cube(tiny, ["x"]).lattice(dict.fromkeys(names, 0), ["x"])


# Speed: the bars are far above what is usual, for a machine that others use as well.


def queries_of(table, protected, many=3000):
    """Copy random rows as texts; each other attribute is fixed with probability 2/3."""
    chance = np.random.default_rng(4)
    names = [name for name in table.schema.names if name != protected]
    rows = chance.integers(table.rows, size=many)
    return [
        {
            name: str(table.schema[name].domain[table.columns[name][row]])
            for name in names
            if chance.random() < 2 / 3
        }
        for row in rows.tolist()
    ]


def usual_time(source, policy, queries):
    """Return the mean time from a dict to what is sent, without the tenth that took longest."""
    times = []
    for query in queries:
        start = time.perf_counter_ns()
        _ = generalize(query, source, [policy]).kept
        times.append(time.perf_counter_ns() - start)
    return np.mean(np.sort(times)[: len(times) * 9 // 10])


def assert_much_faster_than_counting(table, policy):
    """A cube answers 15 to 30 times as fast as counting the rows does, on whatever machine and beside whatever else."""
    queries = queries_of(table, policy.attribute)
    cube = open_cube(table, [policy.attribute])
    assert 5 * usual_time(cube, policy, queries) < usual_time(table, policy, queries[:100])


@pytest.mark.data
@pytest.mark.parametrize("protected", ["income", "education"])
def test_adult_is_answered_much_faster_than_its_rows_are_counted(data_dir, protected):
    names = ("age", "workclass", "education", "marital-status", "race", "sex", "income")
    lines = (data_dir / "tables/adult.data").read_text(encoding="utf-8").split("\n")
    people = [line.split(", ") for line in lines if line]
    table = make_table(names, [[person[place] for place in (0, 1, 3, 5, 8, 9, 14)] for person in people])
    assert table.rows == 32_561
    for used in (names, names[1:]):
        schema = Schema(tuple(table.schema[name] for name in used))
        part = AuxiliaryTable(schema, table.rows, {name: table.columns[name] for name in used})
        assert_much_faster_than_counting(part, Policy.of_diversity(protected, 2))


def test_a_made_table_is_answered_much_faster_than_its_rows_are_counted():
    domains = {"a": 40, "b": 30, "c": 9, "d": 14, "e": 7, "f": 4}
    chance = np.random.default_rng(6)
    table = AuxiliaryTable(
        Schema(
            tuple(Attribute(name, tuple(f"{name}{n}" for n in range(size))) for name, size in domains.items())
        ),
        50_000,
        {name: (chance.random(50_000) ** 2 * size).astype(np.uint8) for name, size in domains.items()},
    )
    assert_much_faster_than_counting(table, Policy.of_diversity("f", 3))
