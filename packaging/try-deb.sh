#!/usr/bin/env bash
# Tries the Debian package as root: packaging/try-deb.sh PACKAGE.deb. It installs the package in a
# new Debian 12 with namespaces of its own, runs an agent, kills it, and purges the package. Nothing
# may stay but what the administrator has written. It needs debootstrap, iproute2, and minutes. BASE
# names a folder that holds a Debian 12 already, to save one download.
#
# LEAVE_GATE=1 leaves a gate on purpose after purging. The last comparison must find it, and the
# trial succeeds only then.
#
# systemd does not run there: the maintainer scripts' calls of systemctl are not tried.
set -euo pipefail
repository=$(dirname "$(realpath "$0")")/..

# What a machine has, one line for each thing. The programs of BPF are those at the interfaces.
# Tools that add and remove users leave copies such as /etc/shadow- on every machine.
listing() {
    find "$root" -xdev \( -path "$root/var/lib/dpkg" -o -path "$root/var/log" -o -path "$root/var/cache" \
        -o -path "$root/etc/passwd-" -o -path "$root/etc/group-" -o -path "$root/etc/shadow-" -o -path "$root/etc/gshadow-" \
        -o -path "$root/root" -o -path "$root/tmp" \) -prune -o -printf 'file %M %u %P\n'
    sed 's/^/user /' "$root/etc/passwd" "$root/etc/group"
    find "$root/etc/systemd" "$root/lib/systemd" -name '*timeplane*' -printf 'unit %P\n' 2> /dev/null
    # Others of the machine come and go.
    awk -v root="$root/" 'index($5, root) == 1 { print "mount", $5, $(NF - 2) }' /proc/self/mountinfo
    [ ! -d "$root/run/timeplane/bpf" ] || find "$root/run/timeplane/bpf" -mindepth 1 -printf 'pin %P\n'
    # Without the index of the object, which the kernel never uses twice.
    tc qdisc show | sed 's/^/qdisc /'
    ip -d -o link show | sed -n 's/^[0-9]*: \([^:@]*\).*/interface \1/p; s/.*prog\/xdp.*/bpf xdp/p'
    find "$root/run/netns" -mindepth 1 -printf 'namespace %P\n' 2> /dev/null || true
    ps -e -o comm= | grep '^timeplane' | sed 's/^/process /' || true
}

# The other host refuses a connection, if it hears of it.
passes() { [[ $(LC_ALL=C timeout 2 bash -c ': < /dev/tcp/10.98.0.2/9' 2>&1 || true) == *refused* ]]; }
die() {
    echo "try-deb: $*" >&2
    exit 1
}
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

# Ends what was started, whatever the end.
clean() {
    [ -z "${agent:-}" ] || kill -9 "$agent" 2> /dev/null || true
    [ -z "${controller:-}" ] || kill "$controller" 2> /dev/null || true
    [ -z "${other:-}" ] || kill "$other" 2> /dev/null || true
}

# Leaves the gate of an agent that is killed, as a package that releases nothing would.
leave_gate() {
    chroot "$root" /root/timeplane-live agent /root/host-0.toml 2> "$out/left.log" &
    agent=$!
    for _ in $(seq 200); do [ ! -e "$root/run/timeplane/ready" ] || break; sleep 0.1; done
    [ -e "$root/run/timeplane/ready" ] || die "the agent does not get ready: $(cat "$out/left.log")"
    kill -9 "$agent"
    wait "$agent" || true
    agent=
}

