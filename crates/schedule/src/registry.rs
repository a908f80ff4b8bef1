//! The algorithms that scenarios can name: those of this crate, and those that a program registers.
//!
//! Each kind of plan has a [`Registry`] of its own, so that one name may stand for an algorithm of
//! each. To add a TDMA scheduler to this crate, write its file, its `mod` line and its variant of
//! [`TdmaScheduler`], and construct it in `build`.

use crate::circuits::{CircuitAlgorithm, CircuitParameters, CircuitScheduler};
use crate::flyways::{FlywayPolicy, Policy, Wired};
use crate::rotor::routing::Routings;
use crate::{
    ConflictFree, Normalizer, OwnAlgorithm, OwnError, Parameters, RateNormalizer, RateParameters, Scheduler,
    SlotMetric, SlotOrder, SlotParameters, TimeslotParameters, WeightedRoundRobin,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use timeplane_model::{Named, UnknownName};

/// Constructor of an algorithm, for what the plan says and for parameters of the algorithm's own.
pub type Factory<P, A> = Arc<dyn Fn(&P, &Parameters) -> Result<A, OwnError> + Send + Sync>;

/// Algorithm that plans the slots of a round.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    VariantArray,
    IntoStaticStr,
    EnumMessage,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TdmaScheduler {
    /// Pairs in turn, in proportion to their backlog; a fixed demand takes the fewest slots.
    #[schemars(extend(
        "x-source" = "Practical TDMA, Bhanu Vattikonda et al., EuroSys 2012",
        "x-departures" = "the paper names the rule only; due slots, critical links first and limits by receive \
                          buffers are ours"
    ))]
    #[default]
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

/// Own algorithms of one kind, by name. The program that registers them makes them, too.
pub struct Registry<P, A> {
    kind: &'static str,
    built_in: Vec<&'static str>,
    entries: Vec<(String, Factory<P, A>)>,
}

impl<P, A> Registry<P, A> {
    /// Contains no own algorithm beside the built-in ones `T`.
    fn beside<T: Named>() -> Self {
        Self::beside_names(T::KIND, T::all().iter().map(|one| one.name()).collect())
    }

    fn beside_names(kind: &'static str, built_in: Vec<&'static str>) -> Self {
        Self { kind, built_in, entries: Vec::new() }
    }

    /// Adds an algorithm. Replaces an own algorithm of the same name. `build` is called for each
    /// run, with what the plan says and with the scenario's parameters for the algorithm.
    ///
    /// # Panics
    /// Panics if a built-in algorithm has this name.
    pub fn register(
        &mut self,
        name: impl Into<String>,
        build: impl Fn(&P, &Parameters) -> Result<A, OwnError> + Send + Sync + 'static,
    ) {
        let name = name.into();
        assert!(!self.built_in.contains(&name.as_str()), "`{name}` is a built-in {}", self.kind);
        self.entries.retain(|e| e.0 != name);
        self.entries.push((name, Arc::new(build)));
    }

    /// All names: the built-in algorithms, then own ones in the order of registration.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.built_in.iter().copied().chain(self.entries.iter().map(|e| e.0.as_str()))
    }

    /// What messages call one of these algorithms.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Makes an own algorithm.
    ///
    /// # Errors
    /// Fails if it is not registered, or if its constructor fails.
    pub fn build(&self, own: &OwnAlgorithm, parameters: &P) -> Result<A, OwnError> {
        self.factory(own)?(parameters, &own.parameters)
    }

    /// Returns the constructor of an own algorithm.
    ///
    /// # Errors
    /// Fails if it is not registered.
    pub fn factory(&self, own: &OwnAlgorithm) -> Result<Factory<P, A>, UnknownName> {
        let found = self.entries.iter().find(|e| e.0 == own.name);
        found.map(|e| Arc::clone(&e.1)).ok_or_else(|| UnknownName::new(self.kind, &own.name, self.names()))
    }
}

impl<P, A> Clone for Registry<P, A> {
    fn clone(&self) -> Self {
        Self { kind: self.kind, built_in: self.built_in.clone(), entries: self.entries.clone() }
    }
}

