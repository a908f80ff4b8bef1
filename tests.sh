#!/usr/bin/env bash
# All tests: Rust, then the Python package in a virtual environment of its own (.venv), where it installs what it needs.
set -euo pipefail
cd "$(dirname "$0")"
bash install.sh
python3 -m venv .venv
# What the Python tests need, among it what builds the documentation, which they follow, is fetched while Rust compiles.
needs='
import tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"]
print(*project["dependencies"], *extras["dev"], *extras["docs"], sep="\n")
'
.venv/bin/pip install --quiet --disable-pip-version-check -r <(.venv/bin/python -c "$needs") &
fetched=$!
trap 'kill "$fetched" 2> /dev/null || true' EXIT
cargo test --workspace --locked
wait "$fetched"
# It is over: its number may be another process's by the end.
trap - EXIT
# The package in the dev profile, as the Rust tests have built what it stands on.
VIRTUAL_ENV="$PWD/.venv" PATH="$PWD/.venv/bin:$PATH" .venv/bin/maturin develop --quiet --locked --extras dev,docs
.venv/bin/python -m pytest --quiet python/tests
