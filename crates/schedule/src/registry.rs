//! TDMA schedulers by name.
//!
//! The registry holds those of this crate and those that a program registers.

use crate::{ConflictFree, Scheduler, SlotParameters, WeightedRoundRobin};
use schemars::JsonSchema;
use std::fmt;
use std::sync::Arc;
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use timeplane_model::{Named, UnknownName};

/// Constructor of a scheduler for given slots.
pub type SchedulerFactory = Arc<dyn Fn(&SlotParameters) -> Box<dyn Scheduler> + Send + Sync>;

/// A TDMA scheduler of this crate.
///
/// To add one, write its file, its `mod` line and its variant here, and construct it in `build`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, VariantArray, IntoStaticStr, EnumMessage)]
#[schemars(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TdmaScheduler {
    /// Pairs in turn, in proportion to their backlog; a fixed demand takes the fewest slots.
    #[schemars(extend(
        "x-source" = "Practical TDMA, Bhanu Vattikonda et al., EuroSys 2012",
        "x-departures" = "the paper names the rule only; due slots, critical links first and limits by receive \
                          buffers are ours"
    ))]
    WeightedRoundRobin,
    /// Pairs with explicit paths on any fabric; mixed link rates, and small senders share slots.
    #[schemars(extend(
        "x-source" = "Practical TDMA, Bhanu Vattikonda et al., EuroSys 2012",
        "x-departures" = "the paper leaves such fabrics open; paths, rates and shared slots are ours"
    ))]
    ConflictFree,
}

impl TdmaScheduler {
    /// Creates a scheduler that has planned nothing.
    ///
    /// # Panics
    /// Panics if `open` is not positive or `slots` is 0.
    pub fn build(self, parameters: &SlotParameters) -> Box<dyn Scheduler> {
        match self {
            Self::WeightedRoundRobin => Box::new(WeightedRoundRobin::new(*parameters)),
            Self::ConflictFree => Box::new(ConflictFree::new(*parameters)),
        }
    }
}

impl Named for TdmaScheduler {
    const KIND: &'static str = "scheduler";
}

/// Schedulers that a scenario can name. Two runs in one process may use different registries.
#[derive(Clone)]
pub struct Schedulers {
    entries: Vec<(String, SchedulerFactory)>,
}

impl Schedulers {
    /// Contains no scheduler.
    pub const fn empty() -> Self {
        Self { entries: Vec::new() }
    }

    /// Contains every [`TdmaScheduler`].
    pub fn built_in() -> Self {
        let mut all = Self::empty();
        for &scheduler in TdmaScheduler::all() {
            all.register(scheduler.name(), Arc::new(move |p| scheduler.build(p)));
        }
        all
    }

    /// Adds a scheduler. Replaces a scheduler of the same name.
    pub fn register(&mut self, name: impl Into<String>, build: SchedulerFactory) {
        let name = name.into();
        self.entries.retain(|e| e.0 != name);
        self.entries.push((name, build));
    }

    /// All names in order of registration.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|e| e.0.as_str())
    }

    /// Makes the scheduler of this name.
    ///
    /// # Errors
    /// Fails if no scheduler has this name.
    pub fn build(&self, name: &str, parameters: &SlotParameters) -> Result<Box<dyn Scheduler>, UnknownName> {
        self.factory(name).map(|build| build(parameters))
    }

    /// Returns the constructor of the schedulers of this name.
    ///
    /// # Errors
    /// Fails if no scheduler has this name.
    pub fn factory(&self, name: &str) -> Result<SchedulerFactory, UnknownName> {
        let found = self.entries.iter().find(|e| e.0 == name);
        let unknown = || UnknownName::new(TdmaScheduler::KIND, name, self.names());
        found.map(|e| Arc::clone(&e.1)).ok_or_else(unknown)
    }
}

impl Default for Schedulers {
    fn default() -> Self {
        Self::built_in()
    }
}

impl fmt::Debug for Schedulers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Standing;
    use timeplane_model::{Bytes, Demand, Duration, Fabric, Plan};

    const PARAMETERS: SlotParameters =
        SlotParameters { open: Duration::from_us(300), guard: Duration::from_us(15), slots: 32, frame: Bytes::ZERO };

    struct Never;
    impl Scheduler for Never {
        fn plan(&mut self, _: &Demand, _: &Fabric, _: &Standing) -> Plan {
            Plan::Slots(vec![])
        }
    }

    #[test]
    fn a_registered_scheduler_is_found_by_its_name() {
        let mut all = Schedulers::built_in();
        all.register("never", Arc::new(|_| Box::new(Never)));
        all.register("never", Arc::new(|_| Box::new(Never)));
        let built_in = TdmaScheduler::all().iter().map(|s| s.name());
        assert!(all.names().eq(built_in.chain(["never"])));
        assert!(all.build("never", &PARAMETERS).is_ok());
        // A registry is independent of others.
        assert!(Schedulers::built_in().build("never", &PARAMETERS).is_err());
    }

    #[test]
    fn a_wrong_name_gets_the_nearest_right_one() {
        let all = Schedulers::built_in();
        let error = all.build("weigthed_roundrobin", &PARAMETERS).err().unwrap();
        let text = error.to_string();
        assert!(text.starts_with("unknown scheduler `weigthed_roundrobin`: expected `weighted_round_robin`"), "{text}");
        assert!(text.ends_with("; did you mean `weighted_round_robin`?"), "{text}");
        assert_eq!(all.build("tdma", &PARAMETERS).err().unwrap().nearest(), None);
    }
}
