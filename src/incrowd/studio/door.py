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
        """Return a new token."""
        return self._new("token")

    def enter(self, token: str) -> str | None:
        """Exchange a token for a session, once; None if it is no token, or no longer."""
        try:
            self._file("token", token).unlink()
        except OSError:
            return None
        return self._new("session")

    def knows(self, session: str) -> bool:
        """Tell whether a session was opened here, and not too long ago."""
        try:
            return time.time() - self._file("session", session).stat().st_mtime < SESSION_SECONDS
        except OSError:
            return False

    def _new(self, kind: str) -> str:
        secret = secrets.token_urlsafe(24)
        os.close(os.open(self._file(kind, secret), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return secret

    def _file(self, kind: str, secret: str) -> Path:
        return self._place / f"{kind}-{hashlib.sha256(secret.encode()).hexdigest()}"
