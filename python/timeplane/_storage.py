"""Folders of results at addresses such as ``s3://bucket/results``, over fsspec.

The compiled part reads and writes folders, so this module copies. A run at an address is complete
if it has a ``summary.json``, which is written after all other files of the run and removed before
any of them is replaced. An interrupted copy therefore never shows an incomplete run as complete.
"""

from __future__ import annotations

import json
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from timeplane import _core
from timeplane._errors import RunError

if TYPE_CHECKING:
    from types import TracebackType

_MANIFEST = "manifest.json"
_SUMMARY = "summary.json"
#: Files of the folder that are written when it is opened, and those that are written at the end.
_FIRST = (".timeplane-results", _MANIFEST)
_LAST = (_MANIFEST, "summary.parquet", "summary.csv")
_KEY = re.compile(r"[0-9a-f]{16}")
#: Runs that are copied together: many small files at once, and a summary of a run soon.
_GROUP = 64
#: Seconds between looks for complete runs.
_LOOK = 0.5


def is_address(results: object) -> TypeGuard[str]:
    """Whether this is an address, not a folder."""
    return isinstance(results, str) and "://" in results


class Address:
    """A folder of results at an address."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        try:
            from fsspec.core import url_to_fs
        except ImportError as e:
            raise RunError(f"`{url}` needs fsspec, which is not installed: pip install 'timeplane[fsspec]'") from e
        # Files need their folders. Object storage has none, and might create a bucket instead.
        self._files = url.startswith(("file://", "local://"))
        options = {"auto_mkdir": True} if self._files else {}
        with self._explained("open"):
            self.fs, path = url_to_fs(self.url, **options)
        self.path = path.rstrip("/")

    @contextmanager
    def _explained(self, verb: str) -> Iterator[None]:
        """Explain errors of the storage, which may be those of any library."""
        try:
            yield
        except RunError:
            raise
        except ImportError as e:
            raise RunError(f"cannot {verb} `{self.url}`: a package is missing: {e}") from e
        except FileNotFoundError as e:
            raise RunError(f"cannot {verb} `{self.url}`: {e} not found: expected an existing bucket or folder") from e
        except PermissionError as e:
            raise RunError(f"cannot {verb} `{self.url}`: permission denied: {e}. Check the credentials and their rights") from e
        except Exception as e:
            raise RunError(f"cannot {verb} `{self.url}`: {e or type(e).__name__}") from e

    def complete(self) -> dict[str, list[str]]:
        """The names of the files of each complete run, by key."""
        runs = f"{self.path}/runs"
        found: dict[str, list[str]] = {}
        with self._explained("read"):
            self.fs.invalidate_cache()
            try:
                paths = self.fs.find(runs)
            except FileNotFoundError:
                return {}
        for path in paths:
            key, _, name = path.rstrip("/").removeprefix(f"{runs}/").partition("/")
            if _KEY.fullmatch(key) and name and "/" not in name:
                found.setdefault(key, []).append(name)
        return {key: names for key, names in found.items() if _SUMMARY in names}

    def manifest(self) -> bytes:
        with self._explained("read"):
            self.fs.invalidate_cache()
            try:
                return self.fs.cat_file(f"{self.path}/{_MANIFEST}")
            except FileNotFoundError as e:
                raise RunError(f"`{self.url}` has no {_MANIFEST}: expected a folder of results, as `s3://BUCKET/results/NAME`") from e

    def get(self, runs: dict[str, list[str]], folder: Path) -> None:
        """Copy runs to a folder of results on this machine."""
        names = [f"runs/{key}/{name}" for key, files in runs.items() for name in files]
        for key in runs:
            (folder / "runs" / key).mkdir(parents=True, exist_ok=True)
        if names:
            with self._explained("read"):
                self.fs.get([f"{self.path}/{name}" for name in names], [str(folder / name) for name in names])

    def put(self, folder: Path, names: list[str]) -> None:
        """Copy files from a folder of results on this machine."""
        with self._explained("write"):
            self.fs.put([str(folder / name) for name in names], [f"{self.path}/{name}" for name in names])

    def put_runs(self, folder: Path, keys: list[str], replaced: set[str]) -> None:
        """Copy complete runs, their summaries last. Those that are ``replaced`` have one already."""
        summaries = {key: f"{self.path}/runs/{key}/{_SUMMARY}" for key in keys}
        with self._explained("write"):
            for key in sorted(replaced.intersection(keys)):
                self.fs.rm_file(summaries[key])
        tables = [f"runs/{key}/{path.name}" for key in keys for path in sorted((folder / "runs" / key).iterdir()) if path.name != _SUMMARY]
        self.put(folder, tables)
        contents = {path: (folder / "runs" / key / _SUMMARY).read_bytes() for key, path in summaries.items()}
        with self._explained("write"):
            # Object storage writes an object as a whole or not at all. A file is renamed for that.
            part = ".part" if self._files else ""
            self.fs.pipe({path + part: content for path, content in contents.items()})
            for path in contents if part else ():
                self.fs.mv(path + part, path)


def download(url: str, root: str) -> str:
    """Copy the complete runs of the manifest at an address into ``root``; return their folder."""
    address = Address(url)
    folder = Path(root) / address.url.rpartition("/")[2]
    (folder / "runs").mkdir(parents=True)
    manifest = address.manifest()
    (folder / _MANIFEST).write_bytes(manifest)
    runs = address.complete()
    wanted = _keys(manifest)
    address.get({key: names for key, names in runs.items() if key in wanted}, folder)
    return str(folder)


def _keys(manifest: bytes) -> set[str]:
    """The keys of the runs in a manifest. The compiled part reports what is wrong with it."""
    try:
        return {run["key"] for run in json.loads(manifest)["runs"]}
    except (ValueError, KeyError, TypeError):
        return set()


class Upload:
    """Keep an address like a folder in ``root``, while another thread or process runs what is
    missing there: complete runs come first, and each new one is copied when it is complete.
    """

    def __init__(self, url: str, root: str, loaded: _core.Loaded, until: str | None) -> None:
        self.address = Address(f"{url.rstrip('/')}/{loaded.name}")
        self._root, self._loaded, self._until = root, loaded, until
        self._folder = Path(root) / loaded.name
        #: What each run at the address is a copy of: a run that is repeated has another folder.
        self._copied: dict[str, tuple[int, int]] = {}
        self._there: set[str] = set()
        self._over = threading.Event()
        self._failed: Exception | None = None
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Upload:
        with warnings.catch_warnings():
            # The sweep that follows gives the same warnings.
            warnings.simplefilter("ignore")
            # It marks the folder and writes the manifest, which has the keys of all runs.
            _core.Sweep(self._loaded, self._root, self._until).close()
        wanted = _keys((self._folder / _MANIFEST).read_bytes())
        complete = self.address.complete()
        self._there = set(complete)
        # Before anything runs, this shows whether the address can be written.
        self.address.put(self._folder, list(_FIRST))
        self.address.get({key: names for key, names in complete.items() if key in wanted}, self._folder)
        self._copied = self._local()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        try:
            self.check()
            self._put_new()
            if error is None:
                self.address.put(self._folder, list(_LAST))
        except Exception as e:
            if error is None:
                raise
            if error is not e:
                error.add_note(f"Some complete runs are missing at the address: {e}")

    def check(self) -> None:
        """Raise what ended the copying."""
        if self._failed is not None:
            raise self._failed

    def telling(self, tell: Callable[..., object] | None) -> Callable[..., object]:
        """``tell`` that ends the sweep if runs can no longer be copied."""

        def told(*values: Any) -> None:
            self.check()
            if tell is not None:
                tell(*values)

        return told

    def _watch(self) -> None:
        while not self._over.wait(_LOOK):
            try:
                self._put_new()
            except Exception as e:
                self._failed = e
                return

    def _local(self) -> dict[str, tuple[int, int]]:
        """The complete runs in the folder."""
        found = {}
        with os.scandir(self._folder / "runs") as entries:
            for entry in entries:
                if _KEY.fullmatch(entry.name):
                    about = os.stat(entry.path)
                    found[entry.name] = (about.st_ino, about.st_mtime_ns)
        return found

    def _put_new(self) -> None:
        new = {key: about for key, about in self._local().items() if self._copied.get(key) != about}
        keys = sorted(new)
        for at in range(0, len(keys), _GROUP):
            group = keys[at : at + _GROUP]
            self.address.put_runs(self._folder, group, self._there)
            self._there.update(group)
            self._copied.update((key, new[key]) for key in group)
