"""Runs examples of the workspace, which the tests build before the site."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def example(name: str, *arguments: str) -> str:
    """Return the output of an example. Raise RuntimeError with the build command if it is not built."""
    for profile in ("debug", "release"):
        program = ROOT / "target" / profile / "examples" / name
        if program.is_file():
            return subprocess.run([program, *arguments], check=True, capture_output=True, text=True, timeout=60).stdout
    raise RuntimeError(f"example `{name}` is not built: run `bash install.sh`, then `cargo build --workspace --locked --example {name}`")
