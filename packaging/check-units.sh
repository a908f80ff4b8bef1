#!/usr/bin/env bash
# Checks the systemd units: packaging/check-units.sh. No setting may be unknown or wrong, and no
# service may be more exposed than `systemd-analyze security` says here, on its scale from 0 to 10.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! systemd-analyze --version > /dev/null 2>&1; then
    echo "check-units: there is no systemd-analyze: units are not checked"
    exit
fi
units=$(mktemp -d)
trap 'rm -rf "$units"' EXIT
# The programs need not be installed: any that exist do.
for unit in crates/live/systemd/*; do
    sed 's|^ExecStart=/usr/bin/[^ ]*|ExecStart=/bin/true|' "$unit" > "$units/$(basename "$unit")"
done
said=$(systemd-analyze verify --man=no "$units"/* 2>&1 || true)
# Units of this machine are none of ours.
if grep "$units\|timeplane" <<< "$said"; then
    echo "check-units: systemd-analyze verify complains" >&2
    exit 1
fi
most() {
    local exposure
    exposure=$(systemd-analyze security --offline=true --no-pager "$units/$1" | sed -n 's/.*exposure level for .*: \([0-9.]*\) .*/\1/p')
    echo "$1: exposure $exposure, at most $2"
    [ "$(printf '%s\n' "$exposure" "$2" | sort -g | tail -1)" = "$2" ]
}
most timeplane-agent@.service 3.1
most timeplane-controller.service 2.2
