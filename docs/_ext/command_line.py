"""Builds the page of the command line from the `--help` of every command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass

from follow import programs
from generated import Page

#: The program of `timeplane live` is built apart.
_LIVE = "there is no timeplane-lab to ask: `cargo build --workspace --locked --bin timeplane-lab` (after `bash install.sh`) builds it"


@dataclass
class Help:
    """The parts of a help text."""

    about: str
    usage: str
    #: Headings such as `Options`, with terms and their descriptions.
    sections: list[tuple[str, list[tuple[str, str]]]]
    #: The text below the sections.
    after: str


def ask(command: list[str]) -> Help:
    """Read the help of a command."""
    environment = dict(os.environ) | {"PATH": programs(), "COLUMNS": "100"}
    asked = subprocess.run([*command, "--help"], capture_output=True, text=True, env=environment, timeout=60)
    if asked.returncode != 0:
        raise RuntimeError(_LIVE if "neither `timeplane-lab` nor" in asked.stderr else f"{command}: {asked.stderr}")
    return read(asked.stdout)


def read(text: str) -> Help:
    """Parse the text of `--help`, in the format of clap or argparse."""
    head, sections, after = [], [], []
    for block in re.split(r"\n(?=\S)", text.strip("\n")):
        first, _, rest = block.partition("\n")
        heading = re.fullmatch(r"([A-Z][\w ]*|options|positional arguments):", first)
        if heading:
            sections.append((heading[1].capitalize(), _terms(rest)))
        elif sections:
            after.append(block)
        else:
            head.append(block)
    usage = next(h for h in head if h.lower().startswith("usage:"))
    about = "\n\n".join(h.strip() for h in head if h is not usage)
    return Help(about, " ".join(usage.partition(":")[2].split()), sections, "\n".join(after))


def _terms(text: str) -> list[tuple[str, str]]:
    """Parse terms, which have the least indentation, with the descriptions beside or below them."""
    lines = text.splitlines()
    least = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    # Options without a short form are set in by four.
    term = re.compile(rf" {{{least}}}(?:    (?=--))?(\S.*)")
    terms: list[tuple[str, list[str]]] = []
    for line in lines:
        found = term.fullmatch(line)
        if found:
            name, _, beside = re.sub(r"(\S)  +", r"\1\t", found[1], count=1).partition("\t")
            terms.append((name, [beside.strip()] if beside else []))
        elif terms:
            terms[-1][1].append(line.strip())
    return [(name, re.sub(r"\n{3,}", "\n\n", "\n".join(said)).strip()) for name, said in terms]


def _plain(text: str) -> str:
    """Escape text for Markdown: angle brackets are not tags."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if i % 2 else part.replace("<", "&lt;").replace("*", "\\*") for i, part in enumerate(parts))


def _write(page: Page, command: list[str], title: str, level: int, only: Help | None = None) -> None:
    said = only or ask(command)
    anchor = "-".join(title.split())
    page.add(f"(cli-{anchor})=", f"{'#' * level} `{title}`", _plain(said.about), "```text\n" + said.usage + "\n```")
    children = []
    for heading, terms in said.sections:
        if heading == "Commands":
            commands = [(name.split()[0], " ".join(about.split())) for name, about in terms]
            children = [name for name, _ in commands if name != "help"]
            page.add("\n".join(f"- [`{name}`](#cli-{anchor}-{name}): {_plain(about)}" for name, about in commands if name != "help"))
            continue
        shown = [(name, about) for name, about in terms if name not in {"-h, --help", "-V, --version"}]
        if shown:
            page.add(f"**{heading}**")
            page.table(("", ""), [(f"`{name}`", _plain(about).replace("\n\n", "<br>")) for name, about in shown])
    if said.after:
        page.add(_plain(said.after))
    for name in children:
        _write(page, [*command, name], f"{title} {name}", min(level + 1, 4))


def page() -> Page:
    """All commands."""
    made = Page("Command line", "Every command, generated from its `--help`.")
    _write(made, [sys.executable, "-m", "timeplane"], "timeplane", 2)
    _write(made, [sys.executable, "-m", "timeplane", "study"], "timeplane study", 3)
    return made

