"""The papers' worked examples. Published rows are multisets: compare them with multiplicity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["GOLDEN"]

GOLDEN: dict[str, Any] = json.loads(Path(__file__).with_name("golden.json").read_text(encoding="utf-8"))
