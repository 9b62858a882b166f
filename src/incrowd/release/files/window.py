"""A window of time as files of a release spell it."""

from __future__ import annotations

from incrowd.core.window import Window, read_time, spelled_time
from incrowd.release.files.manifest import Closed

__all__ = ["SpelledWindow"]


class SpelledWindow(Closed, frozen=True, forbid_unknown_fields=True, rename={"start": "from", "stop": "to"}):
    """A window as files spell it: from a time, null if it is open, to another that is not in it any more."""

    start: str | None
    stop: str

    @classmethod
    def of(cls, window: Window) -> SpelledWindow:
        """Spell a window."""
        return cls(None if window.start is None else spelled_time(window.start), spelled_time(window.stop))

    def __str__(self) -> str:
        """Return it in short, as ``2006-03-01T00:00:00Z..2006-04-01T00:00:00Z``."""
        return f"{self.start or ''}..{self.stop}"

    @property
    def window(self) -> Window:
        """The window itself; a ValueError if it is spelt in another way, or ends before it begins."""
        read = Window(None if self.start is None else read_time(self.start), read_time(self.stop))
        if read.first >= read.stop:
            raise ValueError("a window ends before it begins")
        return read
