"""The command ``timeplane plot``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timeplane._errors import TimeplaneError
from timeplane.plot import _classes, _distributions, _metrics, _queues, _schedule
from timeplane.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Figures by name: what draws it, and the options besides --point that it takes.
_FIGURES: Mapping[str, tuple[Callable[..., Axes], Sequence[str]]] = {
    "metric": (_metrics.metric_over_key, ("metric", "key", "schemes")),
    "bars": (_metrics.metric_bars, ("metric", "schemes")),
    "fct-cdf": (_distributions.fct_cdf, ("schemes",)),
    "cct-cdf": (_distributions.cct_cdf, ("schemes",)),
    "slowdown": (_distributions.slowdown_by_size, ("schemes", "statistic")),
    "fct-by-class": (_classes.times_by_class, ("schemes", "statistic", "edges")),
    "cct-by-class": (partial(_classes.times_by_class, table="coflows"), ("schemes", "statistic", "edges")),
    "queue": (_queues.queue_over_time, ("schemes", "link", "hosts")),
    "gantt": (_schedule.gantt, ("scheme", "seed", "time")),
    "matrix": (_schedule.demand_matrix, ("seed",)),
}
_HELP = """figures:
  metric        a metric over a swept key, one line per scheme
  bars          a metric as bars, one per scheme
  fct-cdf       distribution of flow completion times
  cct-cdf       distribution of coflow completion times
  slowdown      slowdown over flow size
  fct-by-class  flow completion times by class of size
  cct-by-class  coflow completion times by class of size
  queue         the longest queue over time
  gantt         slots over time, one row per sender
  matrix        bytes by sender and receiver

example:
  timeplane plot results/shuffle metric --metric fct_p99 --out p99.pdf
"""


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"`{text}`: expected KEY=VALUE, as fabric.rate='10 Gb/s'")
    return key, value


def _times(text: str) -> tuple[str, str]:
    first, dots, last = text.partition("..")
    if not dots:
        raise argparse.ArgumentTypeError(f"`{text}`: expected two times, as '1 ms..2 ms'")
    return first, last


def _words(text: str) -> list[str]:
    return text.split(",")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="timeplane plot", description="Draw a figure of results for a paper.",
        epilog=_HELP, formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("results", type=Path, help="a folder of results, as results/shuffle")
    parser.add_argument("figure", choices=list(_FIGURES), metavar="figure", help="one of the figures below")
    parser.add_argument("--out", type=Path, metavar="FILE", help="pdf, png or svg by its ending [default: FIGURE.pdf]")
    parser.add_argument("--point", type=_pair, action="append", default=[], metavar="KEY=VALUE", help="only this value of a swept key; can be repeated")
    parser.add_argument("--schemes", type=_words, metavar="NAME,..", help="only these schemes")
    parser.add_argument("--metric", metavar="NAME", help="the metric, a column of the summary [default: fct_p99]")
    parser.add_argument("--over", dest="key", metavar="KEY", help="the swept key on the x axis, if several are swept")
    parser.add_argument("--statistic", metavar="P", help="slowdown, by class: a percentile, or `mean` [default: 99, mean]")
    parser.add_argument("--edges", type=_words, metavar="SIZE,..", help="by class: sizes between classes [default: '100 kB,10 MB']")
    parser.add_argument("--link", type=int, metavar="N", help="queue: that of this link")
    parser.add_argument("--hosts", action="store_true", default=None, help="queue: those of hosts instead of switches")
    parser.add_argument("--scheme", metavar="NAME", help="gantt: the scheme [default: the first one with slots]")
    parser.add_argument("--seed", type=int, metavar="N", help="gantt, matrix: the run's seed [default: the first]")
    parser.add_argument("--time", type=_times, metavar="FROM..TO", help="gantt: what to draw, as '1 ms..2 ms'")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run ``timeplane plot`` with these arguments and return the exit code."""
    parser = _parser()
    try:
        given = parser.parse_args(arguments)
        draw, takes = _FIGURES[given.figure]
        every = {option for _, options in _FIGURES.values() for option in options}
        options: dict[str, Any] = {name: getattr(given, name) for name in every if getattr(given, name) is not None}
        if unused := sorted(set(options) - set(takes)):
            name = {"key": "over"}.get(unused[0], unused[0])
            takers = [figure for figure, (_, of) in _FIGURES.items() if unused[0] in of]
            parser.error(f"--{name} is for {', '.join(takers)}, not for {given.figure}")
    except SystemExit as exit_:
        return int(exit_.code or 0)
    if "metric" in takes:
        options.setdefault("metric", "fct_p99")
    try:
        import matplotlib

        # A figure for a file needs no display.
        matplotlib.use("agg")
        axes = draw(Results.open(given.results), point=dict(given.point), **options)
        out = given.out or Path(f"{given.figure}.pdf")
        axes.get_figure().savefig(out)  # type: ignore[union-attr]
    except ImportError as error:
        print(f"error: {error}; figures need `pip install 'timeplane[plot]'`", file=sys.stderr)
        return 2
    except (TimeplaneError, ValueError, LookupError) as error:
        # KeyError shows its argument's representation.
        print(f"error: {error.args[0] if isinstance(error, LookupError) and error.args else error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(out)
    return 0
