"""A real browser that opens a page offline."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NO_BROWSER = f"no browser is installed, looked for {', '.join(BROWSERS)} (Debian: chromium)"
OFFLINE = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
FLAGS = (*OFFLINE, "--virtual-time-budget=10000", "--dump-dom")
# What the page would fetch, or do against its own rules, is noted in its title.
PROBE = """<script>
const seen = [];
addEventListener("securitypolicyviolation", event => seen.push("blocked " + event.violatedDirective));
addEventListener("error", event => seen.push("error " + event.message));
addEventListener("unhandledrejection", event => seen.push("rejected " + event.reason));
setTimeout(() => {
  for (const entry of performance.getEntriesByType("resource")) seen.push("fetched " + entry.name);
  document.title = "probe: " + (seen.join(", ") || "nothing");
}, 5000);
</script>"""


def opened(page, tmp_path):
    """Return the page as a real browser has it after drawing."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(NO_BROWSER)
    file = tmp_path / "page.html"
    file.write_text(page.replace("<meta name=", PROBE + "<meta name=", 1), encoding="utf-8")
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    done = subprocess.run(
        [browser, *FLAGS, profile, file.as_uri()], capture_output=True, text=True, timeout=100, check=True
    )
    return done.stdout


def drawn_charts(dom):
    """Return what is drawn in each chart's place, if the page fetched nothing and did nothing against its rules."""
    assert re.findall("<title>(probe: .*?)</title>", dom) == ["probe: nothing"]
    parts = re.split(r'<div class="chart[^"]*" id="(\w+)"', dom)
    charts = dict(zip(parts[1::2], parts[2::2], strict=True))
    for name, inside in charts.items():
        assert len(re.findall('<svg[^>]* class="marks"', inside)) == 1, name
    return charts
