#!/usr/bin/env bash
# All tests: Rust, then the Python package in a virtual environment of its own (.venv), where it installs what it needs.
set -euo pipefail
cd "$(dirname "$0")"
bash install.sh
cargo test --workspace --locked
python3 -m venv .venv
.venv/bin/pip install --quiet --disable-pip-version-check "maturin==1.16.*"
# The package with what its tests need, among them the documentation, which they build and follow; the dev profile, as the Rust tests have built it.
VIRTUAL_ENV="$PWD/.venv" PATH="$PWD/.venv/bin:$PATH" .venv/bin/maturin develop --quiet --locked --extras dev,docs
.venv/bin/python -m pytest --quiet python/tests