trial() {
    root=$1 package=$2 lab_scenario=$repository/scenarios/lab.toml
    trap clean EXIT
    # Names of namespaces outside mean nothing here; ip and tc would complain of them.
    [ ! -d /run/netns ] || mount -t tmpfs tmpfs /run/netns
    mount -t proc proc "$root/proc"
    mount -t sysfs sysfs "$root/sys"
    mount -t tmpfs tmpfs "$root/run"
    mkdir "$root/run/lock"
    # Another host at the end of a wire, in a network namespace that has no name.
    unshare --net sleep 600 &
    other=$!
    until [ "$(readlink "/proc/$other/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
    ip link set lo up
    ip link add eth0 type veth peer name eth0 netns "$other"
    ip addr add 10.98.0.1/24 dev eth0
    ip link set eth0 up
    nsenter --net --target "$other" ip addr add 10.98.0.2/24 dev eth0
    nsenter --net --target "$other" ip link set eth0 up
    cp "$package" "$root/tmp/package.deb"
    listing | sort > "$out/before"
    passes || die "the wire carries nothing before the package is there"

    inside dpkg -i /tmp/package.deb > "$out/install.log"
    listing | sort > "$out/installed"
    echo "== installed: new lines"
    comm -13 "$out/before" "$out/installed"
    ! pgrep -x 'timeplane-.*' || die "installing has started a daemon"
    inside timeplane-live --version
    inside timeplane-lab --version

    echo "== an agent runs, with scope = \"all\", and is killed"
    inside timeplane-live keys init /etc/timeplane/keys host-0 > /dev/null
    printf '%s\n' 'host = 0' 'interface = "eth0"' 'keys = "keys"' 'real_time = false' \
        'controllers = [{ address = "10.98.0.2:51208" }]' '[gate]' 'scope = "all"' \
        > "$root/etc/timeplane/host-0.toml"
    chroot "$root" /usr/bin/timeplane-live agent /etc/timeplane/host-0.toml 2> "$out/agent.log" &
    agent=$!
    for _ in $(seq 200); do [ ! -e "$root/run/timeplane/ready" ] || break; sleep 0.1; done
    [ -e "$root/run/timeplane/ready" ] || die "the agent does not get ready: $(cat "$out/agent.log")"
    ! passes || die "the gate lets everything pass"
    # The package does not go away below a running agent.
    ! inside dpkg --purge timeplane-live > "$out/refused.log" 2>&1 || die "purged below a running agent"
    grep "its agent runs" "$out/refused.log" || die "the refusal does not say why: $(cat "$out/refused.log")"
    kill -9 "$agent"
    wait "$agent" || true
    agent=
    listing | sort > "$out/killed"
    echo "== killed: lines that were not there when installed"
    comm -13 "$out/installed" "$out/killed"
    sleep 2.5
    ! passes || die "the gate does not outlive its agent"

    # For an agent after purging. The listing does not look into root's folder.
    cp "$root/usr/bin/timeplane-live" "$root/root"
    cp -r "$root/etc/timeplane/." "$root/root"
    echo "== a controller runs as its user, with the capability to send raw frames"
    # Not the agent's keys, which root alone may read.
    inside timeplane-live keys init /etc/timeplane/controller-keys controller-0 > /dev/null
    cp "$lab_scenario" "$root/etc/timeplane/lab.toml"
    printf '%s\n' 'scenario = "lab.toml"' 'scheme = "slots"' 'interface = "eth0"' 'listen = "10.98.0.1:51208"' \
        'keys = "controller-keys"' 'real_time = false' > "$root/etc/timeplane/controller.toml"
    inside sh -c 'cd /etc/timeplane && chgrp -R timeplane-controller controller.toml lab.toml controller-keys &&
        chmod g+r controller.toml lab.toml controller-keys/controller-0.key && chmod g+rx controller-keys'
    inside install -d -o timeplane-controller -g timeplane-controller /run/timeplane-controller
    chroot "$root" setpriv --reuid timeplane-controller --regid timeplane-controller --clear-groups \
        --bounding-set -all,+net_raw --inh-caps -all,+net_raw --ambient-caps -all,+net_raw --no-new-privs \
        timeplane-lab controller /etc/timeplane/controller.toml 2> "$out/controller.log" &
    controller=$!
    for _ in $(seq 200); do [ ! -e "$root/run/timeplane-controller/ready" ] || break; sleep 0.1; done
    [ -e "$root/run/timeplane-controller/ready" ] || die "the controller does not get ready: $(cat "$out/controller.log")"
    kill "$controller"
    wait "$controller" || true
    controller=

    inside dpkg --purge timeplane-live > "$out/purge.log" 2>&1
    grep "kept configurations and keys" "$out/purge.log" || die "purging does not say what it keeps"
    for file in host-0.toml keys/ca.key keys/host-0.key; do
        cmp "$root/etc/timeplane/$file" "$root/root/$file" || die "purging has removed $file"
    done
    rm -r "$root/etc/timeplane"
    # It stays with files of its group.
    inside userdel timeplane-controller
    [ -z "${LEAVE_GATE:-}" ] || leave_gate
    listing | sort > "$out/after"
    echo "== purged: lines that differ from before (none is right)"
    if [ -n "${LEAVE_GATE:-}" ]; then
        ! diff "$out/before" "$out/after" > "$out/diff" || die "the comparison does not see a gate that was left"
        grep '^> pin ' "$out/diff" || die "the comparison sees something else: $(cat "$out/diff")"
        echo "== the comparison finds the gate that was left"
        return
    fi
    diff "$out/before" "$out/after" || die "purging leaves something"
    passes || die "the gate is still closed"
    echo "== purged: nothing is left, and the interface passes traffic"
}

if [ "${1:-}" = --inside ]; then
    out=$4
    trial "$2" "$3"
    exit
fi
package=$(realpath "${1:?usage: try-deb.sh PACKAGE.deb}")
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir "$work/out"
if [ -n "${BASE:-}" ]; then
    cp -a "$BASE" "$work/root"
else
    debootstrap --variant=minbase bookworm "$work/root" > "$work/out/debootstrap.log"
fi
# What the package depends on: later there is no network.
root=$work/root inside apt-get install -y -qq --no-install-recommends libelf1 zlib1g > "$work/out/apt.log" 2>&1
# Mounts and interfaces go with the namespaces. Processes do too.
unshare --mount --net --pid --fork --mount-proc --kill-child bash "$0" --inside "$work/root" "$package" "$work/out"
