"""The compiled part of the package, as its stub describes it: with types, which a compiled function does not have."""

from __future__ import annotations
import __future__

import sys
from pathlib import Path
from types import ModuleType

import timeplane


def take_its_place() -> None:
    """Puts the stub in the place of the compiled module, in this process: what is described is not called any more."""
    compiled = sys.modules["timeplane._core"]
    path = Path(timeplane.__file__).with_name("_core.pyi")
    stub = ModuleType("timeplane._core", compiled.__doc__)
    stub.__file__ = str(path)
    code = compile(path.read_text(encoding="utf-8"), path, "exec", flags=__future__.annotations.compiler_flag)
    exec(code, stub.__dict__)  # It is our own.
    sys.modules["timeplane._core"] = timeplane._core = stub
