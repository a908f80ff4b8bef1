//! Checks a scheme's own fabric, alone and together with the workload, the failures and the changes
//! of the scenario.

use super::{Checked, Note};
use crate::{Problem, Scenario};
use std::path::Path;

impl Checked {
    /// `own` is the scenario with the fabric of this scheme, `s` the scenario itself.
    pub(super) fn own_fabric(&mut self, name: &str, own: &Scenario, s: &Scenario, base: &Path) {
        let table = format!("scheme.{name}.fabric");
        let (hosts, found) = (s.fabric.hosts(), own.fabric.hosts());
        let mut shared = Self::default();
        let mut seen = Self::default();
        for (checked, s) in [(&mut shared, s), (&mut seen, own)] {
            checked.fabric(&s.fabric);
            checked.deadlocks(s);
            checked.schedule_file(&s.fabric, base);
            if hosts == found {
                checked.workload(s, hosts, base);
                checked.failures(s);
                checked.changes(s);
            }
        }
        if hosts != found && [s, own].iter().all(|s| s.fabric.check_topology().is_ok()) {
            let message =
                format!("{found} hosts: expected {hosts}, as in `fabric`, because all schemes carry the same flows");
            self.conflict(&format!("{table}.topology"), &message, None);
        }
        // Errors that the scenario's own fabric also has are reported there.
        let own = |note: &Note, shared: &[Note]| !shared.contains(note);
        let place = |note: Note| match note.key.strip_prefix("fabric.") {
            Some(key) => Note { key: format!("{table}.{key}"), ..note },
            None => {
                let problem = Problem::Conflict(format!("on this fabric, `{}`: {}", note.key, note.problem));
                Note { key: table.clone(), problem, ..note }
            }
        };
        self.errors.extend(seen.errors.into_iter().filter(|n| own(n, &shared.errors)).map(place));
        self.warnings.extend(seen.warnings.into_iter().filter(|n| own(n, &shared.warnings)).map(place));
    }
}
