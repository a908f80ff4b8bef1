#!/usr/bin/env bash
# What the Rust toolchain does not bring: for the programs in the kernel clang, libelf, zlib and iproute2; for tests nftables, which turns
# connections, tshark, which reads captures, and a browser for the pages. Nothing where all is there.
set -euo pipefail
packages=()
command -v clang > /dev/null || packages+=(clang)
command -v ip > /dev/null && command -v tc > /dev/null || packages+=(iproute2)
command -v pkg-config > /dev/null || packages+=(pkg-config)
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
# tshark's package asks who may capture, and would wait for an answer: nobody is asked, behind sudo neither.
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" > /dev/null
