"""Who may come in: one-time tokens, each exchanged for a session; only their hashes are kept, in the studio's folder."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from pathlib import Path

from incrowd.studio.folder import Folder

__all__ = ["Door"]

SESSION_SECONDS = 7 * 24 * 3600
TOKEN_SECONDS = 3600
LIVES = {"token": TOKEN_SECONDS, "session": SESSION_SECONDS}


class Door:
    """The tokens and sessions of a folder.

    Parameters
    ----------
    folder
        The studio's folder. Whoever may write there may make tokens: a second start of the program does.
    """

    def __init__(self, folder: Folder) -> None:
        self._place = folder.door
        mark = hashlib.sha256(str(folder.path).encode(errors="surrogateescape")).hexdigest()[:8]
        self.cookie = f"incrowd_studio_{mark}"  # browsers share cookies between the ports of a machine

    def new_token(self) -> str:
        """Return a new token, after removing those that nobody can use any more."""
        for kind in LIVES:
            for file in self._place.glob(f"{kind}-*"):
                if not _is_fresh(file, kind):
                    file.unlink(missing_ok=True)
        return self._new("token")

    def enter(self, token: str) -> str | None:
        """Exchange a token for a session, once; None if it is no token, or no longer."""
        file = self._file("token", token)
        fresh = _is_fresh(file, "token")
        try:
            file.unlink()
        except OSError:
            return None
        return self._new("session") if fresh else None

    def knows(self, session: str) -> bool:
        """Tell whether a session was opened here, and not too long ago."""
        return _is_fresh(self._file("session", session), "session")

    def _new(self, kind: str) -> str:
        secret = secrets.token_urlsafe(24)
        os.close(os.open(self._file(kind, secret), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return secret

    def _file(self, kind: str, secret: str) -> Path:
        return self._place / f"{kind}-{hashlib.sha256(secret.encode()).hexdigest()}"


def _is_fresh(file: Path, kind: str) -> bool:
    """Tell whether a token or a session is there and not too old."""
    try:
        return time.time() - file.stat().st_mtime < LIVES[kind]
    except OSError:
        return False
