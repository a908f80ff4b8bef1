#!/usr/bin/env bash
# Builds the documentation into docs/_build/html: every code cell is run, and warnings are errors. Needs the package with its extras `dev` and
# `docs` in a Python (PYTHON, or that of .venv), and what `bash tests.sh` or this has built of Rust.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
# Programs whose help, frames and metrics become pages. With `--built` those are taken that the tests have built, which have other features of
# libraries: to build them here would be to compile Arrow again.
if [ "${1:-}" = --built ]; then
    shift
else
    cargo build --workspace --locked --quiet --bin timeplane-lab --example frames --example metrics
fi
exec "$python" -m sphinx -W --keep-going --quiet -j auto -b html "$@" docs docs/_build/html
