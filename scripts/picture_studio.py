"""Take the pictures of the studio in docs/images: every screen, wide and on a phone, in light and dark.

Run it from anywhere, with the project's development environment, Chromium beside it::

    python scripts/compile_kernels.py            # once: no page waits for a compiler longer than a minute
    python scripts/picture_studio.py             # about a minute
    python scripts/picture_studio.py --out DIR   # elsewhere than into docs/images

It starts a studio in a temporary folder and does a whole job there on the sample, which is made up: words are moved, the data are counted and measured,
two releases are made, and the first one is attacked and recounted. Each screen becomes one picture: on top as a wide window shows it in light, below it the
same in dark, and both on a phone. Of a long page, the picture ends before the page does.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageOps

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from devtools import open_tabs  # noqa: E402 - the browser is driven as the tests drive it
from incrowd.studio.folder import Folder  # noqa: E402 - after the above
from studio.harness import Studio, Tab, go_on, running_studio, stop_the_job  # noqa: E402 - as above

FOLDER = "/home/ada/work"
"""What pictures show as the studio's folder."""
PROJECT = "sample-1"
MOVES = (("jaguar", "motor vehicle"), ("python", "programming language"))
EDGE, BACK = "#aab4c0", "#e3e7ec"
GAP, COLOURS, ALIKE = 20, 96, 20
SETTLED = """(() => {
    const curves = document.getElementById('curves');
    const drawn = [...document.querySelectorAll('[data-chart]')].every(one => one.querySelector('svg'));
    return drawn && (!curves || curves.querySelector('.chart svg') !== null && !curves.querySelector('[hx-get]'));
})()"""
RENAME = """(from => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(from, TO);
    for (const one of document.querySelectorAll('input')) one.value = one.value.replaceAll(from, TO);
})"""


class Form(NamedTuple):
    """How a screen is shown, and what its picture measures on the sheet at most."""

    width: int
    dark: bool
    shown_width: int
    shown_height: int


FORMS = (
    Form(1280, dark=False, shown_width=1280, shown_height=1800),
    Form(1280, dark=True, shown_width=640, shown_height=900),
    Form(390, dark=False, shown_width=300, shown_height=900),
    Form(390, dark=True, shown_width=300, shown_height=900),
)


class Camera:
    """Takes the pictures of a studio's screens.

    Parameters
    ----------
    tab
        A tab in which the studio is open.
    studio
        The studio.
    work
        Where single pictures are kept until there is a sheet of them.
    out
        The directory of the sheets.
    """

    def __init__(self, tab: Tab, studio: Studio, work: Path, out: Path) -> None:
        self.tab, self._studio, self._work, self._out = tab, studio, work, out

    def visit(self, path: str) -> None:
        """Open a screen of the project."""
        self.tab.visit(f"{self._studio.home}/p/{PROJECT}/{path}")

    def shoot(self, name: str, path: str) -> None:
        """Write the picture of a page."""
        images = [self._shot(f"{self._studio.home}{path}", form) for form in FORMS]
        file = self._out / f"studio-{name}.png"
        few_colours(sheet(images)).save(file, optimize=True)
        print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")

    def shoot_screen(self, screen: str, query: str = "") -> None:
        """Write the picture of a screen of the project."""
        self.shoot(screen, f"/p/{PROJECT}/{screen}{query}")

    def _shot(self, address: str, form: Form) -> Image.Image:
        """Return a page in one form, as large as it is on the sheet."""
        file = self._work / "shot.png"
        self.tab.appear(width=form.width, dark=form.dark)  # before it is loaded: it is drawn once
        self.tab.visit(address)
        self.tab.until(SETTLED)
        given = json.dumps(str(self._studio.folder))
        self.tab.run(f"{RENAME.replace('TO', json.dumps(FOLDER))}({given})")
        if self.tab.errors or str(self._work) in self.tab.shown("body"):
            raise SystemExit(f"{address} shows a path of this machine, or has errors: {self.tab.errors}")
        self.tab.shoot(file, width=form.width, dark=form.dark)
        return fitted(Image.open(file).convert("RGB"), form)


