//! Schedulers by name.

use crate::{ConflictFree, Scheduler, SlotParameters, WeightedRoundRobin};
use std::fmt;
use std::sync::Arc;

/// Makes a scheduler for these slots.
pub type SchedulerFactory = Arc<dyn Fn(&SlotParameters) -> Box<dyn Scheduler> + Send + Sync>;

/// Schedulers that can be asked for by name. A value: two runs of a process may know different ones.
#[derive(Clone)]
pub struct Schedulers {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    name: String,
    about: String,
    build: SchedulerFactory,
}

/// No scheduler has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no scheduler is called `{name}`{}; there are: {}", nearest.as_ref().map(|n| format!(", did you mean `{n}`?")).unwrap_or_default(), known.join(", "))]
pub struct UnknownScheduler {
    /// The name asked for.
    pub name: String,
    /// The known name most like it, where one is alike.
    pub nearest: Option<String>,
    /// All known names.
    pub known: Vec<String>,
}

impl Schedulers {
    /// None at all.
    pub const fn empty() -> Self {
        Self { entries: Vec::new() }
    }
    /// Those of this crate: one line each.
    pub fn built_in() -> Self {
        let mut all = Self::empty();
        all.add(
            WeightedRoundRobin::NAME,
            WeightedRoundRobin::ABOUT,
            Arc::new(|p| Box::new(WeightedRoundRobin::new(*p))),
        );
        all.add(ConflictFree::NAME, ConflictFree::ABOUT, Arc::new(|p| Box::new(ConflictFree::new(*p))));
        all
    }
    /// Adds a scheduler; one of the same name is replaced.
    pub fn register(&mut self, name: impl Into<String>, build: SchedulerFactory) {
        self.add(name, "", build);
    }
    fn add(&mut self, name: impl Into<String>, about: &str, build: SchedulerFactory) {
        let name = name.into();
        self.entries.retain(|e| e.name != name);
        self.entries.push(Entry { name, about: about.to_owned(), build });
    }
    /// What each does, in a line; empty for those from outside. In the order of [`names`](Self::names).
    pub fn abouts(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|e| e.about.as_str())
    }
    /// All names, in the order of registration.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|e| e.name.as_str())
    }
    /// A new scheduler of this name.
    ///
    /// # Errors
    /// Where none has it.
    pub fn build(&self, name: &str, parameters: &SlotParameters) -> Result<Box<dyn Scheduler>, UnknownScheduler> {
        self.factory(name).map(|build| build(parameters))
    }
    /// What makes schedulers of this name.
    ///
    /// # Errors
    /// Where none has it.
    pub fn factory(&self, name: &str) -> Result<SchedulerFactory, UnknownScheduler> {
        if let Some(entry) = self.entries.iter().find(|e| e.name == name) {
            return Ok(Arc::clone(&entry.build));
        }
        let nearest = self
            .names()
            .map(|known| (strsim::damerau_levenshtein(known, name), known))
            // Half of the letters wrong is another word.
            .filter(|&(edits, known)| 2 * edits <= known.len().max(name.len()))
            .min()
            .map(|(_, known)| known.to_owned());
        Err(UnknownScheduler { name: name.to_owned(), nearest, known: self.names().map(str::to_owned).collect() })
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
        SlotParameters { open: Duration::from_us(300), gap: Duration::from_us(15), slots: 32, frame: Bytes::ZERO };

    struct Never;
    impl Scheduler for Never {
        fn name(&self) -> &str {
            "never"
        }
        fn plan(&mut self, _: &Demand, _: &Fabric, _: &Standing) -> Plan {
            Plan::Slots(vec![])
        }
    }

    #[test]
    fn a_scheduler_from_outside_is_found_by_its_name() {
        let mut all = Schedulers::built_in();
        all.register("never", Arc::new(|_| Box::new(Never)));
        all.register("never", Arc::new(|_| Box::new(Never)));
        assert_eq!(all.names().collect::<Vec<_>>(), ["weighted_round_robin", "conflict_free", "never"]);
        assert_eq!(all.build("never", &PARAMETERS).unwrap().name(), "never");
        // Another value is another registry.
        assert!(Schedulers::built_in().build("never", &PARAMETERS).is_err());
    }

    #[test]
    fn a_wrong_name_gets_the_nearest_right_one() {
        let all = Schedulers::built_in();
        for name in Schedulers::built_in().names() {
            assert_eq!(all.build(name, &PARAMETERS).unwrap().name(), name);
        }
        let error = all.build("weigthed_roundrobin", &PARAMETERS).err().unwrap();
        assert_eq!(error.nearest.as_deref(), Some("weighted_round_robin"));
        assert_eq!(
            error.to_string(),
            "no scheduler is called `weigthed_roundrobin`, did you mean `weighted_round_robin`?; there are: weighted_round_robin, conflict_free"
        );
        assert_eq!(all.build("tdma", &PARAMETERS).err().unwrap().nearest, None);
    }
}
