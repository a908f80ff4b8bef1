#!/usr/bin/env bash
# Checks the files for clusters: packaging/check-cluster.sh. It needs the extra `lint`. Manifests
# have to fit the schemas of these versions of Kubernetes, without unknown fields.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BIN:-.venv/bin}
"$bin/shellcheck" packaging/cluster/*.sh
said=$("$bin/kubernetes-validate" --strict -k 1.31 -k 1.37 packaging/cluster/*.yaml) || {
    echo "$said" >&2
    exit 1
}
# A kind without a schema only gives a warning.
if grep -v '^INFO' <<< "$said"; then
    echo "check-cluster: a resource is not checked" >&2
    exit 1
fi
echo "check-cluster: $(wc -l <<< "$said") resources fit their schemas"
