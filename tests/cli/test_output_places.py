"""Where a release may appear, what --force may replace, and that nothing half-made ever has the final name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.helpers import AOL_HEADER, aol_line, call, command, only_line, refused, start, visible

# For processes of their own: it needs few kernels and no words.
QUICK_JOB = ("anonymize", "--method=partition", "--items=queries")
FULL_DISK = """
import resource, sys
from incrowd.cli import main
from incrowd.release.model import Release
write = Release._write_files
def write_little(self, *given, **named):
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
    return write(self, *given, **named)
Release._write_files = write_little
main()
"""


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_an_output_that_exists_is_refused_and_untouched(log, release):
    before = contents(release)
    line = refused(call("anonymize", "--method=flock", log, "--out", release, "--k", 3))
    assert "exists" in line
    assert "--force" in line
    assert contents(release) == before


def test_force_replaces_a_release(log, release, tmp_path):
    (release / "records.csv").write_text("an older form")
    assert call("anonymize", "--method=flock", log, "--out", release, "--k", 4, "--force").code == 0
    assert json.loads((release / "manifest.json").read_text())["claim"]["k"] == 4
    assert visible(release) == {"records.parquet", "taxonomy.parquet", "manifest.json", "report.html"}
    assert visible(tmp_path) == {"log.tsv", "release"}


def with_a_foreign_file(release):
    (release / "thesis.tex").write_text("years of work")


def with_a_foreign_directory(release):
    (release / "thesis").mkdir()


def with_another_manifest(release):
    (release / "manifest.json").write_text('{"format": "else"}')


def without_a_manifest(release):
    (release / "manifest.json").unlink()


def emptied(release):
    shutil.rmtree(release)
    release.mkdir()


def turned_into_a_file(release):
    shutil.rmtree(release)
    release.write_text("precious")


@pytest.mark.parametrize(
    "change",
    [
        with_a_foreign_file,
        with_a_foreign_directory,
        with_another_manifest,
        without_a_manifest,
        emptied,
        turned_into_a_file,
    ],
)
def test_force_does_not_replace_what_incrowd_did_not_write(log, release, tmp_path, change):
    change(release)
    before = visible(release) if release.is_dir() else release.read_text()
    line = refused(call("anonymize", "--method=flock", log, "--out", release, "--k", 3, "--force"))
    assert "was not written by incrowd" in line
    assert (visible(release) if release.is_dir() else release.read_text()) == before
    assert visible(tmp_path) == {"log.tsv", "release"}


def test_force_does_not_follow_a_link(log, release, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(release)
    before = contents(release)
    refused(call("anonymize", "--method=flock", log, "--out", link, "--k", 3, "--force"))
    assert contents(release) == before
    assert link.is_symlink()


def test_demo_does_not_replace_what_incrowd_did_not_write(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    refused(call("demo", "--out", tmp_path))
    assert visible(tmp_path) == {"thesis.tex"}


@pytest.mark.parametrize("options", [[], ["--force"]])
def test_a_foreign_rejects_file_is_never_replaced(tmp_path, release, options):
    log = tmp_path / "bad.tsv"
    log.write_text(AOL_HEADER + "".join(aol_line(user, "dogs") for user in range(5)) + "short\n")
    (tmp_path / "rejects.jsonl").write_text("precious")
    out = release if options else tmp_path / "new"
    ran = call("anonymize", "--method=flock", log, "--out", out, "--k", 3, "--json", *options)
    assert (tmp_path / "rejects.jsonl").read_text() == "precious"
    assert ran.code == 0
    file = ran.json["rejected"]["file"]
    assert json.loads(Path(file).read_text())["line"] == 7


def test_the_private_map_is_private_and_outside(log, tmp_path):
    secret = tmp_path / "map.parquet"
    options = ("anonymize", "--method=flock", log, "--out", tmp_path / "release", "--k", 3, "--private-map")
    assert call(*options, secret).code == 0
    assert secret.stat().st_mode & 0o777 == 0o600
    assert call(*options, secret, "--force").code == 0  # a map is ours to replace


@pytest.mark.parametrize("place", ["release/map", "release", "release/../release/map", "link/map"])
def test_a_private_map_inside_the_release_is_refused(log, release, tmp_path, place):
    (tmp_path / "link").symlink_to(release)
    before = contents(release)
    ran = call(
        "anonymize",
        "--method=flock",
        log,
        "--out",
        release,
        "--k",
        3,
        "--force",
        "--private-map",
        f"{tmp_path}/{place}",
    )
    assert "inside" in refused(ran)
    assert contents(release) == before


@pytest.mark.parametrize(
    "options",
    [
        ("anonymize", "--method=flock", "--k", 3, "--out", "{release}/inner"),
        ("anonymize", "--method=flock", "--k", 3, "--out", "{place}/new", "--private-map", "{release}/map"),
        ("compare", "--k", 3, "--methods", "flock", "--out", "{release}/comparison"),
    ],
    ids=["release", "map", "comparison"],
)
def test_nothing_is_written_into_another_release(log, release, tmp_path, options):
    before = contents(release)
    command, *rest = [str(option).format(release=release, place=tmp_path) for option in options]
    assert "choose a place outside it" in refused(call(command, log, *rest))
    assert contents(release) == before
    assert visible(tmp_path) == {"log.tsv", "release"}


def test_force_does_not_replace_a_foreign_file_with_the_map(log, tmp_path):
    precious = tmp_path / "map.parquet"
    precious.write_text("precious")
    out = tmp_path / "release"
    ran = call(
        "anonymize", "--method=flock", log, "--out", out, "--k", 3, "--force", "--private-map", precious
    )
    assert "was not written by incrowd" in refused(ran, out)
    assert precious.read_text() == "precious"


def test_a_directory_above_that_is_missing_or_a_file(log, tmp_path):
    for out in (tmp_path / "no" / "release", log / "release"):
        line = refused(call("anonymize", "--method=flock", log, "--out", out, "--k", 3))
        assert "directory above" in line
        assert not out.exists()
    assert visible(tmp_path) == {"log.tsv"}


def test_a_directory_that_cannot_be_written(log, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir()
    with unwritable(closed):
        if os.access(closed, os.W_OK):
            pytest.skip("this user may write everywhere and may not mount: no directory is unwritable")
        line = refused(call("anonymize", "--method=flock", log, "--out", closed / "release", "--k", 3))
    assert "cannot be written" in line
    assert visible(closed) == set()


@contextmanager
def unwritable(directory):
    """Make a directory read-only; for root that takes a mount."""
    directory.chmod(0o555)
    mounted = os.geteuid() == 0 and mount("-o", "ro,size=64k", directory)
    try:
        yield
    finally:
        unmount(directory) if mounted else directory.chmod(0o755)


def mount(*options):
    *flags, directory = options
    done = subprocess.run(
        ["mount", "-t", "tmpfs", *flags, "none", directory], capture_output=True, check=False
    )
    return done.returncode == 0


def unmount(directory):
    subprocess.run(["umount", directory], check=True)


def test_a_full_disk_leaves_nothing(log, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if os.geteuid() != 0 or not mount("-o", "size=12k", small):
        pytest.skip("only root may mount a disk that is small enough to be full")
    try:
        line = refused(
            call("anonymize", "--method=flock", log, "--out", small / "release", "--k", 3), small / "release"
        )
        assert visible(small) == set()
    finally:
        unmount(small)
    assert "space" in line
    assert "nothing was left there" in line


@pytest.mark.parametrize("options", [[], ["--force"]], ids=["new", "replacing"])
def test_without_space_for_the_private_map_nothing_is_published(log, release, tmp_path, options):
    small = tmp_path / "small"
    small.mkdir()
    if os.geteuid() != 0 or not mount("-o", "size=4k", small):
        pytest.skip("only root may mount a disk that is small enough to be full")
    out = release if options else tmp_path / "new"
    before = contents(release)
    try:
        (small / "filled").write_bytes(bytes(4096))
        job = ("anonymize", "--method=flock", log, "--out", out, "--k", 4, "--private-map", small / "map")
        ran = call(*job, *options)
        assert visible(small) == {"filled"}
    finally:
        unmount(small)
    assert ran.code == 2
    assert "space" in only_line(ran.err)
    assert contents(release) == before
    assert visible(tmp_path) == {"log.tsv", "release", "small"}


def test_the_private_map_and_the_release_appear_together_or_not_at_all(log, release, tmp_path, monkeypatch):
    """The map moves first; when the release then cannot, the map that was there is put back too."""
    job = (
        "anonymize",
        "--method=flock",
        log,
        "--out",
        release,
        "--private-map",
        tmp_path / "map",
        "--force",
        "--k",
    )
    assert call(*job, 3).code == 0
    before = contents(release), (tmp_path / "map").stat().st_ino
    rename = Path.rename

    def fail(self, target):
        if Path(target) == release and self.name == "new":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    assert "No space left" in only_line(call(*job, 4).err)
    assert (contents(release), (tmp_path / "map").stat().st_ino) == before
    assert visible(tmp_path) == {"log.tsv", "release", "map"}


def test_rejected_lines_are_for_their_owner_alone(tmp_path):
    log = tmp_path / "bad.tsv"
    log.write_text(AOL_HEADER + "".join(aol_line(user, "dogs") for user in range(5)) + "short\n")
    ran = call("anonymize", "--method=flock", log, "--out", tmp_path / "release", "--k", 3, "--json")
    file = Path(ran.json["rejected"]["file"])
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def with_rejects(tmp_path):
    """Return a log of which lines are rejected."""
    log = tmp_path / "bad.tsv"
    log.write_text(AOL_HEADER + "".join(aol_line(user, "dogs") for user in range(5)) + "short\n")
    return log


def test_without_space_for_the_rejected_lines_nothing_is_published(with_rejects, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("incrowd.logs.rejects.private_file", full)
    ran = call("anonymize", "--method=flock", with_rejects, "--out", tmp_path / "release", "--k", 3)
    assert "No space left" in refused(ran, tmp_path / "release")
    assert visible(tmp_path) == {"bad.tsv"}


def test_without_space_for_the_release_the_rejected_lines_go_too(with_rejects, tmp_path):
    process = start(FULL_DISK, *QUICK_JOB, with_rejects, "--out", tmp_path / "release", "--k", 3)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "nothing was left there" in only_line(said)
    assert visible(tmp_path) == {"bad.tsv"}


def test_a_file_that_may_not_grow_leaves_nothing(log, tmp_path):
    out = tmp_path / "release"
    process = start(FULL_DISK, *QUICK_JOB, log, "--out", out, "--k", 3)
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 2
    assert printed == ""
    assert "too large" in only_line(said)
    assert visible(tmp_path) == {"log.tsv"}


def test_an_audit_that_fails_publishes_nothing(log, tmp_path):
    script = """
