"""How a new state reaches running workers: the parent keeps it in memory and publishes its location.

A state contains the configuration's secrets, so it is never written to disk, where it would stay if the parent were
killed. It is in a file that exists only in memory and ends with the parent; only processes of the same user can open it
under ``/proc``. A note in the parent's private directory has its name. On systems without such files (only Linux has
them), the state is a file in that directory.
"""

from __future__ import annotations

import os
import pickle
import secrets
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from incrowd.gateway.server.prepared import Prepared

__all__ = ["Inbox", "Outbox"]

Stamp = tuple[int, int]
KEPT = 2  # states: a worker may be about to open the second newest


class Outbox:
    """The parent's side of the handover.

    Parameters
    ----------
    note
        The file that has the location of the newest state.
    """

    def __init__(self, note: Path) -> None:
        self._note = note
        self._kept: list[_Place] = []

    def put(self, prepared: Prepared) -> None:
        """Publish a new state to all workers."""
        place = _Place(pickle.dumps(prepared), self._note)
        try:
            draft = self._note.with_suffix(".draft")
            draft.write_text(place.name, encoding="utf-8")
            draft.replace(self._note)
        except BaseException:
            place.remove()
            raise
        self._kept.append(place)
        while len(self._kept) > KEPT:
            self._kept.pop(0).remove()


class _Place:
    """The file of a state."""

    def __init__(self, content: bytes, note: Path) -> None:
        if sys.platform == "linux":
            self._descriptor = os.memfd_create("incrowd-state")
            self.name = f"/proc/{os.getpid()}/fd/{self._descriptor}"
        else:
            self.name = str(note.with_name(f"state-{secrets.token_hex(8)}"))
            self._descriptor = os.open(self.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(self._descriptor, "wb", closefd=False) as file:
                file.write(content)
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        os.close(self._descriptor)
        if not self.name.startswith("/proc/"):
            with suppress(OSError):
                Path(self.name).unlink()


@dataclass
class Inbox:
    """The worker's side of the handover. The state at the time of pickling counts as already taken.

    Parameters
    ----------
    file
        The parent's note.
    """

    file: Path
    seen: Stamp | None = field(default=None)

    def __getstate__(self) -> dict[str, object]:
        return {"file": self.file, "seen": _stamp(self.file)}

    def has_changed(self) -> bool:
        """Return whether there is a state that was not taken yet."""
        return _stamp(self.file) not in {None, self.seen}

    def take(self) -> Prepared:
        """Return the newest state."""
        self.seen = _stamp(self.file)
        place = Path(self.file.read_text(encoding="utf-8"))
        prepared: Prepared = pickle.loads(place.read_bytes())  # noqa: S301 - only we can write there
        return prepared


def _stamp(file: Path) -> Stamp | None:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns
