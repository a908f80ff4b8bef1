//! Policies: which links might relieve a bottleneck, the best ones first.

use super::{Bottleneck, Fluid, Greedy, LinkSet, Offer, Straggler, Transit};
use std::fmt;
use std::sync::Arc;

/// A link that might help.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// One rack.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// What the set of links offers for them.
    pub offer: Offer,
}

/// Chooses links.
pub trait Policy: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Whether links carry other pairs' traffic, on a way of two hops.
    fn transit(&self) -> bool;

    /// Links that are offered and may relieve a wire, the best first. The controller takes the first that helps.
    fn candidates(&self, fluid: &Fluid, links: &dyn LinkSet, bottleneck: Bottleneck) -> Vec<Candidate>;
}

/// Policies that can be asked for by name. A value: two controllers may know different ones.
#[derive(Clone)]
pub struct Policies {
    entries: Vec<(&'static str, &'static str, Arc<dyn Policy>)>,
}

/// No policy has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no policy is called `{name}`{}; there are: {}", nearest.map(|n| format!(", did you mean `{n}`?")).unwrap_or_default(), known.join(", "))]
pub struct UnknownPolicy {
    /// The name asked for.
    pub name: String,
    /// The known name most like it, where one is alike.
    pub nearest: Option<&'static str>,
    /// All known names.
    pub known: Vec<&'static str>,
}

impl Policies {
    /// Those of this crate: a line each.
    pub fn built_in() -> Self {
        let mut all = Self { entries: Vec::new() };
        all.register("what joins the pair that finishes last, for its own traffic", Arc::new(Straggler));
        all.register("the same, and others' traffic takes it on a way of two hops", Arc::new(Transit));
        all.register("what takes most traffic off the busiest wire", Arc::new(Greedy { transit: true }));
        all.register("the same, for its own pair's traffic only", Arc::new(Greedy { transit: false }));
        all
    }
    /// Adds a policy, with a line about it; one of the same name is replaced.
    pub fn register(&mut self, about: &'static str, policy: Arc<dyn Policy>) {
        let name = policy.name();
        self.entries.retain(|e| e.0 != name);
        self.entries.push((name, about, policy));
    }
    /// Names, and a line about each.
    pub fn names(&self) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        self.entries.iter().map(|e| (e.0, e.1))
    }
    /// The policy of this name.
    ///
    /// # Errors
    /// Where none has it.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Policy>, UnknownPolicy> {
        if let Some(entry) = self.entries.iter().find(|e| e.0 == name) {
            return Ok(Arc::clone(&entry.2));
        }
        let known: Vec<_> = self.entries.iter().map(|e| e.0).collect();
        let nearest = known
            .iter()
            .map(|&known| (strsim::damerau_levenshtein(known, name), known))
            // Half of the letters wrong is another word.
            .filter(|&(edits, known)| 2 * edits <= known.len().max(name.len()))
            .min()
            .map(|(_, known)| known);
        Err(UnknownPolicy { name: name.to_owned(), nearest, known })
    }
}

impl Default for Policies {
    fn default() -> Self {
        Self::built_in()
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names().map(|(name, _)| name)).finish()
    }
}
