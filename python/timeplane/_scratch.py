"""Temporary folders of workers. If a worker is killed, another one on the same machine removes its
folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import fcntl
except ImportError:  # Windows: folders of killed workers stay.
    fcntl = None  # type: ignore[assignment]

_PREFIX = "timeplane-run-"


@contextmanager
def scratch(parent: str | None) -> Iterator[str]:
    """A temporary folder in ``parent``, by default the system's folder for temporary files.

    It is locked, because process numbers of containers that share a folder mean nothing to each
    other. The kernel releases the lock when the process ends.
    """
    if fcntl is None:
        with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as path:
            yield path
        return
    remove_abandoned(parent)
    path, held = _locked(parent)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(held)


def _locked(parent: str | None) -> tuple[str, int]:
    """A new folder, and a descriptor that locks it."""
    while True:
        path = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
        try:
            held = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
        except OSError:
            # A file system without locks: nobody can take the folder for an abandoned one.
            return path, held
        # Another worker may have removed it before it was locked.
        if os.path.isdir(path):
            return path, held
        os.close(held)


def remove_abandoned(parent: str | None) -> None:
    """Remove the folders of workers that were killed. Errors do not matter: the next worker tries
    again.
    """
    if fcntl is None:
        return
    try:
        with os.scandir(parent or tempfile.gettempdir()) as entries:
            paths = [entry.path for entry in entries if entry.name.startswith(_PREFIX)]
    except OSError:
        return
    for path in paths:
        try:
            held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            if os.fstat(held).st_uid == os.geteuid():
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            pass  # Its worker lives.
        finally:
            os.close(held)
