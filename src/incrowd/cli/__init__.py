"""The command line: thin, scriptable, one line for every mistake."""

from __future__ import annotations

from incrowd.cli.app import main

__all__ = ["main"]
