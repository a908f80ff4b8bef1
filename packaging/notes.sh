#!/usr/bin/env bash
# Prints what CHANGELOG.md says of a version: packaging/notes.sh VERSION. The section needs a date,
# `## [VERSION] - YYYY-MM-DD`, because a version without one is not released.
set -euo pipefail
version=${1:?usage: notes.sh VERSION}
cd "$(dirname "$0")/.."
notes=$(awk -v version="$version" '
    /^## / { inside = index($0, "## [" version "] - ") == 1 && $NF ~ /^[0-9-]+$/; next }
    inside' CHANGELOG.md)
if [ -z "${notes//[[:space:]]/}" ]; then
    echo "notes: CHANGELOG.md has nothing: expected a section \`## [$version] - YYYY-MM-DD\`" >&2
    exit 1
fi
printf '%s\n' "${notes#$'\n'}"
