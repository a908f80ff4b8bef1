#!/usr/bin/env bash
# Finds out which capabilities daemons need, as root: packaging/try-capabilities.sh FOLDER, with the
# programs timeplane-live and timeplane-lab. It starts an agent and a controller with the
# capabilities of their units, then without each of them, in namespaces of its own. It prints a line
# for each: whether the daemon gets ready, how many threads have real-time priority, and its first
# warning or error.
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
keys=/run/keys
"$programs/timeplane-live" keys init $keys host-0 controller-0 > /dev/null
printf '%s\n' 'host = 0' 'interface = "eth0"' "keys = \"$keys\"" 'tun.network = "10.99.0.0"' \
    'controllers = [{ address = "127.0.0.1:9" }]' > /run/agent.toml

printf '%s\n' "scenario = \"$PWD/scenarios/lab.toml\"" 'scheme = "slots"' 'interface = "eth0"' \
    'listen = "10.98.0.1:51208"' "keys = \"$keys\"" > /run/controller.toml

# try TITLE CAPABILITIES COMMAND...: starts the daemon with these capabilities.
try() {
    local title=$1 set='-all' log=/run/daemon.log capability
    for capability in $2; do set+=",+${capability#cap_}"; done
    shift 2
    rm -f /run/timeplane/ready
    setpriv --bounding-set "$set" --no-new-privs "$@" 2> $log &
    local daemon=$! state=fails real_time
    for _ in $(seq 100); do
        if [ -e /run/timeplane/ready ]; then
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
    printf '%-18s %-5s  real-time threads: %s  %s\n' "$title" $state "$real_time" "$(grep -iE 'error|warn' $log |
        grep -v 'cannot connect' | sed 's/\x1b\[[0-9;]*m//g; s/^[^ ]*Z  *//' | head -1 | cut -c 1-90)"
}

# try_all UNIT COMMAND...
try_all() {
    local all capability
    all=$(sed -n 's/^CapabilityBoundingSet=//p' "crates/live/systemd/$1" | tr 'A-Z' 'a-z')
    echo "== $1"
    shift
    try "all of the unit" "$all" "$@"
    for capability in $all; do
        try "without ${capability#cap_}" "${all/$capability/}" "$@"
    done
    try "none" "" "$@"
}

try_all timeplane-agent@.service "$programs/timeplane-live" agent /run/agent.toml
try_all timeplane-controller.service "$programs/timeplane-lab" controller /run/controller.toml
