"""Builds the gallery of scenarios: their questions, commands, pictures, answers and costs.

Texts come from the files of `scenarios/`, numbers from the stored results. Scenarios that take less
than `QUICK` seconds run again when the site is built, and have to give the stored numbers.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterable

import page as pictures
import scenario_answers
import scenario_results as stored
from generated import Page

import timeplane as tp

#: Seconds of processor time up to which a scenario runs when the site is built.
QUICK = 1.0
_LIVE = re.compile(r"timeplane live lab scenarios/[\w.-]+\.toml")


def question(text: str) -> str:
    """The question in the first paragraph of a file's comment; empty if it asks nothing."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("# "):
            break
        lines.append(line[2:].strip())
    asked = re.match(r"(?:[^.?]|\.(?=\d))*\?", " ".join(lines))
    return asked[0] if asked else ""


def measure(name: str, results: tp.Results) -> list[stored.Value]:
    """The values of a scenario that are stored: those of its comparison, and those of its card."""
    known = list(results.comparison._core.labels())
    found = stored.values_of(name, results.comparison.to_dict())
    more = [metric for metric in scenario_answers.card(name).metrics if not any(metric == scenario_answers.without_unit(k) for k in known)]
    return found + (stored.values_of(name, results.compare(metrics=more).to_dict()) if more else [])


def run_again(names: Iterable[str], values: dict[str, list[stored.Value]]) -> None:
    """Run scenarios. Raise :class:`ResultsError` if the numbers are not the stored ones."""
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tp.ScenarioWarning)
            results = tp.Scenario.from_file(stored.SCENARIOS / f"{name}.toml").run(results=None, progress=False)
        new, old = stored.rounded(measure(name, results)), stored.rounded(values[name])
        if wrong := next((row for row in new if row not in old), None) or next((row for row in old if row not in new), None):
            at = f"scenarios/{name}.toml: `{wrong['metric']}` of `{wrong['scheme']}`"
            raise stored.ResultsError(f"{at} is not what docs/gallery/metrics.csv says: run {stored.RENEW} {name}")


def page() -> Page:
    """Build the page. Raise :class:`ResultsError` if a scenario has no results, or those of an earlier text."""
    rows, values = stored.read()
    stored.check(rows)
    run_again([name for name, row in rows.items() if row.processor_s < QUICK], values)
    made = Page(
        "Gallery of scenarios",
        "Each file in the folder `scenarios` of a clone asks one question. Run its command in the clone. Answers and pictures are those of "
        "complete runs, which are stored in the repository. The time is processor time of all runs: two cores take about half of it. "
        "Memory is that of the process with one run per core. In pictures, whiskers and bands are 95 % confidence intervals, and a dotted line is "
        "what no scheme can beat."
        + (" The times are those of a development build; a release build takes about half." if any(r.build != "release" for r in rows.values()) else ""),
    )
    made.table(("scenario", "question", "time"), [_line(name, rows[name]) for name in rows])
    for name, row in rows.items():
        made.add(*_card(name, row, values[name]))
    made.add("(templates)=", "## Templates", "`timeplane new` writes a commented scenario to start from, anywhere. Each runs in a second or two.")
    made.table(("question", "command"), _templates())
    made.add("[Write a scenario](../../how-to/scenario.md) explains what to change.")
    return made


def _text(name: str) -> str:
    return (stored.SCENARIOS / f"{name}.toml").read_text(encoding="utf-8")


def _line(name: str, row: stored.Row) -> tuple[str, str, str]:
    text = _text(name)
    asked = question(text) or " ".join(tomllib.loads(text).get("description", "").split())
    return f"[{name}](#scenario-of-{name})", asked, _seconds(row.processor_s)


def _card(name: str, row: stored.Row, values: list[stored.Value]) -> list[str]:
    """The paragraphs about a scenario."""
    text = _text(name)
    told = scenario_answers.Told(name, values)
    card = scenario_answers.card(name)
    file = tomllib.loads(text)
    description = " ".join(file.get("description", "").split())
    svg = pictures.themed((stored.PLACE / "pictures" / f"{name}.svg").read_text(encoding="utf-8"), 4.4)
    svg = "\n".join(line for line in svg.splitlines() if line.strip())
    asked = question(text)
    live = _LIVE.search(text)
    seeds = file.get("seeds", 1)
    runs = f"{row.runs} run{'s' if row.runs > 1 else ''}, {_seconds(row.processor_s)} of processor time, {row.peak_mb} MB."
    cautious = "One seed: no confidence interval." if seeds == 1 else f"Means over {seeds} seeds."
    if seeds > 1 and len(told.schemes) > 1 and not any("significant" in value.verdict for value in values):
        cautious += " No difference is statistically significant."
    command = f"timeplane run scenarios/{name}.toml"
    return [
        f"(scenario-of-{name})=",
        f"## {name}",
        f'<figure class="picture" role="img" aria-label="{html.escape(f"{card.about}. {_numbers(told)}", quote=True)}">{svg}</figure>',
        f"**{asked or description}**",
        description if asked else "",
        f"**Answer:** {card.answer(told)} {cautious}",
        f"```sh\n{command}\n```",
        runs,
        f"It also runs in real daemons on Linux, in network namespaces of one machine. That needs root:\n\n```sh\nsudo {live[0]}\n```" if live else "",
        f"<details><summary><code>scenarios/{name}.toml</code></summary>",
        f"```{{literalinclude}} ../../../scenarios/{name}.toml\n:language: toml\n```",
        "</details>",
    ]


def _numbers(told: scenario_answers.Told) -> str:
    """The first metric of all schemes, at the last point."""
    metric, point = told.metrics[0], told.points[-1].rpartition("=")[2]
    shown = ", ".join(f"{scheme} {told.text(metric, scheme, point)}" for scheme in told.schemes)
    return f"{metric.replace('_', ' ')}: {shown}"


def _seconds(seconds: float) -> str:
    """A cost in words; less than a tenth of a second is none that a reader would notice."""
    if seconds < 100:
        return f"{max(seconds, 0.1):.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"


def _templates() -> list[tuple[str, str]]:
    command = [sys.executable, "-m", "timeplane", "new"]
    listed = json.loads(subprocess.run([*command, "--list", "--json"], check=True, capture_output=True, text=True).stdout)
    rows = []
    for template in listed:
        text = subprocess.run([*command, "--template", template["name"], "-"], check=True, capture_output=True, text=True).stdout
        about = template["about"]
        rows.append((question(text) or f"{about[:1].upper()}{about[1:]}", f"`timeplane new --template {template['name']}`"))
    return rows
