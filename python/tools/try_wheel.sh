#!/usr/bin/env bash
# Tries a wheel as a user would: in a new virtual environment, an empty folder, and without network.
#
#   .venv/bin/maturin build --release --out dist       # some ten minutes
#   bash python/tools/try_wheel.sh dist/timeplane-*.whl
#
# numpy comes from the folder $WHEELS if it is set; otherwise it is downloaded before the network is
# off.
#
# BASE names a folder that holds a minimal Debian, as debootstrap makes it. The steps then run in a
# copy of it, as root, with Debian's Python and without a compiler.
#
# It fails if the wheel is larger than SIZE_MB (60), or if the first result takes more than
# SECONDS_MAX (30).
set -euo pipefail
wheel=$(realpath "${1:?usage: try_wheel.sh WHEEL}")
size_mb=${SIZE_MB:-60}
bytes=$(wc -c < "$wheel")
if [ "$bytes" -gt $((size_mb * 1000000)) ]; then
    echo "try_wheel: $bytes B: expected at most $size_mb MB" >&2
    exit 1
fi
root=
[ -z "${BASE:-}" ] || root=$(mktemp -d)
folder=$(mktemp -d ${root:+--tmpdir="$root"})
trap 'rm -rf --one-file-system "$folder" ${root:+"$root"}' EXIT
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
version=()
if [ -n "$root" ]; then
    cp -a "$BASE/." "$root"
    inside apt-get update -qq
    inside apt-get install -y -qq --no-install-recommends python3-venv > /dev/null
    for compiler in cc gcc clang rustc; do
        if inside sh -c "command -v $compiler"; then
            echo "try_wheel: $compiler in $BASE: expected a root without a compiler" >&2
            exit 1
        fi
    done
    version=(--python-version "$(inside python3 -c 'import platform; print(platform.python_version())')")
fi
cd "$folder"
[ -n "${WHEELS:-}" ] || python3 -m pip download --quiet --disable-pip-version-check --only-binary :all: --no-deps "${version[@]}" --dest wheels "numpy>=1.26"
[ -z "${WHEELS:-}" ] || cp -r "$WHEELS" wheels
cp "$wheel" .
mkdir empty
cat > steps.sh <<'STEPS'
set -euo pipefail
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check --no-index --find-links wheels "$1"
cd empty
export PATH="$PWD/../venv/bin:$PATH"
step() { printf '\n== %s\n' "$*"; "$@"; }
step timeplane --version
began=$(date +%s%N)
step timeplane new
step timeplane run scenario.toml --quiet
ms=$((($(date +%s%N) - began) / 1000000))
printf '\n== The first result: %d ms, at most %d s\n' "$ms" "$2"
[ "$ms" -le $(($2 * 1000)) ] || { echo "try_wheel: first result after $ms ms: expected at most $2 s" >&2; exit 1; }
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
steps=(bash steps.sh "$(basename "$wheel")" "${SECONDS_MAX:-30}")
if [ -n "$root" ]; then
    unshare --net --root="$root" --wd="${folder#"$root"}" \
        env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "${steps[@]}"
elif unshare --net --map-root-user true 2> /dev/null; then
    unshare --net --map-root-user "${steps[@]}"
else
    echo "no namespace without a network here: pip alone is told to use none" >&2
    "${steps[@]}"
fi
printf '\n== The wheel: %s, %s\n' "$(basename "$wheel")" "$(du -h "$wheel" | cut -f1)"
python3 -m zipfile --list "$wheel" | grep -E "licenses|sboms|_core|WHEEL"
