"""Say which libraries a build of the Python module would compile again after one of the workspace.

Cargo compiles a library once for each set of its features, and a package that is built alone turns
on fewer of them than the workspace does. `crates/py/Cargo.toml` therefore names some features. This
program compares what cargo would compile, and fails if a library is missing there.
"""

import collections
import json
import os
import subprocess
import sys

Libraries = dict[tuple[str, str, str], set[frozenset[str]]]


def libraries(*chosen: str) -> Libraries:
    """Sets of features, by name and version, kind, and what is done with it."""
    command = ["cargo", "build", "--locked", *chosen, "--unit-graph", "-Z", "unstable-options"]
    # The graph of what is to be built is not stable yet, and read by nothing else.
    bootstrap = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
    printed = subprocess.run(command, env=bootstrap, stdout=subprocess.PIPE, check=True).stdout
    found: Libraries = collections.defaultdict(set)
    for unit in json.loads(printed)["units"]:
        name = unit["pkg_id"].rpartition("#")[2]
        found[name, " ".join(unit["target"]["kind"]), unit["mode"]].add(frozenset(unit["features"]))
    return found


def main() -> int:
    """Print one line for each library that would be compiled again."""
    workspace = libraries("--workspace", "--all-targets")
    missing = 0
    for unit, sets in sorted(libraries("-p", "timeplane-py", "--lib").items()):
        for features in sets - workspace[unit]:
            missing += 1
            more = [", ".join(sorted(other - features)) or "none" for other in workspace[unit]]
            print(f"{unit[0]} ({unit[1]}): crates/py lacks its features {' or '.join(more)}")
    return min(missing, 1)


if __name__ == "__main__":
    sys.exit(main())
