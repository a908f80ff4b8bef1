#!/usr/bin/env bash
# What the Rust toolchain does not bring and the programs in the kernel need: clang, libelf, zlib, iproute2; nftables, by which a test turns
# connections. Nothing where all is there.
set -euo pipefail
packages=()
command -v clang > /dev/null || packages+=(clang)
command -v ip > /dev/null && command -v tc > /dev/null || packages+=(iproute2)
command -v pkg-config > /dev/null || packages+=(pkg-config)
command -v nft > /dev/null || packages+=(nftables)
[ -e /usr/include/libelf.h ] || packages+=(libelf-dev)
[ -e /usr/include/zlib.h ] || packages+=(zlib1g-dev)
[ -e /usr/include/linux/bpf.h ] || packages+=(linux-libc-dev)
[ ${#packages[@]} -eq 0 ] && exit 0
if ! command -v apt-get > /dev/null; then
    echo "timeplane needs, by the names that Debian has for them: ${packages[*]}" >&2
    exit 1
fi
sudo=$([ "$(id -u)" -eq 0 ] || echo sudo)
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${packages[@]}" > /dev/null
