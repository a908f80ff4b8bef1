#!/usr/bin/env bash
# Installs the packages that are missing besides the Rust toolchain. BPF programs need clang,
# libelf, zlib and iproute2. Tests need nftables (redirects connections), tshark (reads captures),
# iperf3, curl and Python (unmodified programs in slots) and a browser (shows pages). Versions are
# those of the distribution.
set -euo pipefail
packages=()
command -v clang > /dev/null || packages+=(clang)
command -v ip > /dev/null && command -v tc > /dev/null || packages+=(iproute2)
command -v pkg-config > /dev/null || packages+=(pkg-config)
command -v iperf3 > /dev/null || packages+=(iperf3)
command -v curl > /dev/null || packages+=(curl)
command -v python3 > /dev/null || packages+=(python3)
command -v nft > /dev/null || packages+=(nftables)
[ -e /usr/include/libelf.h ] || packages+=(libelf-dev)
[ -e /usr/include/zlib.h ] || packages+=(zlib1g-dev)
[ -e /usr/include/linux/bpf.h ] || packages+=(linux-libc-dev)
command -v tshark > /dev/null || packages+=(tshark)
command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null || packages+=(chromium)
[ ${#packages[@]} -eq 0 ] && exit 0
if ! command -v apt-get > /dev/null; then
    echo "timeplane needs, by the names that Debian has for them: ${packages[*]}" >&2
    exit 1
fi
sudo=$([ "$(id -u)" -eq 0 ] || echo sudo)
$sudo apt-get update -qq
# Without the variable, tshark's package would ask who may capture, and wait. Set it behind sudo.
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" > /dev/null