def fitted(image: Image.Image, form: Form) -> Image.Image:
    """Return a picture with the width that it has on the sheet, cut at the bottom if it is too long, in a frame."""
    if image.width != form.shown_width:
        height = round(image.height * form.shown_width / image.width)
        image = image.resize((form.shown_width, height), Image.Resampling.LANCZOS)
    return ImageOps.expand(image.crop((0, 0, image.width, min(image.height, form.shown_height))), 1, EDGE)


def sheet(images: list[Image.Image]) -> Image.Image:
    """Return a large picture with smaller ones in a row below it."""
    large, *small = images
    height = large.height + max(image.height for image in small) + 3 * GAP
    page = Image.new("RGB", (large.width + 2 * GAP, height), BACK)
    page.paste(large, (GAP, GAP))
    room = (large.width - sum(image.width for image in small)) // (len(small) - 1)
    left = GAP
    for image in small:
        page.paste(image, (left, large.height + 2 * GAP))
        left += image.width + room
    return page


def few_colours(image: Image.Image) -> Image.Image:
    """Return a picture with a palette, which makes the file small: its most frequent colours, but for those that are much alike."""
    chosen: list[tuple[int, ...]] = []
    for _, colour in sorted(image.getcolors(image.width * image.height) or [], reverse=True):
        if len(chosen) < COLOURS and all(differ(colour, other) for other in chosen):
            chosen.append(colour)
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for colour in chosen for part in colour])
    return image.quantize(palette=palette, dither=Image.Dither.NONE)


def differ(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Tell whether two colours differ enough to be seen apart; the white of a card and the page behind it do."""
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) > ALIKE


def take_pictures(camera: Camera, folder: Folder) -> None:
    """Do the job, and take a picture of each screen when it has most to show."""
    camera.shoot("start", "/")
    camera.tab.press("#sample")
    look_at_the_data(camera)
    release = make_release(camera)
    look_at_the_release(camera, release)
    with a_second_run(camera, folder):
        camera.shoot_screen("run")
    camera.tab.until_shown("Look at it", "#runs section")
    second = camera.tab.shown("#runs h2")
    camera.shoot_screen("releases", f"?first={release}&second={second}")


def look_at_the_data(camera: Camera) -> None:
    """Move words, count, measure."""
    tab = camera.tab
    for word, below in MOVES:
        camera.visit(f"words?find={word}")
        tab.type("#below", below)
        tab.press("#move button")
    camera.visit("data")
    tab.press("#count")
    tab.until_shown("people", "#counts dl")
    camera.shoot_screen("data")
    camera.visit("risk-now")
    tab.press("#measure")
    tab.until("document.querySelector('#risk .chart svg') !== null")
    camera.shoot_screen("risk-now")
    camera.shoot_screen("words", f"?find={MOVES[0][0]}")


def make_release(camera: Camera) -> str:
    """Choose and run; return the name of the release."""
    camera.shoot_screen("choose")
    camera.tab.press("#choices > .next button")
    camera.tab.press("#start")
    camera.tab.until_shown("Look at it", "#runs section")
    return str(camera.tab.shown("#runs h2"))


def look_at_the_release(camera: Camera, release: str) -> None:
    """Search it, attack it, recount it."""
    camera.shoot_screen("before-after", f"?release={release}&with=dog")
    camera.visit("risk-after")
    camera.tab.press("#attack")
    camera.tab.until("document.querySelector('#risk .light') !== null")
    camera.shoot_screen("risk-after")
    camera.visit("publish")
    camera.tab.press("#recount")
    camera.tab.until_shown("it holds", "#audit")
    camera.shoot_screen("publish")


@contextmanager
def a_second_run(camera: Camera, folder: Folder) -> Iterator[None]:
    """Begin a release for which more people must share what is in it; its job stands still until the end."""
    camera.visit("choose")
    camera.tab.type("#f-k", "10")
    camera.tab.press("#choices > .next button")
    camera.tab.press("#start")
    stop_the_job(folder, steps=2)
    try:
        yield
    finally:
        go_on(folder)


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description="Take the pictures of the studio.")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images", help="where they go")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory(prefix="incrowd-") as name:
        place = Path(name)
        with open_tabs(place / "browser", Tab) as new_tab, running_studio(place / "work") as studio:
            tab = new_tab()
            tab.open(studio.entrance)
            tab.until_shown("Your projects")
            take_pictures(Camera(tab, studio, place, out), Folder(studio.folder))


if __name__ == "__main__":
    main()
