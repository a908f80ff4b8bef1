//! Air links over time: what each was to its other end, at which rate, and what it carried.
//!
//! A link has a track, and a state of it is a slice.

use super::{Lanes, read};
use crate::error::ResultsError;
use crate::perfetto::{TraceWriter, Track};
use crate::tables::AirRow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// A state of an air link, until its next one or the end of the run.
#[derive(Clone, Debug)]
struct State {
    at: i64,
    to: Option<i64>,
    name: String,
    mcs: Option<i64>,
    rate: i64,
    airtime: i64,
    carried: i64,
}

/// The table of air links.
pub(super) struct AirLinks {
    /// By link and its sending end: its states, in the order of the table.
    of: BTreeMap<(i64, i64), Vec<State>>,
}

impl AirLinks {
    pub fn read(folder: &Path) -> Result<Self, ResultsError> {
        let mut of = BTreeMap::<_, Vec<State>>::new();
        read::<AirRow>(folder, |t| {
            let [time, link, from, rate, airtime, carried] =
                ["time_ps", "link", "from", "rate_bps", "airtime_ps", "carried_bytes"].map(|c| t.numbers(c));
            let [to, mcs] = ["to", "mcs"].map(|c| t.nullable(c));
            for (i, name) in t.words("state").into_iter().enumerate() {
                let (to, mcs, rate) = (to[i], mcs[i], rate[i]);
                let state = State { at: time[i], to, name, mcs, rate, airtime: airtime[i], carried: carried[i] };
                of.entry((link[i], from[i])).or_default().push(state);
            }
        })?;
        of.values_mut().for_each(|states| states.sort_by_key(|s| s.at));
        Ok(Self { of })
    }

    /// The number of states.
    pub fn len(&self) -> u64 {
        self.of.values().map(|states| states.len() as u64).sum()
    }

    /// Adds a track for each link, for a run that ends at `end` ps.
    pub fn add<W: Write>(&self, trace: &mut TraceWriter<W>, process: Track, rank: u32, end: i64) -> io::Result<()> {
        if self.of.is_empty() {
            return Ok(());
        }
        let group = trace.track(process, rank, "air links")?;
        for (place, ((link, from), states)) in (0..).zip(&self.of) {
            let mut lanes = Lanes::new(group, place, &format!("link {link}, from node {from}"));
            let ends = states.iter().skip(1).map(|s| s.at).chain([end]);
            for (s, end) in states.iter().zip(ends) {
                let to = s.to.map_or(String::new(), |to| format!(" to node {to}"));
                let name = match s.mcs {
                    Some(mcs) if s.name == "used" => format!("MCS {mcs}{to}"),
                    _ => format!("{}{to}", s.name),
                };
                let mut values = vec![(4, s.at), (9, s.rate), (10, s.airtime), (11, s.carried)];
                values.extend(s.mcs.map(|mcs| (8, mcs)));
                lanes.slice(trace, (s.at, end.max(s.at)), "air", &name, &values)?;
            }
        }
        Ok(())
    }
}
