"""The first gateway of the documentation runs as printed, and so does what `deploy/` says."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from helpers import free_port

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "gateway.md"
UNIT = ROOT / "deploy" / "incrowd-gateway.service"
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
FILES = {"python": "provider.py", "yaml": "gateway.yaml"}
PATIENCE = 120


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Let `incrowd` and `python3` be those that are tested."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, words in (("incrowd", "-P -m incrowd"), ("python3", "")):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def first_gateway(ports):
    """Return the blocks of the section, in order, as (language, text); other ports may be taken here."""
    section = DOCS.read_text(encoding="utf-8").partition("## A first gateway\n")[2].partition("\n## ")[0]
    for printed, free in ports.items():
        section = section.replace(printed, str(free))
    return re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)


def run(script, folder):
    """Run a script in a session of its own, of which nothing stays; return what it printed."""
    with subprocess.Popen(
        ["bash", "-e", "-c", script],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as running:
        try:
            printed = running.communicate(timeout=PATIENCE)[0].decode()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGTERM)
    assert running.returncode == 0, printed
    return printed


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl (Debian: curl)")
def test_the_first_gateway_of_the_docs_runs_as_printed(commands):
    port = free_port()
    blocks = first_gateway({"8080": port, "9000": free_port()})
    assert [language for language, _ in blocks] == ["sh", "python", "yaml", "sh"]
    for language, text in blocks[:3]:
        if language in FILES:
            # The port is the default one, so the configuration does not name it.
            named = f"listen: {{port: {port}}}\n" if language == "yaml" else ""
            (commands / FILES[language]).write_text(named + text, encoding="utf-8")
        else:
            run(text, commands)
    printed = run(blocks[3][1], commands)
    answer, _ = json.JSONDecoder().raw_decode(printed, printed.index('{"rows"'))
    rows = answer["rows"]
    assert rows
    assert {(row["county"], row["race"], row["loan"]) for row in rows} == {("Essex", "Black", "61700")}
    assert answer["answer"] == "exact"
    (received,) = re.findall("the provider receives ({.*})", printed)
    assert received.count(":") < 4


def test_the_steps_of_the_unit_make_its_user_and_directories_before_it_starts():
    text = UNIT.read_text(encoding="utf-8")
    steps = [line.removeprefix("#   ") for line in text.splitlines() if line.startswith("#   ")]
    script = "\n".join(steps)
    assert subprocess.run(["bash", "-n", "-c", script], check=True).returncode == 0
    user = re.search(r"^User=(\w+)", text, re.MULTILINE)[1]
    (made,) = (
        place for place, step in enumerate(steps) if re.fullmatch(rf"useradd --system .* {user}", step)
    )
    used = [place for place, step in enumerate(steps) if f" {user} " in step or f"{user}:" in step]
    assert made < min(used) < len(steps) - 1
    assert steps[-1].startswith("systemctl enable --now")
    file = re.search(r"--config (\S+)$", text, re.MULTILINE)[1]
    assert any(f"-o root -g {user} {Path(file).parent}" in step for step in steps)
    assert file in text.partition("[Unit]")[0]


def test_the_containers_health_check_is_a_command_that_there_is():
    text = DOCKERFILE.read_text(encoding="utf-8").replace("\\\n", "")
    command = json.loads(re.search(r"^HEALTHCHECK .* CMD\s+(\[.*\])", text, re.MULTILINE)[1])
    entry, config = (
        json.loads(re.search(rf"^{word} (\[.*\])", text, re.MULTILINE)[1]) for word in ("ENTRYPOINT", "CMD")
    )
    assert command == [*entry, *config, "--health"]
