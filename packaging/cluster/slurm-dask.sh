#!/usr/bin/env bash
#SBATCH --job-name=timeplane-dask
#SBATCH --ntasks=24
#SBATCH --cpus-per-task=1
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --no-kill
# Run a sweep on Dask, with a worker per task of this job: sbatch slurm-dask.sh SCENARIO.toml
#
# Scheduler and sweep run on the first node. If workers die, the others repeat their runs. The
# folder from which the job is submitted has to be on a shared file system.
set -euo pipefail
if [ $# -ne 1 ] || [ -z "${SLURM_JOB_ID:-}" ]; then
    echo "usage: sbatch slurm-dask.sh SCENARIO.toml" >&2
    exit 2
fi
head="$PWD/scheduler-$SLURM_JOB_ID.json"
rm -f "$head"
dask scheduler --port 0 --no-dashboard --scheduler-file "$head" &
scheduler=$!
trap 'kill $(jobs -p) 2> /dev/null || true; rm -f "$head"' EXIT
until [ -s "$head" ]; do
    kill -0 "$scheduler"
    sleep 1
done
# A worker that dies does not end the others.
srun --kill-on-bad-exit=0 --no-kill dask worker --scheduler-file "$head" --nthreads 1 --no-dashboard &
address=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["address"])' "$head")
timeplane sweep "$1" --dask "$address" --quiet
