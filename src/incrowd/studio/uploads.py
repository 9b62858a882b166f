"""Files that are dropped on a page: written to the folder as they come, up to a size."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from incrowd.errors import BadInputError
from incrowd.studio.folder import Folder, slug_of
from incrowd.studio.shown import size_in_words

__all__ = ["receive"]

LONGEST_NAME = 120
Checked = TypeVar("Checked")


async def receive(request: Request, folder: Folder, largest: int, check: Callable[[str], Checked]) -> Checked:
    """Write the body of a request to a file in a directory of its own, and return what its check says of its path.

    One that is too large, does not come whole or is refused leaves nothing.
    """
    name = _safe_name(request.query_params.get("name", ""))
    path = folder.inputs / folder.take_name("inputs", slug_of(name.partition(".")[0])) / name
    try:
        await _write(request, path, largest)
        return await run_in_threadpool(check, str(path))
    except BaseException as error:  # a tab that was closed, too
        path.unlink(missing_ok=True)
        path.parent.rmdir()
        if isinstance(error, OSError):
            raise BadInputError(
                f"it cannot be copied ({error.strerror}): free space, or give its path"
            ) from None
        raise


def _safe_name(given: str) -> str:
    """Return a name as a file system takes it, with its end, which says how the file is written."""
    name = re.sub(r"[^\w. -]", "_", Path(given).name).strip(" .") or "data"
    return os.fsencode(name)[-LONGEST_NAME:].decode(errors="ignore").strip(" .")


async def _write(request: Request, path: Path, largest: int) -> None:
    too_large = BadInputError(
        f"a file that is dropped here may have {size_in_words(largest)}: give the path of a larger one, it is read where it is"
    )
    if int(request.headers.get("content-length") or 0) > largest:
        raise too_large
    size = 0
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        async for piece in request.stream():
            size += len(piece)
            if size > largest:
                raise too_large
            file.write(piece)
