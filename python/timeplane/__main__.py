"""The ``timeplane`` command: that of the compiled program, and studies."""

from __future__ import annotations

import sys

from timeplane import _core


def main(arguments: list[str] | None = None) -> int:
    """Runs the command with these arguments, without the program's name in front; returns its exit code."""
    if arguments is None:
        arguments = sys.argv[1:]
    if arguments[:1] == ["study"] and not {"-h", "--help"} & set(arguments[1:2]):
        name = f" `{arguments[1]}`" if len(arguments) > 1 else ""
        print(f"error: there is no study{name}: this version comes without studies", file=sys.stderr)
        return 2
    # Rust writes to the same place: what Python holds back comes first.
    sys.stdout.flush()
    return _core.main(["timeplane", *arguments])


if __name__ == "__main__":
    sys.exit(main())
