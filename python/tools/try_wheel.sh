#!/usr/bin/env bash
# Tries a wheel as a user would: in a new virtual environment, an empty folder, and without network.
#
#   .venv/bin/maturin build --release --out dist       # some ten minutes
#   bash python/tools/try_wheel.sh dist/timeplane-*.whl
#
# numpy comes from the folder $WHEELS if it is set; otherwise it is downloaded before the network is
# off.
set -euo pipefail
wheel=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
wheels=${WHEELS:-$folder/wheels}
[ -n "${WHEELS:-}" ] || python3 -m pip download --quiet --disable-pip-version-check --only-binary :all: --no-deps --dest "$wheels" "numpy>=1.26"
mkdir empty
cat > steps.sh <<'STEPS'
set -euo pipefail
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check --no-index --find-links "$2" "$1"
cd empty
export PATH="$PWD/../venv/bin:$PATH"
step() { printf '\n== %s\n' "$*"; "$@"; }
step timeplane --version
step timeplane new
step timeplane run scenario.toml --quiet
step timeplane report results/scenario
step timeplane trace results/scenario
step timeplane list data
# A bundled trace, by its name.
cat > fb2010.toml <<'TOML'
fabric = { topology.single_switch.hosts = 150, rate = "10 Gb/s", mtu = "9000 B" }
workload.coflows = { file = "fb2010", max_flows = 5, time_scale = 0.001 }
scheme.slots = { transport.raw = {}, plan.tdma = { slot = "100 us", guard = "5 us" } }
TOML
step timeplane run fb2010.toml --quiet
step timeplane new radio.toml --template flyways
step timeplane validate radio.toml
printf '\n== timeplane dissector, completion, man\n'
timeplane dissector | grep -c Proto
timeplane completion bash | bash -n
timeplane man man1
ls man1 | tr '\n' ' '
printf '\n\n== timeplane doctor\n'
timeplane doctor || echo "exit code $?: this machine lacks what real hosts need"
printf '\n== timeplane study\n'
timeplane study || echo "exit code $?: studies are in the clone"
printf '\n== Python\n'
python - <<'PYTHON'
import timeplane as tp

results = tp.Scenario.from_file("scenario.toml").run()
print(tp.__version__, len(results.runs), "runs,", len(results.flows), "flows")
print(tp.algorithms.greedy(3, [(0, 1), (1, 2)]).tolist())
PYTHON
test -s results/scenario/report.html
STEPS
if unshare --net --map-root-user true 2> /dev/null; then
    unshare --net --map-root-user bash steps.sh "$wheel" "$wheels"
else
    echo "no namespace without a network here: pip alone is told to use none" >&2
    bash steps.sh "$wheel" "$wheels"
fi
printf '\n== The wheel: %s, %s\n' "$(basename "$wheel")" "$(du -h "$wheel" | cut -f1)"
python3 -m zipfile --list "$wheel" | grep -E "licenses|sboms|_core|WHEEL"