from incrowd.cli import main
from incrowd.release import model, rows
honest = rows.records_of
def careless(*given):
    made = honest(*given)
    made.counts[:] += 1
    return made
model.records_of = careless
main()
"""
    process = start(script, *QUICK_JOB, log, "--out", tmp_path / "release", "--k", 3, "--json")
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 1
    line = only_line(said)
    assert "nothing was published" in line
    assert json.loads(printed) == {"error": line, "exit_code": 1}
    assert visible(tmp_path) == {"log.tsv"}


def test_output_names_with_odd_characters(log, tmp_path):
    (tmp_path / "x[").mkdir()
    for name in ("x[/y]", "[bold]red", "with blank", "ünï😀", "-dash"):
        ran = call("anonymize", "--method=flock", log, f"--out={tmp_path / name}", "--k", 3)
        assert ran.code == 0, ran.err
        assert f"{tmp_path / name}/" in ran.out
        assert call("audit", tmp_path / name).code == 0
        assert call("show", tmp_path / name).code == 0


@pytest.mark.usefixtures("log")
def test_a_relative_output_and_the_current_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("anonymize", "--method=flock", "log.tsv", "--out", "release", "--k", 3).code == 0
    assert call("audit", "release").code == 0
    monkeypatch.chdir(tmp_path / "release")
    assert call("audit", ".").code == 0


def test_a_name_in_an_error_does_not_steer_the_terminal(log, tmp_path):
    ran = call("anonymize", "--method=flock", log, "--out", tmp_path / "a\x1b[31m\nb" / "release", "--k", 3)
    assert "a<U+001B>[31m<U+000A>b/release" in refused(ran)
    assert "\x1b" not in ran.err


def test_a_tmpdir_that_is_not_there_is_named(log, tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path / "missing")}
    ran = command(*QUICK_JOB, log, "--out", tmp_path / "release", "--k", 3, env=environment)
    assert "TMPDIR is" in refused(ran, tmp_path / "release")
