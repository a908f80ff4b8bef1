#!/usr/bin/env python3
"""Writes ``python/timeplane/scenario.py`` from the JSON Schema of scenarios, which comes from the
Rust types.

    python python/tools/generate_scenario.py            # asks the installed timeplane for its
    schema timeplane schema | python python/tools/generate_scenario.py -

With ``--check`` nothing is written; the exit code says whether the file is what it should be.
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "timeplane" / "scenario.py"
WIDTH = 100
#: Python names of types whose Rust names say more than a reader needs.
NAMES = {"FabricSpec": "Fabric", "PlanSpec": "Plan", "RotorRoutingSpec": "RotorRoutes", "BulkSpec": "Bulk"}
#: Python names of alternatives whose keys alone say too little, or name another class.
ALTERNATIVES = {
    "collective": "CollectiveWorkload",
    "wire": "FailedWire",
    "between": "FailedWires",
    "switch": "FailedSwitch",
    "host": "FailedHost",
    "relay": "FailedRelay",
}
#: The same for one choice only: its name in Python and the key.
OF_CHOICE = {
    ("DarkTime", "fixed"): "FixedDark",
    ("DarkTime", "between"): "DarkBetween",
    ("ControlSpec", "network"): "ControlNetwork",
    ("HostLatency", "times"): "LatencyTimes",
    ("Matchings", "random"): "RandomMatchings",
    ("Matchings", "grid"): "GridMatchings",
    ("Matchings", "file"): "ScheduleFile",
    ("Wires", "wire"): "ChangedWire",
    ("Wires", "between"): "ChangedWires",
}

HEADER = '''\
"""Scenarios in Python: one class for every table of a scenario file.

Made by ``python/tools/generate_scenario.py`` from the JSON Schema of scenarios; do not edit. Quantities are texts with a unit, as in
scenario files: ``"10 Gb/s"``, ``"20 us"``, ``"46 kB"``. A choice among alternatives is an object of the alternative's class, or its bare
name where it has no values. Classes only hold values; :meth:`Scenario.validate` checks them.

