#!/usr/bin/env bash
#SBATCH --job-name=timeplane
#SBATCH --cpus-per-task=4
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
# Run a share of a sweep: sbatch --array=1-SHARES slurm-array.sh SCENARIO.toml SHARES
#
# All jobs write to the same folder `results`, which has to be on a shared file system. A requeued
# job keeps the runs that are complete.
set -euo pipefail
if [ $# -ne 2 ] || [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then
    echo "usage: sbatch --array=1-SHARES slurm-array.sh SCENARIO.toml SHARES" >&2
    exit 2
fi
exec timeplane sweep "$1" --quiet --jobs "${SLURM_CPUS_PER_TASK:-1}" --shard "$SLURM_ARRAY_TASK_ID/$2"
