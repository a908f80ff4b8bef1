"""Documents the compiled part of the package from its stub, which has types."""

from __future__ import annotations
import __future__

import sys
from pathlib import Path
from types import ModuleType

import timeplane


def take_its_place() -> None:
    """Replace the compiled module by its stub in this process, which does not call it again."""
    compiled = sys.modules["timeplane._core"]
    path = Path(timeplane.__file__).with_name("_core.pyi")
    stub = ModuleType("timeplane._core", compiled.__doc__)
    stub.__file__ = str(path)
    code = compile(path.read_text(encoding="utf-8"), path, "exec", flags=__future__.annotations.compiler_flag)
    exec(code, stub.__dict__)  # It is our own.
    sys.modules["timeplane._core"] = timeplane._core = stub
