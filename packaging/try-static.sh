#!/usr/bin/env bash
# Tries a static program in an empty folder as its root, without a compiler, libraries and network:
# packaging/try-static.sh PROGRAM. It measures the size of the program and the time until the first
# result, and fails above SIZE_MB (60) or SECONDS_MAX (30). It builds nothing, and needs root or
# user namespaces.
set -euo pipefail
program=$(realpath "${1:?usage: try-static.sh PROGRAM}")
size_mb=${SIZE_MB:-60} seconds_max=${SECONDS_MAX:-30}
die() {
    echo "try-static: $*" >&2
    exit 1
}
# Also as a user who is not root.
isolated=(unshare --net)
[ "$(id -u)" -eq 0 ] || isolated+=(--map-root-user)
"${isolated[@]}" true || die "no network namespace: expected root, or user namespaces"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
install -m 0755 "$program" "$root/timeplane"
inside() { "${isolated[@]}" chroot "$root" /timeplane "$@"; }

bytes=$(stat --format=%s "$program")
echo "size: $((bytes / 1000000)).$(printf %06d $((bytes % 1000000)) | cut -c1) MB, at most $size_mb MB"
[ "$bytes" -le $((size_mb * 1000000)) ] || die "$bytes B: expected at most $size_mb MB"

# The kernel finds no such file if a program asks for a loader.
inside --version || die "does not start without libraries: expected a static program"
began=$(date +%s%N)
inside new || die "\`timeplane new\` fails"
inside run scenario.toml --quiet > "$root/table" || die "\`timeplane run scenario.toml\` fails"
ms=$((($(date +%s%N) - began) / 1000000))
cat "$root/table"
find "$root/results" -name '*.parquet' | grep -q . || die "no tables in results: expected those of the run"
echo "first result: $((ms / 1000)).$(printf %03d $((ms % 1000))) s, at most $seconds_max s"
[ "$ms" -le $((seconds_max * 1000)) ] || die "first result after $ms ms: expected at most $seconds_max s"
