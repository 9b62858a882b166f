"""How a new state reaches workers that are running: a file in the parent's private directory.

The parent writes it whole under another name and renames it; workers look whether it is another file than the one
they know. It holds the configuration's secrets, so the directory and the file are for their owner alone.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from pathlib import Path

from incrowd.gateway.prepared import Prepared

__all__ = ["Inbox", "hand_over"]

Stamp = tuple[int, int]


def hand_over(prepared: Prepared, file: Path) -> None:
    """Give a new state to all workers."""
    draft = file.with_suffix(".draft")
    draft.touch(mode=0o600)
    draft.write_bytes(pickle.dumps(prepared))
    draft.replace(file)


@dataclass
class Inbox:
    """A worker's look at the file. It travels to the worker by pickle, and what was there then is no news.

    Parameters
    ----------
    file
        Where the parent puts new states.
    """

    file: Path
    seen: Stamp | None = field(default=None)

    def __getstate__(self) -> dict[str, object]:
        return {"file": self.file, "seen": _stamp(self.file)}

    def has_news(self) -> bool:
        """Tell whether there is a state that was not taken yet."""
        return _stamp(self.file) not in {None, self.seen}

    def take(self) -> Prepared:
        """Return the newest state."""
        self.seen = _stamp(self.file)
        prepared: Prepared = pickle.loads(self.file.read_bytes())  # noqa: S301 - only we can write there
        return prepared


def _stamp(file: Path) -> Stamp | None:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns
