"""A Sphinx extension that generates the pages of the reference and the gallery."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import command_line
import daemon_metrics
import frames
import gallery
import reproduce
import results_tables
import scenario_gallery
import scenario_schema
import stub
from built import ROOT

from timeplane import _core


def _write(app: Any) -> None:
    docs = Path(app.srcdir)
    reference = docs / "reference" / "generated"
    command_line.page().write(reference / "command-line.md")
    for name, page in scenario_schema.pages(json.loads(_core.schema())).items():
        page.write(reference / f"{name}.md")
    results_tables.page().write(reference / "results.md")
    daemon_metrics.page().write(reference / "daemon-metrics.md")
    frames.page().write(reference / "frames.md")
    for name, page in gallery.pages(ROOT).items():
        page.write(docs / "gallery" / "generated" / f"{name}.md")
    reproduce.page().write(docs / "gallery" / "generated" / "reproduce.md")
    scenario_gallery.page().write(docs / "gallery" / "generated" / "scenarios.md")
    stub.take_its_place()


def setup(app: Any) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
