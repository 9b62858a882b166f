"""The budget of a log: releases are recorded before they are made, and nothing is made that is not allowed or cannot be recorded."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

import incrowd as ic
from cli.helpers import call, only_line
from incrowd.errors import BadInputError
from incrowd.jobs import run as running
from incrowd.release import budget as ledger
from incrowd.release.budget import Budget, Spent, create_budget

ROWS = [["a", "b"], ["b"]] * 50
ONE = Spent("one", "dp", 1.0, 1e-6, 0.02, 5e-7)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "x.dat").write_text("a b\nb\n" * 50)
    return tmp_path


@pytest.fixture
def file(place):
    create_budget(place / "budget", eps=3.0, delta=1e-5)
    return place / "budget"


def publish(place, name, *more):
    return call(
        "anonymize",
        place / "x.dat",
        "--out",
        place / name,
        "--method",
        "dp",
        "--budget",
        place / "budget",
        *more,
    )


def test_releases_are_recorded_until_nothing_is_left(place):
    made = call("budget", place / "budget", "--eps", 3, "--delta", 1e-5)
    assert made.code == 0, made.err
    assert "0 releases, together eps = 0 of 3" in made.out
    codes = []
    for number in range(9):
        ran = publish(place, f"r{number}", "--set", "eps=1.7")
        codes.append(ran.code)
        if ran.code:
            break
    assert 3 <= len(codes) <= 8
    assert codes[-1] == 2
    line = only_line(ran.err)
    assert "allows eps = 3 with delta = 1e-05 in all" in line
    assert not (place / f"r{len(codes) - 1}").exists()
    shown = call("budget", place / "budget", "--json").json
    assert [one["name"] for one in shown["releases"]] == [f"r{n}" for n in range(len(codes) - 1)]
    assert shown["eps_spent"] <= 3
    smaller = publish(place, "small", "--set", "eps=0.05", "--json")
    assert smaller.code == 0, smaller.err
    assert smaller.json["budget"]["eps_spent"] <= 3
    assert len(smaller.json["budget"]["releases"]) == len(codes)


@pytest.mark.usefixtures("file")
def test_what_the_budget_has_recorded_may_be_published_together(place):
    """A release beside is no reason to publish only one, where both are paid for."""
    for name in ("first", "second"):
        ran = publish(place, name, "--set", "eps=0.5")
        assert ran.code == 0, ran.err
    assert "there is a release beside: first" in ran.err
    assert "Those that the budget has recorded keep its promise together" in ran.err
    assert "publish one." not in ran.err


def test_delta_can_be_spent_too(file):
    large = Spent("one", "korolova", 0.01, 6e-6, 5e-5, 6e-6)
    Budget(file).charge(large)
    with pytest.raises(BadInputError, match="it would be no eps at all"):
        Budget(file).charge(large)


def test_korolova_is_charged_too_and_others_are_refused(place, file):
    log = place / "log.csv"
    log.write_text("user,query\n" + "".join(f"u{n},red wine\n" for n in range(50)))
    options = ("--out", place / "k", "--budget", file)
    ran = call(
        "anonymize",
        log,
        *options,
        "--method",
        "korolova",
        "--set",
        "eps=0.5",
        "--set",
        "delta=1e-7",
        "--json",
    )
    assert ran.code == 0, ran.err
    assert ran.json["budget"]["rho_spent"] == pytest.approx(0.125)
    line = only_line(call("anonymize", log, "--out", place / "m", "--budget", file, "--method", "flock").err)
    assert "--budget is for differential privacy" in line


def test_in_python(file):
    ic.anonymize(ic.Transactions.from_rows(ROWS), method="dp", budget=file)
    assert [one.name for one in Budget(file).state().releases] == [""]
    with pytest.raises(BadInputError, match="allows eps = 3"):
        ic.anonymize(ic.Transactions.from_rows(ROWS), method="dp", eps=10.0, budget=file)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (("--unit", "session:30m", "--distinct", "records"), "method dp protects people"),
        (("--set", "of=weeks", "--set", "since=2006-03-01", "--set", "weeks=2", "--unit", "user"), "drop --unit user"),
        (("--distinct", "people"), "baskets do not say"),
    ],
)  # fmt: skip
def test_what_is_refused_costs_nothing(place, file, how, says):
    """Nothing was drawn for a job whose options do not fit its data; a dry run refuses it, too."""
    log = place / "log.csv"
    log.write_text("user,time,query\n" + "".join(f"u{n},2006-03-01 10:00:00,red wine\n" for n in range(50)))
    source = place / "x.dat" if how[0] == "--distinct" else log
    for more in (("--budget", file), ("--dry-run",)):
        ran = call("anonymize", source, "--out", place / "r", "--method", "dp", *how, *more)
        assert ran.code == 2, ran.out
        assert says in ran.err
    assert Budget(file).state().releases == []


def test_in_python_what_is_refused_costs_nothing_either(file):
    data = ic.Transactions.from_rows(ROWS)
    for how, says in (
        ({"method": "dp", "of": "clicks"}, "of=clicks needs a query log"),
        ({"method": "korolova", "eps": 0.1, "delta": 1e-6}, "needs"),
    ):
        with pytest.raises(BadInputError, match=says):
            ic.anonymize(data, budget=file, **how)
    assert Budget(file).state().releases == []


def test_it_is_recorded_before_the_noise_is_drawn(place, file, monkeypatch):
    def killed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "make_release", killed)
    assert publish(place, "r").code != 0
    assert [one.name for one in Budget(file).state().releases] == ["r"]


def test_a_dry_run_and_a_comparison_record_nothing(place, file):
    assert publish(place, "r", "--dry-run").code == 0
    assert publish(place, "r", "--dry-run", "--set", "eps=10").code == 2
    assert Budget(file).state().releases == []


def test_a_run_that_was_killed_after_its_line_is_believed(file, monkeypatch):
    Budget(file).charge(ONE)
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "_write_mark", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            Budget(file).charge(ONE)
    assert len(Budget(file).state().releases) == 2
    Budget(file).charge(ONE)
    assert len(Budget(file).state().releases) == 3


def test_runs_that_are_killed_after_their_lines_one_after_another_leave_a_budget(file, monkeypatch):
    write = ledger._write_mark

    def killed(path, mark):
        if mark.releases > len(file.read_bytes().splitlines()) - 2:  # the mark of the last line
            raise KeyboardInterrupt
        write(path, mark)

    for number in (1, 2, 3):
        with monkeypatch.context() as patch:
            patch.setattr(ledger, "_write_mark", killed)
            with pytest.raises(KeyboardInterrupt):
                Budget(file).charge(ONE)
        assert len(Budget(file).state().releases) == number


def test_releases_at_the_same_time_do_not_both_take_the_last(file):
    costly = Spent("one", "dp", 1.0, 1e-6, 0.08, 5e-7)

    def charged(_):
        try:
            Budget(file).charge(costly)
        except BadInputError as error:
            return str(error)
        return "charged"

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(charged, range(16)))
    number = said.count("charged")
    assert 0 < number < 16
    assert all("allows eps = 3" in one for one in said if one != "charged")
    state = Budget(file).state()
    assert len(state.releases) == number
    assert state.eps_spent <= 3 < state.eps_with(costly)


def test_a_budget_under_another_name_is_the_same_or_none(place, file):
    """Another way to spell its path leads to the same file; another name of the file itself is refused, for its mark is not there."""
    (place / "inner").mkdir()
    for spelled in (place / "inner/../budget", place / "." / "budget"):
        Budget(spelled).charge(ONE)
    assert len(Budget(file).state().releases) == 2
    (place / "hard").hardlink_to(file)
    (place / "soft").symlink_to(file)
    for other in ("hard", "soft"):
        with pytest.raises(BadInputError, match=r"damaged|cannot be opened"):
            Budget(place / other).charge(ONE)
    assert len(Budget(file).state().releases) == 2


def test_a_line_that_was_not_completed_is_removed(file):
    Budget(file).charge(ONE)
    with file.open("ab") as out:
        out.write(b'{"spent":{"name":"half')
    assert len(Budget(file).state().releases) == 1
    Budget(file).charge(ONE)
    assert len(Budget(file).state().releases) == 2


def remove_last(path):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))


def cheaper(path):
    path.write_bytes(path.read_bytes().replace(b'"rho":0.02', b'"rho":0.01', 1))


def richer(path):
    path.write_bytes(path.read_bytes().replace(b'"eps":3.0', b'"eps":9.0', 1))


def older_copy(path):
    shutil.copy(path.with_name("old"), path)


TAMPERED = {
    "the last line is gone": remove_last,
    "a cost was changed": cheaper,
    "the total was raised": richer,
    "an older copy": older_copy,
    "emptied": lambda path: path.write_bytes(b""),
    "no budget at all": lambda path: path.write_bytes(b"hello\n"),
    "the mark is gone": lambda path: path.with_name("budget.mark").unlink(),
    "the mark is damaged": lambda path: path.with_name("budget.mark").write_bytes(b"{}"),
    "the file is gone": lambda path: path.unlink(),
    "others may read it": lambda path: path.chmod(0o644),
}


@pytest.mark.parametrize("how", TAMPERED.values(), ids=TAMPERED)
def test_what_was_tampered_with_refuses_every_release(place, file, how):
    Budget(file).charge(ONE)
    shutil.copy(file, place / "old")
    Budget(file).charge(ONE)
    Budget(file).charge(ONE)
    how(file)
    before = file.read_bytes() if file.exists() else None
    ran = publish(place, "r")
    assert ran.code == 2
    assert "budget" in only_line(ran.err)
    assert not (place / "r").exists()
    assert before == (file.read_bytes() if file.exists() else None)


def test_a_budget_is_private_and_made_once(file):
    Budget(file).charge(ONE)
    for path in (file, file.with_name("budget.mark")):
        assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(BadInputError, match="exists"):
        create_budget(file, eps=9.0, delta=1e-5)
    assert json.loads(file.read_text().splitlines()[0])["eps"] == 3.0


@pytest.mark.parametrize(
    ("eps", "delta"), [(0, 1e-5), (-1, 1e-5), (101, 1e-5), (float("nan"), 1e-5), (1, 0), (1, 0.01)]
)
def test_totals_that_promise_nothing_are_refused(place, eps, delta):
    with pytest.raises(BadInputError, match="must be greater than 0"):
        create_budget(place / "b", eps=eps, delta=delta)
    assert not (place / "b").exists()


def test_one_of_eps_and_delta_is_not_enough(place):
    ran = call("budget", place / "b", "--eps", 1)
    assert ran.code == 2
    assert "both --eps and --delta" in only_line(ran.err)


def test_a_budget_inside_the_release_is_refused(place):
    ran = call(
        "anonymize", place / "x.dat", "--out", place / "r", "--method", "dp", "--budget", place / "r" / "b"
    )
    assert "must not lie inside the release" in only_line(ran.err)
