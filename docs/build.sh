#!/usr/bin/env bash
# Builds the documentation into docs/_build/html: every code cell is run, and warnings are errors. Needs the package with its extras `dev` and
# `docs` in a Python (PYTHON, or that of .venv), and what `bash tests.sh` or this has built of Rust.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
# Programs whose help, frames and metrics become pages; built already where the tests have run.
cargo build --workspace --locked --quiet --bin timeplane-live --example frames --example metrics
exec "$python" -m sphinx -W --keep-going --quiet -j auto -b html "$@" docs docs/_build/html
