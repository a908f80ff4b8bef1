"""Programs that the tests have built before the site is."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def example(name: str, *arguments: str) -> str:
    """What an example of the workspace prints. Raises where nobody has built it, with what does."""
    for profile in ("debug", "release"):
        program = ROOT / "target" / profile / "examples" / name
        if program.is_file():
            return subprocess.run([program, *arguments], check=True, capture_output=True, text=True, timeout=60).stdout
    raise RuntimeError(f"the example `{name}` is not built: `cargo build --workspace --locked --example {name}` (after `bash install.sh`) does it")
