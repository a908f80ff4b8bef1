//! `sweep`: `run` with fewer runs: a share of them, or the seeds that are needed. Sweeps on Dask
//! are part of the Python package.

use crate::SweepArgs;
use crate::fail::Failure;
use crate::run::run_some;

pub fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    if args.dask.is_some() {
        return Err(Failure::configuration(
            "sweeps on Dask need the Python package: run `pip install '.[dask]'` in a clone of timeplane",
        ));
    }
    run_some(&args.run, args.until, args.shard)
}
