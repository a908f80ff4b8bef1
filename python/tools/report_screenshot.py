"""Renews the screenshot of a report in the tutorial: `docs/report.png`.

    .venv/bin/python python/tools/report_screenshot.py

It runs the tutorial's scenario, opens the report in Chromium, and keeps the first screen. Look at
the picture before you commit it.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from blocks import blocks  # noqa: E402

#: Pixels of the screen, and how many image pixels each has.
SIZE, SCALE = {"width": 1100, "height": 525}, 1.25


def main() -> int:
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    scenario = next(block for block in blocks(ROOT / "docs" / "tutorial.md") if block.file == "first.toml")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        (Path(name) / "first.toml").write_text(scenario.text, encoding="utf-8")
        for arguments in (["run", "first.toml", "--quiet"], ["report", "results/first"]):
            subprocess.run([sys.executable, "-m", "timeplane", *arguments], cwd=name, check=True, stdout=subprocess.DEVNULL)
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_context(offline=True, viewport=SIZE, device_scale_factor=SCALE, color_scheme="light").new_page()
        page.goto((Path(name) / "results" / "first" / "report.html").as_uri())
        # `wait_for_function` needs `eval`, which the page forbids itself.
        deadline = time.monotonic() + 30
        while not page.evaluate("window.timeplane?.ready > 0"):
            if time.monotonic() > deadline:
                raise TimeoutError("the report is not ready after 30 s")
            time.sleep(0.05)
        shot = page.screenshot()
        browser.close()
    # Flat colors: a palette is a third of the size, and looks the same.
    out = ROOT / "docs" / "report.png"
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(64).save(out, optimize=True)
    print(f"{out}: {out.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
