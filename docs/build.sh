#!/usr/bin/env bash
# Builds the documentation into docs/_build/html. Runs every code cell; warnings are errors. Needs
# the package with its extras `dev` and `docs` in a Python: $PYTHON, or that of .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
# Programs whose help, frames and metrics become pages. `--built` takes those that the tests have
# built with other library features, because a build here would compile Arrow again.
if [ "${1:-}" = --built ]; then
    shift
else
    cargo build --workspace --locked --quiet --bin timeplane-lab --example frames --example metrics
fi
exec "$python" -m sphinx -W --keep-going --quiet -j auto -b html "$@" docs docs/_build/html
