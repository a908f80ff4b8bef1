//! `sweep`: a run of many points, shared among machines or ended when enough is known.

use crate::SweepArgs;
use crate::fail::Failure;
use crate::run::run_some;

pub fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    if args.dask.is_some() {
        return Err(Failure::configuration(
            "sweeps on Dask are Python's: the Python package runs them, `pip install '.[dask]'` in a clone of timeplane",
        ));
    }
    run_some(&args.run, args.until, args.shard)
}