impl<P, A> fmt::Debug for Registry<P, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// The algorithms that a scenario can name, by kind. Two runs in one process may use different
/// ones.
#[derive(Clone, Debug)]
pub struct Algorithms {
    /// For `plan.tdma.scheduler`.
    pub tdma: Registry<SlotParameters, Box<dyn Scheduler>>,
    /// For `plan.circuits.scheduler`.
    pub circuits: Registry<CircuitParameters, Box<dyn CircuitScheduler>>,
    /// For `plan.timeslots.metric`.
    pub orders: Registry<TimeslotParameters, Box<dyn SlotOrder>>,
    /// For `plan.rates.normalizer`.
    pub rates: Registry<RateParameters, Box<dyn Normalizer>>,
    /// For `plan.flyways.policy`.
    pub flyways: Registry<Wired, Arc<dyn Policy>>,
    /// For `rotor.routing.own`, and that of bulk.
    pub routings: Routings,
}

impl Algorithms {
    /// Contains the built-in algorithms alone.
    pub fn built_in() -> Self {
        Self {
            tdma: Registry::beside::<TdmaScheduler>(),
            circuits: Registry::beside::<CircuitAlgorithm>(),
            orders: Registry::beside::<SlotMetric>(),
            rates: Registry::beside::<RateNormalizer>(),
            flyways: Registry::beside::<FlywayPolicy>(),
            routings: Registry::beside_names("routing", vec![]),
        }
    }
}

impl Default for Algorithms {
    fn default() -> Self {
        Self::built_in()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Standing;
    use timeplane_model::{Bytes, Demand, Duration, Fabric, Plan};

    const PARAMETERS: SlotParameters =
        SlotParameters { open: Duration::from_us(300), guard: Duration::from_us(15), slots: 32, frame: Bytes::ZERO };

    /// Plans nothing for so many rounds, which nobody counts.
    struct Never(#[expect(dead_code, reason = "it shows where parameters go")] u64);
    impl Scheduler for Never {
        fn plan(&mut self, _: &Demand, _: &Fabric, _: &Standing) -> Plan {
            Plan::Slots(vec![])
        }
    }

    fn never(_: &SlotParameters, own: &Parameters) -> Result<Box<dyn Scheduler>, OwnError> {
        let rounds = own.get("rounds").and_then(serde_json::Value::as_u64);
        Ok(Box::new(Never(rounds.ok_or_else(|| OwnError::Failed("no `rounds`".to_owned()))?)))
    }

    fn named(name: &str, parameters: serde_json::Value) -> OwnAlgorithm {
        let serde_json::Value::Object(parameters) = parameters else { panic!("no table") };
        OwnAlgorithm { name: name.to_owned(), parameters }
    }

    #[test]
    fn a_registered_algorithm_is_found_by_its_name() {
        let mut all = Algorithms::built_in();
        all.tdma.register("never", never);
        all.tdma.register("never", never);
        let built_in = TdmaScheduler::all().iter().map(|s| s.name());
        assert!(all.tdma.names().eq(built_in.chain(["never"])));
        let own = named("never", serde_json::json!({ "rounds": 3 }));
        assert!(all.tdma.build(&own, &PARAMETERS).is_ok());
        // A registry is independent of others, and each plan has names of its own.
        assert!(Algorithms::built_in().tdma.build(&own, &PARAMETERS).is_err());
        let slots = TimeslotParameters { slot: Duration::from_us(1), bytes: Bytes::new(1250), batch: 1 };
        assert!(all.orders.build(&own, &slots).is_err());
    }

    #[test]
    fn a_constructor_gets_parameters_and_may_refuse_them() {
        let mut all = Algorithms::built_in();
        all.tdma.register("never", never);
        let error = all.tdma.build(&named("never", serde_json::json!({})), &PARAMETERS).err().unwrap();
        assert_eq!(error, OwnError::Failed("no `rounds`".to_owned()));
    }

    #[test]
    fn a_wrong_name_gets_the_nearest_right_one() {
        let mut all = Algorithms::built_in();
        all.tdma.register("never", never);
        let wrong = |name| all.tdma.build(&named(name, serde_json::json!({})), &PARAMETERS).err().unwrap().to_string();
        let text = wrong("weigthed_roundrobin");
        assert!(text.starts_with("unknown scheduler `weigthed_roundrobin`: expected `weighted_round_robin`"), "{text}");
        assert!(text.ends_with("; did you mean `weighted_round_robin`?"), "{text}");
        assert!(wrong("nevr").ends_with("or `never`; did you mean `never`?"));
        assert!(!wrong("tdma").contains("did you mean"));
    }

    #[test]
    #[should_panic(expected = "`greedy` is a built-in flyway policy")]
    fn names_of_built_in_algorithms_are_taken() {
        let mut all = Algorithms::built_in();
        all.flyways.register("greedy", |_, _| Ok(FlywayPolicy::Greedy.build()));
    }
}
