"""The process that estimates curves: it keeps samples and compiled code in memory, so that an answer takes no start.

It reads a request a line, writes the answer to the file that the request names, and says so. It ends when its input does, or the studio,
even in the middle of an answer.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from incrowd.core.parent import end_with_parent
from incrowd.errors import IncrowdError, place_of
from incrowd.studio.commands import Places, options_of
from incrowd.studio.folder import read_struct, write_struct
from incrowd.studio.projects import Project

__all__ = ["Answer", "Request", "main"]

REMEMBERED = 3
NOWHERE = Places(Path("release"), Path("private"))


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted: points of a project's curve, its sample (two projects with the same mark have the same), and where to write them.

    Without any point, only the sample is read, and nothing is written.
    """

    project: Project
    sample: str
    ks: list[int]
    path: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Points by k, each (kept, pairs, singled out; None: the sample is too small for it), and what they were measured on; or why there are none."""

    points: dict[str, tuple[float, float, float] | None] = {}
    people: int = 0
    read: int = 0
    is_all: bool = True
    before: float = 0.0
    error: str = ""


class Estimator:
    """Answers requests; the last samples are kept."""

    def __init__(self) -> None:
        self._samples: dict[str, Any] = {}

    def answers(self, request: Request) -> Iterator[Answer]:
        """Yield an answer after each point, with the points that an earlier one has."""
        from incrowd.jobs.estimate import estimate
        from incrowd.jobs.spec import read_choices

        options = options_of(request.project, NOWHERE)
        before = read_struct(Path(request.path), Answer) or Answer()
        points = dict(before.points)
        job = read_choices(options)
        sample = self._sample(request.sample, options)
        for k in request.ks:
            if str(k) not in points:
                point = estimate(sample, job, k)
                points[str(k)] = None if point is None else (point.kept, point.pairs, point.singled_out)
                yield Answer(
                    points=dict(points),
                    people=sample.people,
                    read=sample.read,
                    is_all=sample.is_all,
                    before=sample.singled_out,
                )

    def _sample(self, mark: str, options: Any) -> Any:
        from incrowd.jobs.estimate import sample_of

        if mark not in self._samples:
            while len(self._samples) >= REMEMBERED:
                del self._samples[next(iter(self._samples))]
            self._samples[mark] = sample_of(options)
        return self._samples[mark]


def _answered(estimator: Estimator, request: Request) -> str:
    """Write the answers to a request; return why there are none, or ""."""
    try:
        for answer in estimator.answers(request):
            write_struct(Path(request.path), answer)
    except IncrowdError as error:
        said = str(error)
    except Exception as error:  # noqa: BLE001 - its message could quote a record
        said = f"Internal error, {place_of(error)}. Please report this line."
    else:
        return ""
    return said if request.ks else ""


def main() -> None:
    """Answer until there is no more to be read."""
    if parent := os.environ.get("INCROWD_PARENT"):
        end_with_parent(int(parent))
    estimator = Estimator()
    for line in sys.stdin.buffer:
        request = msgspec.json.decode(line, type=Request)
        if error := _answered(estimator, request):
            with suppress(IncrowdError):  # a full disk: the page goes on waiting
                write_struct(Path(request.path), Answer(error=error))
        sys.stdout.buffer.write(b"done\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
