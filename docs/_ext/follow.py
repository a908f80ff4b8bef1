"""Runs the blocks of a page as its reader would: ``python docs/_ext/follow.py docs/tutorial.md``.

The rules are those of :mod:`blocks`. The blocks run in a fresh copy of the repository, with the
``timeplane`` of this Python. With ``--bare`` they run in an empty folder, where the page has to clone
the repository and build everything. ``--update`` writes the output into the page; review the diff.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable
from pathlib import Path

from blocks import Block, blocks

ROOT = Path(__file__).resolve().parents[2]
#: The address in pages; git is told to clone this repository instead.
UPSTREAM = "https://github.com/timeplane/timeplane"
#: Limits for a block in seconds, without and with a build.
LONGEST, LONGEST_BUILD = 300, 3600


class FollowError(AssertionError):
    """A block failed, or its output differs from the page."""


def programs() -> str:
    """Return ``PATH`` with the commands of this Python first and the programs of the tests last."""
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"], str(ROOT / "target" / "debug")))


def copy(folder: Path) -> None:
    """Copy the repository with its uncommitted changes."""
    listed = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        # This is an unpacked archive and not a clone.
        made = shutil.ignore_patterns("target", ".venv", "results", "_build", "generated", "__pycache__")
        shutil.copytree(ROOT, folder, ignore=made, dirs_exist_ok=True)
        return
    for name in names.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


class Shell:
    """One shell for all blocks of a page."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 (it lives as long as the shell)
        self._bash = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bash.poll() is None:
            os.killpg(self._bash.pid, 9)
        self._bash.communicate()
        self._errors.close()

    def type(self, text: str, stop: bool = True, longest: float = LONGEST) -> tuple[str, int]:
        """Return the output and the last exit code. With ``stop`` a failing command raises :class:`FollowError`."""
        assert self._bash.stdin and self._bash.stdout
        mark = f"--{uuid.uuid4().hex}--"
        self._errors.seek(0, os.SEEK_END)
        began = self._errors.tell()
        self._bash.stdin.write(f"set {'-' if stop else '+'}e\n{{\n{text}\n}} < /dev/null\nprintf '%s %d\\n' {mark} $?\n")
        self._bash.stdin.flush()
        late = threading.Timer(longest, lambda: os.killpg(self._bash.pid, 9))
        late.start()
        try:
            lines = []
            for line in self._bash.stdout:
                before, found, code = line.partition(f"{mark} ")
                lines.append(before)
                if found:
                    return "".join(lines), int(code)
        finally:
            late.cancel()
        self._errors.seek(began)
        raise FollowError(f"it failed, or took {longest} s:\n{''.join(lines)}{self._errors.read()}")


def follow(page: Path, *, bare: bool = False, tell: Callable[[str], object] = lambda _: None) -> list[tuple[Block, str]]:
    """Run a page. Return each block that has an expected output, with its real output."""
    done = []
    environment = dict(os.environ) | {"PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory(prefix="timeplane-docs-") as name:
        folder = Path(name)
        if bare:
            rewrite = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{ROOT}.insteadOf", "GIT_CONFIG_VALUE_0": UPSTREAM}
            environment |= rewrite
            environment.pop("VIRTUAL_ENV", None)
        else:
            copy(folder)
            environment["PATH"] = programs()
        with Shell(folder, environment) as shell:
            for block in blocks(page):
                tell(f"{block}\n{block.text}")
                if block.not_run or (block.bare and not bare):
                    check(block)
                elif block.file:
                    here = Path(shell.type("pwd")[0].strip())
                    (here / block.file).write_text(block.text, encoding="utf-8")
                else:
                    try:
                        out, code = shell.type(block.text, stop=block.exits == 0, longest=LONGEST_BUILD if bare else LONGEST)
                    except FollowError as e:
                        raise FollowError(f"{block}: {e}") from None
                    if code != block.exits:
                        raise FollowError(f"{block}: it ends with code {code}, not {block.exits}:\n{out}")
                    tell(out)
                    if block.prints:
                        done.append((block, out))
    return done


def check(block: Block) -> None:
    """Check a block without running it: Python parses it, and ``timeplane`` parses its commands."""
    if block.language == "python":
        compile(block.text, str(block), "exec")
    if block.language != "sh":
        return
    for command in commands(block.text):
        if command[1:2] == ["study"]:
            _check_study(block, command)
            continue
        # An error in the arguments takes precedence over the help.
        asked = subprocess.run([*command, "--help"], capture_output=True, text=True, env=dict(os.environ) | {"PATH": programs()}, timeout=60)
        if asked.returncode != 0:
            raise FollowError(f"{block}: {shlex.join(command)}: {asked.stderr}")


def _check_study(block: Block, command: list[str]) -> None:
    """Check a command of the Python package, whose parser prints its help before an error."""
    from timeplane.studies import _command, find

    try:
        given = _command._parser().parse_args(command[2:])
        if given.name and given.name != "all":
            find(given.name)
    except (SystemExit, LookupError) as e:
        raise FollowError(f"{block}: {shlex.join(command)}: {e.args[0]}") from None


def commands(text: str) -> list[list[str]]:
    """Return the ``timeplane`` commands of a block with their arguments, without prefixes such as ``sudo``."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if "timeplane" in words:
            words = words[words.index("timeplane") :]
            ends = [i for i, word in enumerate(words) if word in {"&&", "||", "|", ";", "&", ">", ">>"}]
            found.append(words[: ends[0]] if ends else words)
    return found


def same(said: str, came: str) -> bool:
    """Compare outputs. ``...`` stands for any lines; trailing blanks do not count."""
    said_lines, came_lines = ([line.rstrip() for line in text.strip("\n").splitlines()] for text in (said, came))

    def match(i: int, j: int) -> bool:
        while i < len(said_lines):
            if said_lines[i] == "...":
                return any(match(i + 1, k) for k in range(j, len(came_lines) + 1))
            if j == len(came_lines) or said_lines[i] != came_lines[j]:
                return False
            i, j = i + 1, j + 1
        return j == len(came_lines)

    return match(0, 0)


def compare(done: list[tuple[Block, str]]) -> None:
    """Raise :class:`FollowError` if an output differs from the page."""
    for block, came in done:
        assert block.prints
        if not same(block.prints.text, came):
            raise FollowError(
                f"{block.prints}: the page says\n{block.prints.text}\nand there came\n{came}\n"
                f"If that is right: python docs/_ext/follow.py --update {block.page}"
            )


def update(done: list[tuple[Block, str]]) -> None:
    """Write the outputs into the page, except for texts with ``...``."""
    for block, came in reversed(done):
        assert block.prints
        if same(block.prints.text, came) or "...\n" in block.prints.text:
            continue
        lines = block.page.read_text(encoding="utf-8").splitlines()
        begin = block.prints.line - 1
        lines[begin : begin + block.prints.text.count("\n")] = [line.rstrip() for line in came.strip("\n").splitlines()]
        block.page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    """Follow pages; return 1 if an output differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--bare", action="store_true", help="start in an empty folder and build everything")
    parser.add_argument("--update", action="store_true", help="write the output into the page")
    given = parser.parse_args()
    try:
        for page in given.pages:
            done = follow(page, bare=given.bare, tell=lambda text: print(text, flush=True))
            if given.update:
                update(done)
            else:
                compare(done)
    except FollowError as e:
        print(f"error: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
