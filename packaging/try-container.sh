#!/usr/bin/env bash
# Follows the last stage of packaging/Containerfile without a container engine, as root:
# packaging/try-container.sh PROGRAM. PROGRAM stands for what the stage `build` compiles. The image
# becomes a folder, and its command runs there as the image's user. The stage `build` is not tried.
# An instruction that is not supported here is an error.
set -euo pipefail
program=$(realpath "${1:?usage: try-container.sh PROGRAM}")
cd "$(dirname "$0")/.."
die() {
    echo "try-container: $*" >&2
    exit 1
}
[ "$(id -u)" -eq 0 ] || die "user $(id -un): expected root"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$folder/root
# What the stage `build` leaves.
mkdir -p "$folder/build/work" "$folder/build/try/licenses" "$root"
install -m 0755 "$program" "$folder/build/try/timeplane"
cp --parents LICENSE-* viewer/vendor/*/LICENSE data/README.md data/radio/*/LICENSE "$folder/build/try/licenses"

# Arguments of COPY: the stage, the owner if any, a file or folder, and its new path.
copy() {
    local owner=0:0
    [ "$1" = --from=build ] || die "COPY $1: expected --from=build"
    shift
    case $1 in --chown=*) owner=${1#--chown=} && shift ;; esac
    local from=$folder/build$1 to=$root$2
    mkdir -p "$(dirname "$to")"
    cp -rT "$from" "$to"
    chown -R "$owner" "$to"
}

user='' workdir=/ entrypoint='' labels=0
while read -r instruction arguments; do
    case $instruction in
        FROM) [ "$arguments" = scratch ] || die "last stage from $arguments: expected scratch" ;;
        ARG | CMD) ;;
        LABEL) labels=$(grep -o 'org\.opencontainers\.image\.[a-z]*=' <<< "$arguments" | wc -l) ;;
        COPY) read -ra words <<< "${arguments//\$TARGETARCH/try}" && copy "${words[@]}" ;;
        USER) user=$arguments ;;
        WORKDIR) workdir=$arguments && mkdir -p "$root$workdir" ;;
        ENTRYPOINT) entrypoint=${arguments#'["'} entrypoint=${entrypoint%'"]'} ;;
        *) die "instruction $instruction: expected one that this script supports" ;;
    esac
done < <(sed -n '/^FROM scratch/,$p' packaging/Containerfile | sed -e ':a' -e '/\\$/{N;s/\\\n */ /;ba' -e '}' | grep -v '^#\|^$')
[ -n "$user" ] && [ "${user%%:*}" -ne 0 ] || die "user \`$user\`: expected one that is not root"
[ -n "$entrypoint" ] || die "no entry point: expected the command"

inside() {
    unshare --net --root="$root" --wd="$workdir" --setgid="${user##*:}" --setuid="${user%%:*}" "$entrypoint" "$@"
}
inside --version
inside new
inside run scenario.toml --quiet
find "$root$workdir/results" -name '*.parquet' | grep -q . || die "no tables in $workdir/results: expected those of the run"
[ "$(stat --format=%u:%g "$root$workdir/scenario.toml")" = "$user" ] || die "files of another user: expected $user"
echo "try-container: $labels labels, user $user, $(du -sb --apparent-size "$root" | cut -f1) B with the results of a run"