>>> import timeplane as tp
>>> scenario = tp.Scenario(
...     name="two_hosts",
...     fabric=tp.Fabric(topology=tp.SingleSwitch(hosts=2), rate="10 Gb/s"),
...     workload=tp.Shuffle(bytes="1 MB"),
...     scheme={"cubic": tp.Scheme(transport=tp.Tcp())},
... )
>>> results = scenario.run(results=None)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from timeplane._run import Runnable
from timeplane._values import Values
'''


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def sentence(text: str) -> str:
    return " ".join(text.split())


class Generator:
    """Walks the schema; classes are written when all that they mention by value is known."""

    def __init__(self, schema: dict) -> None:
        self.schema = schema
        self.definitions: dict = schema["$defs"]
        #: Text by name, in the order of writing.
        self.written: dict[str, str] = {}
        #: Names of classes of alternatives and their shapes, so that the same alternative of two
        #: choices is one class.
        self.alternatives: dict[str, tuple[str, str]] = {}
        #: What choices say of their alternatives; a choice that is met again adds nothing.
        self.told: set[tuple[str, str]] = set()
        #: How values of a definition are read: ("struct", class) and so on.
        self.plain: set[str] = set()

    def resolve(self, schema: dict) -> dict:
        ref = schema.get("$ref")
        return self.definitions[ref.removeprefix("#/$defs/")] if ref else schema

    def python(self, schema: dict) -> tuple[str, str | None]:
        """The Python type of a value, and how it is read from JSON: a name of this module,
        `[name]`, `{name}` or nothing.
        """
        if "$ref" in schema:
            name = schema["$ref"].removeprefix("#/$defs/")
            return self.definition(name)
        if "anyOf" in schema:
            some = [s for s in schema["anyOf"] if s.get("type") != "null"]
            if len(some) == len(schema["anyOf"]):
                # One of several, which are all plain values.
                kinds = [self.python(s) for s in some]
                assert all(how is None for _, how in kinds), schema
                return " | ".join(kind for kind, _ in kinds), None
            assert len(some) == 1, schema
            kind, how = self.python(some[0])
            return f"{kind} | None", how
        kind = schema.get("type")
        if isinstance(kind, list):
            kinds = [self.python(dict(schema, type=k))[0] for k in kind if k != "null"]
            return " | ".join([*kinds, *(["None"] if "null" in kind else [])]), None
        if kind == "array":
            items = schema.get("items", True)
            if items is True:
                return "list[Any]", None
            inner, how = self.python(items)
            if schema.get("minItems") == schema.get("maxItems") and "minItems" in schema:
                return f"tuple[{', '.join([inner] * schema['minItems'])}]", None
            return f"list[{inner}]", how and f"[{how}]"
        if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
            inner, how = self.python(schema["additionalProperties"])
            return f"dict[str, {inner}]", how and f"{{{how}}}"
        if kind == "object" and schema.get("additionalProperties") is True:
            return "dict[str, Any]", None
        simple = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
        return simple.get(kind, "Any"), None

    def definition(self, name: str) -> tuple[str, str | None]:
        schema, python = self.definitions[name], NAMES.get(name, name)
        if "oneOf" in schema:
            return python, self.choice(python, schema)
        if schema.get("enum"):
            return python, self.choice(python, {"oneOf": [{"const": c} for c in schema["enum"]], **schema})
        if schema["type"] == "object":
            assert python not in {n for n, _ in self.alternatives.values()}, f"{python} is an alternative and a plain table"
            self.plain.add(python)
            self.struct(python, schema, None)
            return python, python
        if python not in self.written:
            kind, _ = self.python(schema)
            lines = textwrap.wrap(
                sentence(schema["description"]), WIDTH, initial_indent="#: ", subsequent_indent="#: ",
                break_long_words=False, break_on_hyphens=False,
            )
            self.written[python] = "\n".join([*lines, f"{python}: TypeAlias = {kind}\n"])
        return python, None

    def choice(self, name: str, schema: dict) -> str | None:
        words: list[str] = []
        classes: list[str] = []
        how: dict[str, str] = {}
        lines = [sentence(schema.get("description", ""))]
        for alternative in schema["oneOf"]:
            about = sentence(alternative.get("description", ""))
            source = alternative.get("x-source", "timeplane")
            told = about if source == "timeplane" else f"{about.removesuffix('.')} ({source})."
            bare = [alternative["const"]] if "const" in alternative else alternative.get("enum", [])
            for word in bare:
                words.append(word)
                lines.append(f'- ``"{word}"``: {told}' if told else f'- ``"{word}"``')
            if bare:
                continue
            ((key, inner),) = alternative["properties"].items()
            made = self.alternative(OF_CHOICE.get((name, key)) or ALTERNATIVES.get(key, camel(key)), key, inner, about)
            classes.append(made)
            how[key] = made
            lines.append(f"- :class:`{made}`: {told}")
        if name not in self.written:
            kinds = [f"Literal[{', '.join(json.dumps(w) for w in words)}]"] if words else []
            # A list begins behind an empty line, as documentation tools read it.
            lines.insert(1, "")
            comment = "\n".join(
                line
                for text in lines
                for line in textwrap.wrap(
                    text, WIDTH, initial_indent="#: ", subsequent_indent="#:   " if text.startswith("-") else "#: ",
                    break_long_words=False, break_on_hyphens=False,
                )
                or ["#:"]
            )
            union = " | ".join([*kinds, *classes])
            text = f"{comment}\n{name}: TypeAlias = {union}\n"
            if len(union) > WIDTH:
                text = f"{comment}\n{name}: TypeAlias = (\n    " + "\n    | ".join([*kinds, *classes]) + "\n)\n"
            if how:
                # Read by this table, under a name of its own.
                text += f"_{name} = {{{', '.join(f'{json.dumps(k)}: {v}' for k, v in how.items())}}}\n"
            self.written[name] = text
        return f"_{name}" if how else None

    def alternative(self, name: str, key: str, inner: dict, about: str) -> str:
        resolved = self.resolve(inner)
        shape = json.dumps(inner, sort_keys=True)
        known = self.alternatives.get(name)
        if known:
            if known[1] != shape:
                raise SystemExit(
                    f"two alternatives are called {name}, with different values: name `{key}` of one choice in OF_CHOICE of {Path(__file__).name}"
                )
            text = self.written[name]
            if about and about not in text and (name, about) not in self.told:
                self.written[name] = text.replace('."""\n', f'. Or: {about}"""\n', 1)
            return name
        if name in self.plain:
            raise SystemExit(f"{name} is an alternative and a plain table")
        self.alternatives[name] = (name, shape)
        self.told.add((name, about))
        if resolved.get("type") == "object":
            detail = sentence(resolved.get("description", ""))
            words = about if not detail or detail in about or (about in detail and len(about) >= len(detail)) else detail
            self.struct(name, dict(resolved, description=words or about), key)
        else:
            kind, how = self.python(inner)
            assert how is None, inner
            body = [*self.doc(about), "", f"    _key: ClassVar[str] = {json.dumps(key)}", "    _bare: ClassVar[bool] = True", "", f"    value: {kind}"]
            self.written[name] = f"@dataclass\nclass {name}(Values):\n" + "\n".join(body) + "\n"
        return name

    @staticmethod
    def doc(text: str) -> list[str]:
        """The lines of a class's docstring."""
        about = textwrap.wrap(text, WIDTH - 8, break_long_words=False, break_on_hyphens=False)
        if len(about) == 1:
            return [f'    """{about[0]}"""']
        return ['    """' + about[0], *("    " + line for line in about[1:]), '    """']

    def struct(self, name: str, schema: dict, key: str | None) -> None:
        if name in self.written:
            return
        required = schema.get("required", [])
        root = name == "Scenario"
        fields: list[str] = []
        reads: list[str] = []
        for field, inner in schema.get("properties", {}).items():
            kind, how = self.python(inner)
            if how:
                reads.append(f"{json.dumps(field)}: {json.dumps(how)}")
            default = self.default(field, inner, kind, field in required)
            fields.append(f"    {field}: {kind}{default}")
            resolved = inner.get("description") or self.resolve(inner).get("description", "")
            about = textwrap.wrap(sentence(resolved), WIDTH - 4, break_long_words=False, break_on_hyphens=False)
            if len(about) == 1 and len(about[0]) < WIDTH - 10:
                fields.append(f'    """{about[0]}"""')
            elif about:
                fields += ['    """' + about[0], *("    " + line for line in about[1:]), '    """']
        if root:
            fields += [
                '    base: str = field(default=".", repr=False, compare=False)',
                '    """The folder in which files that the scenario names are looked up; no part of what is asked."""',
            ]
        body = [*self.doc(sentence(schema.get("description", "")) or f"{name}."), ""]
        if key:
            body += [f"    _key: ClassVar[str] = {json.dumps(key)}", ""]
        if reads:
            body += [f"    _reads: ClassVar[dict[str, str]] = {{{', '.join(reads)}}}", ""]
        body += fields
        while body[-1] == "":
            body.pop()
        bases = "Values, Runnable" if root else "Values"
        self.written[name] = f"@dataclass(kw_only=True)\nclass {name}({bases}):\n" + "\n".join(body) + "\n"

    def default(self, name: str, schema: dict, kind: str, required: bool) -> str:
        if required:
            return ""
        value = schema.get("default")
        if value is None:
            if kind.endswith("| None"):
                return " = None"
            if kind == "bool":
                return " = False"
            made = next((made for made in ("list", "dict") if kind.startswith(made)), None)
            if made is None:
                raise SystemExit(f"the schema has no default of `{name}`: write its default always, or make it an `Option`")
            return f" = field(default_factory={made})"
        if isinstance(value, dict):
            inner = self.resolve(schema)
            if "oneOf" in inner:
                # A choice: the alternative's class has these values itself.
                ((key, values),) = value.items()
                found = next(one["properties"][key] for one in inner["oneOf"] if key in one.get("properties", {}))
                own = {k: p.get("default") for k, p in self.resolve(found)["properties"].items()}
                assert values == own, f"{name}: its default is not that of `{key}`"
                return f" = field(default_factory={OF_CHOICE.get((kind, key)) or ALTERNATIVES.get(key, camel(key))})"
            assert inner.get("type") == "object", f"{name}: a default of {kind} that is no table"
            own = {k: p.get("default") for k, p in inner["properties"].items()}
            other = {k: v for k, v in value.items() if v != own.get(k)}
            assert all(isinstance(v, (str, int, float)) for v in other.values()), f"{name}: its default is not that of {kind}"
            if other:
                given = ", ".join(f"{k}={json.dumps(v) if isinstance(v, str) else repr(v)}" for k, v in other.items())
                return f" = field(default_factory=lambda: {kind}({given}))"
            return f" = field(default_factory={kind})"
        if isinstance(value, list):
            assert all(isinstance(v, (str, int, float)) for v in value), f"{name}: a list of tables as default"
            return f" = field(default_factory=lambda: {json.dumps(value)})" if value else " = field(default_factory=list)"
        return f" = {value!r}".replace("'", '"')

    def text(self) -> str:
        self.struct("Scenario", self.schema, None)
        names = sorted(n for n in self.written)
        parts = [HEADER, "__all__ = [\n" + "".join(f"    {json.dumps(n)},\n" for n in names) + "]\n"]
        previous = ""
        for text in self.written.values():
            blank = "\n\n" if text.startswith("@") or previous.startswith("@") or not previous else "\n"
            parts.append(blank + text)
            previous = text
        return "".join(parts[:1]) + "\n" + "".join(parts[1:])


def generate(schema: dict) -> str:
    """The text of the module."""
    return Generator(schema).text()


def main(arguments: list[str]) -> int:
    if "-" in arguments:
        schema = json.load(sys.stdin)
    else:
        from timeplane import _core

        schema = json.loads(_core.schema())
    text = generate(schema)
    if "--check" in arguments:
        return 0 if TARGET.read_text(encoding="utf-8") == text else 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
