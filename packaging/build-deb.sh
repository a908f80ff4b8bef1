#!/usr/bin/env bash
# Builds the Debian package of the daemons in a folder, by default target/debian:
# packaging/build-deb.sh [FOLDER].
# PROFILE=dev packages programs of a debug build, to try the package. The package needs the C
# library of the machine that builds it, or a newer one.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-target/debian}
profile=${PROFILE:-release}
programs=$([ "$profile" = dev ] && echo debug || echo "$profile")
${CARGO:-cargo} build --locked --profile "$profile" -p timeplane-live -p timeplane-lab
target=${CARGO_TARGET_DIR:-target}/$programs
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
# The same commit gives the same package.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
date=$(date -u -R -d "@$SOURCE_DATE_EPOCH")

umask 022
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
tree=$root/tree
doc=$tree/usr/share/doc/timeplane-live
man=$tree/usr/share/man/man1
install -d -m 0755 "$tree/DEBIAN" "$tree/usr/bin" "$tree/lib/systemd/system" "$doc" "$man"
# Keys are below it.
install -d -m 0750 "$tree/etc/timeplane"
install -m 0644 crates/live/systemd/* "$tree/lib/systemd/system"
install -m 0755 packaging/debian/{prerm,postinst,postrm} "$tree/DEBIAN"
for program in timeplane-live timeplane-lab; do
    install -m 0755 "$target/$program" "$tree/usr/bin"
    strip --strip-unneeded --remove-section=.comment "$tree/usr/bin/$program"
    # The text of --help; a backslash and a dot that begins a line mean something else in a manual.
    {
        printf '.TH %s 1 "" "timeplane %s" "User commands"\n' "${program^^}" "$version"
        printf '.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n' "$program" "run planned networks on Linux hosts"
        "$target/$program" --help | sed 's/\\/\\e/g; s/-/\\-/g; s/^\./\\\&./'
        printf ".fi\n.SH SEE ALSO\n.BR systemctl (1)\n"
    } | gzip -9n > "$man/$program.1.gz"
done
gzip -9nc CHANGELOG.md > "$doc/changelog.gz"
printf 'timeplane-live (%s-1) unstable; urgency=medium\n\n  * Version %s. See changelog.gz.\n\n -- %s  %s\n' \
    "$version" "$version" "$(sed -n 's/^Maintainer: //p' packaging/debian/control)" "$date" |
    gzip -9n > "$doc/changelog.Debian.gz"
install -m 0644 packaging/debian/copyright "$doc"
install -D -m 0644 packaging/debian/lintian-overrides "$tree/usr/share/lintian/overrides/timeplane-live"

# Libraries that the programs were linked with, with the versions that their symbols need.
mkdir -p "$root/debian"
printf 'Source: timeplane\n\nPackage: timeplane-live\nArchitecture: any\n' > "$root/debian/control"
depends=$(cd "$root" && dpkg-shlibdeps -O tree/usr/bin/* | sed -n 's/^shlibs:Depends=//p')
sed -e "s/@VERSION@/$version-1/" -e "s/@ARCHITECTURE@/$(dpkg --print-architecture)/" \
    -e "s/@DEPENDS@/$depends/" -e "s/@SIZE@/$(du -sk "$tree" | cut -f1)/" \
    packaging/debian/control > "$tree/DEBIAN/control"
(cd "$tree" && find usr lib -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
mkdir -p "$out"
dpkg-deb --root-owner-group --build "$tree" "$out" | sed 's/^/build-deb: /' >&2
echo "$out/timeplane-live_$version-1_$(dpkg --print-architecture).deb"
