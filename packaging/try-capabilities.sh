#!/usr/bin/env bash
# Finds out which capabilities daemons need, as root: packaging/try-capabilities.sh FOLDER, with the
# programs timeplane-live and timeplane-lab. It starts an agent and a controller with the
# capabilities of their units, and an observer, a circuit switch and a proxy with those that they
# need, then each of them without each capability, in namespaces of its own. It prints a line for
# each: whether the daemon gets ready, how many threads have real-time priority, and its first
# warning or error. It fails if a daemon does not get ready with all of its capabilities.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" != --inside ]; then
    exec unshare --mount --net --pid --fork --mount-proc --kill-child bash "$0" --inside "$(realpath "$1")"
fi
programs=$2
mount -t tmpfs tmpfs /run
mkdir -p /run/timeplane/bpf
# As the unit run-timeplane-bpf.mount does.
mount -t bpf -o mode=0700 bpffs /run/timeplane/bpf
ip link set lo up
ip link add eth0 type veth peer name eth1
ip addr add 10.98.0.1/24 dev eth0
ip link set eth0 up
ip link set eth1 up
# Another port of the circuit switch.
ip link add eth2 type veth peer name eth3
ip link set eth2 up
keys=/run/keys
"$programs/timeplane-live" keys init $keys host-0 controller-0 > /dev/null
printf '%s\n' 'host = 0' 'interface = "eth0"' "keys = \"$keys\"" 'tun.network = "10.99.0.0"' \
    'controllers = [{ address = "127.0.0.1:9" }]' > /run/agent.toml

printf '%s\n' "scenario = \"$PWD/scenarios/lab.toml\"" 'scheme = "slots"' 'interface = "eth0"' \
    'listen = "10.98.0.1:51208"' "keys = \"$keys\"" > /run/controller.toml

# try TITLE CAPABILITIES COMMAND...: starts the daemon with these capabilities.
try() {
    local title=$1 set='-all' log=/run/daemon.log out=/run/daemon.out capability
    for capability in $2; do set+=",+${capability#cap_}"; done
    shift 2
    rm -rf /run/timeplane/ready /run/timeplane-controller/ready /run/timeplane/bpf/circuits
    setpriv --bounding-set "$set" --no-new-privs "$@" 2> $log > $out &
    local daemon=$! state=fails real_time
    for _ in $(seq 100); do
        # Observer and proxy print a report every second. A circuit switch is pinned.
        if [ -e /run/timeplane/ready ] || [ -e /run/timeplane-controller/ready ] || [ -s $out ] ||
            [ -e /run/timeplane/bpf/circuits ]; then
            state=ready
            break
        fi
        kill -0 $daemon 2> /dev/null || break
        sleep 0.1
    done
    # Long enough for a loop to ask for its priority.
    sleep 0.3
    real_time=$(ps -L -o rtprio= -p $daemon | grep -c '[0-9]') || true
    kill $daemon 2> /dev/null || true
    wait $daemon || true
    [ $state = ready ] || [ "$title" != all ] || missing+=" $1"
    printf '%-18s %-5s  real-time threads: %s  %s\n' "$title" $state "$real_time" "$(grep -iE 'error|warn' $log |
        grep -v 'cannot connect' | sed 's/\x1b\[[0-9;]*m//g; s/^[^ ]*Z  *//' | head -1 | cut -c 1-90)"
}

# The capabilities of a unit.
of_unit() { sed -n 's/^CapabilityBoundingSet=//p' "crates/live/systemd/$1" | tr 'A-Z' 'a-z'; }

# try_all NAME CAPABILITIES COMMAND...
try_all() {
    local all=$2 capability
    echo "== $1: ${all:-no capability}"
    shift 2
    try all "$all" "$@"
    for capability in $all; do
        try "without ${capability#cap_}" "${all/$capability/}" "$@"
    done
    try "none" "" "$@"
}

missing=
try_all agent "$(of_unit timeplane-agent@.service)" "$programs/timeplane-live" agent /run/agent.toml
try_all controller "$(of_unit timeplane-controller.service)" "$programs/timeplane-lab" controller /run/controller.toml
try_all observer "cap_net_admin cap_bpf cap_perfmon" \
    "$programs/timeplane-live" observe eth1 --controller 02:00:00:00:00:01 --every 1 --json
try_all "circuit switch" "cap_net_admin cap_bpf" \
    "$programs/timeplane-lab" circuit-switch eth1 eth2 --dark "2 ms"
proxy=(--listen 127.0.0.1:5001 --every 1 --policy reactive --reports 127.0.0.1:6001 --access-point 127.0.0.1:6002
    --rates "385 Mb/s")
try_all proxy "cap_bpf cap_perfmon" "$programs/timeplane-live" proxy --to 127.0.0.1:9 "${proxy[@]}"
try_all "proxy with --transparent" "cap_net_admin cap_bpf cap_perfmon" \
    "$programs/timeplane-live" proxy --original-destination --transparent "${proxy[@]}"
if [ -n "$missing" ]; then
    echo "try-capabilities: not ready with all capabilities:$missing" >&2
    exit 1
fi
