"""Comparisons and tables as HTML for notebooks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_UNITS = {"ps": ("ps", "ns", "us", "ms", "s"), "bps": ("b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"), "bytes": ("B", "kB", "MB", "GB", "TB")}
_STYLE = """<style>
.timeplane { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.timeplane th, .timeplane td { padding: 2px 10px; text-align: right; vertical-align: top; white-space: nowrap; }
.timeplane th.l, .timeplane td.l { text-align: left; }
.timeplane thead th { border-bottom: 1px solid currentColor; }
.timeplane tr.first td { border-top: 1px solid color-mix(in srgb, currentColor 30%, transparent); }
.timeplane .d { display: block; opacity: .75; font-size: 90%; }
.timeplane tr.bound td { font-style: italic; }
.timeplane-notes { font-size: 90%; opacity: .85; margin: 4px 0 0; padding-left: 1.2em; text-align: left; }
</style>"""


def _decimals(value: float) -> int:
    return min(4, max(0, 2 - math.floor(math.log10(abs(value) * 1.0005)))) if value else 0


def quantity(metric: str, value: float, half_width: float | None = None) -> str:
    """``12.3 ± 0.4 us``: three significant digits, in the unit that keeps the number short."""
    units = next((u for end, u in _UNITS.items() if metric.endswith(f"_{end}")), ("",))
    power = 0
    while power + 1 < len(units) and abs(value) >= 999.5 * 1000**power:
        power += 1
    scaled, width = value / 1000**power, None if half_width is None else half_width / 1000**power
    decimals = 0 if units == ("",) and value == int(value) and not width else _decimals(scaled)
    while width and decimals < 4 and round(width, decimals) == 0:
        decimals += 1
    text = f"{scaled:,.{decimals}f}"
    if width is not None:
        text += f" ± {width:,.{decimals}f}"
    return f"{text} {units[power]}".rstrip()


def _difference(metric: str, cell: Mapping[str, Any]) -> str:
    relative, absolute = cell["difference"].get("relative"), cell["difference"]["absolute"]
    if relative:
        width = relative.get("half_width")
        text = f"{100 * relative['mean']:+.1f}" + ("" if width is None else f" ± {100 * width:.1f}") + " %"
    else:
        text = ("+" if absolute["mean"] >= 0 else "") + quantity(metric, absolute["mean"], absolute.get("half_width"))
    equal = (cell.get("equivalence") or {}).get("equivalent")
    return text + (" ?" if cell.get("untested") else "") + (" *" if cell.get("significant") else "") + (" =" if equal else "")


def comparison(values: Mapping[str, Any], labels: Mapping[str, str], notes: Sequence[str]) -> str:
    """The table with its notes, as HTML."""
    lines = values["lines"]
    if not lines:
        return "<p>No run is complete.</p>"
    keys = list(dict.fromkeys(key for line in lines for key in line["point"]))
    metrics = list(labels)
    last = [key.rpartition(".")[2] for key in keys]
    heads = [short if last.count(short) == 1 else key for short, key in zip(last, keys, strict=True)]
    head = [f'<th class="l">{escape(h)}</th>' for h in [*heads, "scheme"]] + [f"<th>{escape(labels[m])}</th>" for m in metrics]
    rows, previous = [], None
    for i, line in enumerate(lines):
        new = line["point"] != previous
        previous = line["point"]
        cells = [f'<td class="l">{escape(line["point"].get(k, "")) if new else ""}</td>' for k in keys]
        name = f'{escape(line["scheme"])}'
        if any(c["difference"] for c in line["metrics"].values()):
            name += f'<span class="d">vs {escape(values["baseline"])}</span>'
        cells.append(f'<td class="l">{name}</td>')
        for metric in metrics:
            cell = line["metrics"][metric]
            if cell["value"] is None:
                cells.append("<td>-</td>")
                continue
            text = "&gt;= " if cell["lower_bound"] else ""
            text += quantity(metric, cell["value"]["mean"], cell["value"].get("half_width"))
            if cell["unfinished"]:
                text += " !"
            if cell["difference"]:
                text += f'<span class="d">{escape(_difference(metric, cell))}</span>'
            cells.append(f"<td>{text}</td>")
        rows.append(f'<tr{" class=first" if new and i else ""}>{"".join(cells)}</tr>')
        if i + 1 == len(lines) or lines[i + 1]["point"] != previous:
            group = [other for other in lines if other["point"] == previous]
            for bound in values["bounds"]:
                of = bound["metric"]
                value = next((o["metrics"][of]["bound"] for o in group if of in labels and o["metrics"][of]["bound"] is not None), None)
                if value is None:
                    continue
                cells = ["<td></td>" for _ in keys] + [f'<td class="l">bound: {escape(bound["label"])}</td>']
                cells += [f"<td>{quantity(m, value) if m == of else ''}</td>" for m in metrics]
                rows.append(f'<tr class="bound">{"".join(cells)}</tr>')
    table = f'<table class="timeplane"><thead><tr>{"".join(head)}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    foot = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'{_STYLE}{table}<ul class="timeplane-notes">{foot}</ul>'


def table(name: str, count: int, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> str:
    """The first rows of a table, as HTML. ``columns`` are names and meanings."""
    head = "".join(f'<th title="{escape(meaning)}">{escape(column)}</th>' for column, meaning in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    more = f", the first {len(rows)}" if len(rows) < count else ""
    about = f"{escape(name)}: {count:,} row{'' if count == 1 else 's'}{more}"
    scroll = '<div style="overflow-x: auto">'
    return f'{_STYLE}{scroll}<table class="timeplane"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div><p class="timeplane-notes">{about}</p>'
