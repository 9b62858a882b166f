"""``python -m incrowd``."""

from __future__ import annotations

from incrowd.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
