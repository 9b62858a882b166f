"""Options become a typed job, and everything that can be refused before reading is refused there."""

from __future__ import annotations

import pytest

from incrowd.errors import BadInputError, options_as_flags
from incrowd.jobs.spec import Options, read_job, settled
from incrowd.logs import Unit, read_log
from incrowd.logs.synth.generate import write_log


@pytest.fixture
def log(tmp_path):
    write_log(tmp_path / "log.tsv", users=5, seed=1)
    return tmp_path / "log.tsv"


def test_texts_become_values(log, tmp_path):
    options = Options(log, tmp_path / "out", "5", method="partition", parameters={"publish": "bag"})
    job = read_job(options)
    assert (job.k, job.method.name, job.unit, job.items) == (5, "partition", None, None)
    assert job.setting.parameters == {"publish": "bag"}


@pytest.mark.parametrize("k", [None, 5, "5"])
def test_a_method_without_k_gets_none(log, tmp_path, k):
    assert read_job(Options(log, tmp_path / "out", k, method="korolova")).k is None


@pytest.mark.parametrize("method", ["flock", "korolova"])
def test_a_wrong_k_is_refused_for_every_method(log, tmp_path, method):
    with pytest.raises(BadInputError, match="k must be at least 2"):
        read_job(Options(log, tmp_path / "out", 1, method=method))


def chosen_for(path, **options):
    """Return the job that comes of options once the input is read."""
    with options_as_flags(), read_log(path) as log:
        return settled(read_job(Options(path, path.with_name("out"), **options)), log)


def test_a_query_log_alone_becomes_tiles_of_words_by_session(log):
    job = chosen_for(log)
    assert (job.method.name, job.k, job.items, job.unit) == ("mosaic", 5, "terms", Unit(1800))
    assert job.chosen == (
        "--method mosaic",
        "--k 5",
        "--items terms",
        "--unit session:30m",
        "--unlisted name",
    )


def test_baskets_alone_become_tiles_of_their_items(tmp_path):
    (tmp_path / "baskets.dat").write_text("1 2\n2 3\n", encoding="utf-8")
    job = chosen_for(tmp_path / "baskets.dat")
    assert (job.method.name, job.k, job.items, job.unit) == ("mosaic", 5, "raw", Unit())
    assert job.chosen == ("--method mosaic", "--k 5")


def test_a_log_without_times_has_no_sessions(tmp_path):
    (tmp_path / "log.csv").write_text("user,query\nu1,dog\nu2,cat\n", encoding="utf-8")
    assert chosen_for(tmp_path / "log.csv").unit == Unit()


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("words", ("mosaic", "terms", Unit(1800))),
        ("queries", ("mosaic", "queries", Unit(1800))),
        ("people", ("flock", "nouns", Unit())),
    ],
)
def test_a_goal_chooses_method_items_and_unit(log, goal, expected):
    job = chosen_for(log, goal=goal)
    assert (job.method.name, job.items, job.unit) == expected


def test_what_is_said_is_not_chosen(log):
    job = chosen_for(log, goal="queries", items="nouns", unit="user", k=7, unlisted="keep")
    assert (job.method.name, job.items, job.unit, job.k) == ("mosaic", "nouns", Unit(), 7)
    assert job.chosen == ("--method mosaic",)


def test_a_goal_and_a_method_are_too_much(log):
    with pytest.raises(BadInputError, match="give --goal, which chooses a method, or --method"):
        chosen_for(log, goal="words", method="flock")


def test_an_unknown_goal_is_refused(log):
    with pytest.raises(
        BadInputError, match=r"goal must be one of words, queries, people .*did you mean 'words'"
    ):
        chosen_for(log, goal="word")


def test_baskets_have_no_queries(tmp_path):
    (tmp_path / "baskets.dat").write_text("1 2\n2 3\n", encoding="utf-8")
    with pytest.raises(BadInputError, match="baskets and no queries: use --goal words"):
        chosen_for(tmp_path / "baskets.dat", goal="queries")
