#!/usr/bin/env bash
# Sets up a new development container: system packages, `.venv` with the package and its extras, and
# the commands. rustup fetches the toolchain that `rust-toolchain.toml` names.
set -euo pipefail
cd "$(dirname "$0")/.."
bash install.sh
python3 -m venv .venv
.venv/bin/pip install --quiet --disable-pip-version-check \
    -r <(.venv/bin/python python/tools/requirements.py dev docs lint)
VIRTUAL_ENV="$PWD/.venv" PATH="$PWD/.venv/bin:$PATH" .venv/bin/maturin develop --release --locked
