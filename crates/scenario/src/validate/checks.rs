//! Checks the bounds on results in the `[[check]]` tables: their schemes, that bounds on ratios are
//! plain numbers, that a lower bound is not above the upper one, and what may be unfinished.

use super::Checked;
use crate::error::Problem;
use crate::shape::one_of;
use crate::{Check, Limit, Scenario};
use timeplane_model::nearest;

impl Checked {
    /// Checks that the schemes exist and that the bounds make sense. `experiment` checks the names
    /// of metrics.
    pub(super) fn check(&mut self, at: &str, check: &Check, s: &Scenario) {
        for (key, name) in [("scheme", Some(&check.scheme)), ("relative_to", check.relative_to.as_ref())] {
            if let Some(name) = name.filter(|n| !s.scheme.contains_key(*n)) {
                let known: Vec<&str> = s.scheme.keys().map(String::as_str).collect();
                let problem = Problem::UnknownName {
                    what: "scheme",
                    found: name.clone(),
                    nearest: nearest(name, known.iter().copied()),
                    allowed: known.iter().map(|n| (*n).to_owned()).collect(),
                };
                self.error(&format!("{at}.{key}"), problem, Some(&one_of("expected one of", &known)));
            }
        }
        if check.relative_to.as_ref() == Some(&check.scheme) {
            self.conflict(&format!("{at}.relative_to"), "a scheme relative to itself: expected another scheme", None);
        }
        if check.relative_to.is_some() && check.relative_to_bound {
            self.conflict(at, "both `relative_to` and `relative_to_bound`: expected at most one", None);
        }
        if let Some(found) = check.allow_unfinished
            && (!found.is_finite() || found < 0.0 || (found >= 1.0 && found.fract() != 0.0))
        {
            self.value(&format!("{at}.allow_unfinished"), found, "a number of flows, or a share below 1");
        }
        let limits = [("at_most", check.at_most), ("at_least", check.at_least)];
        if limits.iter().all(|(_, limit)| limit.is_none()) {
            self.conflict(at, "no bound: expected `at_most` or `at_least`", None);
        }
        for (key, limit) in limits {
            if let Some(limit) = limit
                && check.is_relative()
                && !matches!(limit, Limit::Number(_))
            {
                let message = format!("{limit}: expected a number, as ratios have no unit");
                self.conflict(&format!("{at}.{key}"), &message, Some("write a number, such as 0.8"));
            }
        }
        if let (Some(most), Some(least)) = (check.at_most, check.at_least)
            && most.suffix() == least.suffix()
            && least.value() > most.value()
        {
            self.conflict(
                at,
                &format!("at least {least} and at most {most}: expected bounds that a value can meet"),
                None,
            );
        }
    }
}
