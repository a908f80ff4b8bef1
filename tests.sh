#!/usr/bin/env bash
# Run all tests: Rust, and the Python package in a virtual environment (.venv).
set -euo pipefail
cd "$(dirname "$0")"
bash install.sh
python3 -m venv .venv
# pip fetches what the Python tests need while Rust compiles. They build the documentation, too.
.venv/bin/pip install --quiet --disable-pip-version-check \
    -r <(.venv/bin/python python/tools/requirements.py dev docs) &
fetched=$!
trap 'kill "$fetched" 2> /dev/null || true' EXIT
# All targets: the documentation shows what examples print.
cargo test --workspace --locked --no-run
wait "$fetched"
# Another process may have the number from here on.
trap - EXIT
# The package is built in the dev profile, because the Rust tests have built its libraries in it.
VIRTUAL_ENV="$PWD/.venv" PATH="$PWD/.venv/bin:$PATH" .venv/bin/maturin develop --quiet --locked --extras dev,docs
# Tests of labs mostly wait for packets and clocks. All others run meanwhile.
mkdir -p target
.venv/bin/python -m pytest --quiet --numprocesses 2 --dist worksteal python/tests > target/pytest.txt 2>&1 &
python=$!
cargo test --workspace --locked --test wall_clock > target/wall_clock.txt 2>&1 &
labs=$!
trap 'kill "$python" "$labs" 2> /dev/null || true' EXIT
passed=0
cargo test --workspace --locked --no-fail-fast --lib --bins --test it || passed=$?
cargo test --workspace --locked --no-fail-fast --doc || passed=$?
wait "$python" || passed=$?
wait "$labs" || passed=$?
trap - EXIT
cat target/pytest.txt target/wall_clock.txt
exit "$passed"
