"""Progress of runs, told to a callable or shown: as a line in terminals, as a bar in notebooks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TextIO

_WIDTH = 20


class Progress(NamedTuple):
    """Progress of a scenario's runs."""

    #: Complete runs.
    done: int
    #: Complete runs that were reused.
    cached: int
    #: All runs.
    total: int
    #: Simulated events.
    events: int
    #: Estimated seconds left, by what other runs of the same schemes took; ``None`` as long as
    #: nothing is known.
    remaining: float | None
    #: Seconds since the start.
    elapsed: float

    @property
    def fraction(self) -> float:
        """Share of all time that is over, 0 to 1."""
        if self.done == self.total:
            return 1.0
        return 0.0 if self.remaining is None else self.elapsed / max(self.elapsed + self.remaining, 1e-9)


def _duration(seconds: float) -> str:
    """``48 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _text(progress: Progress) -> str:
    """Runs and time: the time left, or the whole time at the end."""
    over = progress.done == progress.total or progress.remaining is None
    time = _duration(progress.elapsed) if over else f"{_duration(progress.remaining or 0)} left"
    return f"{progress.done:,} of {progress.total:,} runs  {time}"


class Bar:
    """A progress line on stderr. In a file it is written at the end only."""

    def __init__(self, file: TextIO | None = None) -> None:
        self.file = file or sys.stderr
        self.live = self.file.isatty()
        self.written = self.over = False

    def __call__(self, progress: Progress) -> None:
        last = progress.done == progress.total
        if self.over or not (self.live or last):
            return
        self.over = last
        full = int(_WIDTH * progress.fraction)
        text = f"{100 * progress.fraction:5.1f} %  {_text(progress)}"
        line = f"[{'#' * full}{'-' * (_WIDTH - full)}] {text}"
        self.file.write(f"\r{line:<78}" if self.live else f"{text}\n")
        self.file.flush()
        self.written = True

    def close(self) -> None:
        """End the line."""
        if self.live and self.written:
            self.file.write("\n")
            self.file.flush()


class NotebookBar:
    """A bar below a notebook's cell, which is gone when the runs are over."""

    def __init__(self) -> None:
        self.handle: Any = None

    def __call__(self, progress: Progress) -> None:
        from IPython.display import HTML, display

        html = HTML(f'<progress max="1" value="{progress.fraction:.4f}" style="width: 20em"></progress> {_text(progress)}')
        if self.handle is None:
            self.handle = display(html, display_id=True)
        else:
            self.handle.update(html)

    def close(self) -> None:
        """Remove the bar."""
        if self.handle is not None:
            from IPython.display import HTML

            self.handle.update(HTML(""))


def _in_notebook() -> bool:
    """Whether a notebook's kernel runs this. Its IPython is imported then."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


def bar_for(progress: bool | Callable[[Progress], object] | None) -> Bar | NotebookBar | None:
    """The bar to show: that of a notebook; a line if it is asked for or stderr is a terminal."""
    if callable(progress) or progress is False:
        return None
    if _in_notebook():
        return NotebookBar()
    return Bar() if progress or sys.stderr.isatty() else None
