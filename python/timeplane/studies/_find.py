"""Discovery of studies."""

from __future__ import annotations

import ast
import difflib
import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType


@dataclass(frozen=True)
class Study:
    """A folder with a ``study.py``."""

    name: str
    folder: Path

    def load(self) -> ModuleType:
        """Import its ``study.py``; other files of the folder are submodules."""
        name = "timeplane_study_" + self.name.replace("-", "_")
        if name in sys.modules:
            return sys.modules[name]
        place = self.folder / "study.py"
        spec = importlib.util.spec_from_file_location(name, place, submodule_search_locations=[str(self.folder)])
        if spec is None or spec.loader is None:
            raise ImportError(f"{place}: cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module

    @property
    def about(self) -> str:
        """Its question: the first paragraph of ``study.py``'s docstring, in one line."""
        text = ast.get_docstring(ast.parse((self.folder / "study.py").read_text(encoding="utf-8"))) or ""
        return " ".join(text.partition("\n\n")[0].split()).rstrip(".")


def places() -> list[Path]:
    """Folders to search: the one that ``TIMEPLANE_STUDIES`` names, the repository's, and
    ``studies`` in the current folder.
    """
    repository = Path(__file__).resolve().parents[3]
    named = os.environ.get("TIMEPLANE_STUDIES")
    folders = [Path(named)] if named else []
    folders += [repository / "studies", Path.cwd() / "studies"]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def studies() -> list[Study]:
    """All studies found, sorted by name."""
    found: dict[str, Study] = {}
    for place in places():
        for file in sorted(place.glob("*/study.py")):
            found.setdefault(file.parent.name, Study(file.parent.name, file.parent))
    return [found[name] for name in sorted(found)]


def find(name: str) -> Study:
    """The study of this name; raises ``LookupError`` with the nearest name."""
    known = {study.name: study for study in studies()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    help_ = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known) or 'none here'}"
    raise LookupError(f"there is no study `{name}`: {help_}")
