"""The ``timeplane`` command: the compiled program, imports, figures, studies, and sweeps on Dask."""

from __future__ import annotations

import sys

from timeplane import _core


def main(arguments: list[str] | None = None) -> int:
    """Run the command with ``arguments`` (without the program's name) and return its exit code."""
    if arguments is None:
        arguments = sys.argv[1:]
    if arguments[:1] == ["study"]:
        from timeplane import studies

        return studies.main(arguments[1:])
    if arguments[:1] == ["plot"]:
        from timeplane.plot import _command

        return _command.main(arguments[1:])
    if arguments[:1] == ["import"]:
        from timeplane.importers import _command as _import

        return _import.main(arguments[1:])
    if arguments[:1] == ["sweep"] and any(a.partition("=")[0] == "--dask" for a in arguments):
        from timeplane import _sweep

        return _sweep.command(arguments[1:])
    # Rust writes to the same stream: flush Python's buffer first.
    sys.stdout.flush()
    return _core.main(["timeplane", *arguments])


if __name__ == "__main__":
    sys.exit(main())
