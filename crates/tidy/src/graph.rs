//! The layers of the crates: a crate may use crates of lower layers only.
//!
//! Dependencies of tests are free: a test may compare a crate with one above it.

/// The crates without their prefix `timeplane-`, lowest layer first. Crates of one layer do not use
/// each other.
pub const LAYERS: &[&[&str]] = &[
    &["model", "viewer", "tidy", "fuzzing"],
    &["schedule", "transport", "radio", "results"],
    &["protocol"],
    &["scenario"],
    &["assembly", "workload", "live"],
    &["experiment"],
    &["sim", "lab", "report"],
    &["cli"],
    &["py"],
];

/// Arrows that point down and are forbidden nevertheless, with the reason.
pub const FORBIDDEN: &[(&str, &str, &str)] =
    &[("live", "scenario", "daemons run with privileges on hosts and know nothing of scenarios")];

/// One crate uses another.
pub type Arrow<'a> = (&'a str, &'a str);

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

/// The arrows that do not point down or are forbidden, each with a message.
pub fn violations<'a>(arrows: &[Arrow<'a>]) -> Vec<(Arrow<'a>, String)> {
    let message = |(from, to)| {
        let (Some(above), Some(below)) = (layer(from), layer(to)) else {
            let unknown = if layer(from).is_none() { from } else { to };
            return Some(format!(
                "crate `{unknown}` has no layer: expected a line in LAYERS of crates/tidy/src/graph.rs"
            ));
        };
        if let Some((.., why)) = FORBIDDEN.iter().find(|f| (f.0, f.1) == (from, to)) {
            return Some(format!("{from} uses {to}: {why}"));
        }
        (above <= below).then(|| format!("{from} uses {to}: expected arrows to lower layers only"))
    };
    arrows.iter().filter_map(|&arrow| Some((arrow, message(arrow)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_down_pass() {
        assert_eq!(violations(&[("schedule", "model"), ("sim", "protocol"), ("py", "cli")]), []);
    }

    #[test]
    fn a_turned_arrow_fails() {
        let found = violations(&[("schedule", "model"), ("model", "schedule")]);
        let message = "model uses schedule: expected arrows to lower layers only";
        assert_eq!(found, [(("model", "schedule"), message.to_owned())]);
    }

    #[test]
    fn crates_of_one_layer_do_not_use_each_other() {
        assert_eq!(violations(&[("workload", "assembly")]).len(), 1);
    }

    #[test]
    fn a_forbidden_arrow_fails_with_its_reason() {
        assert!(violations(&[("live", "scenario")])[0].1.contains("privileges"));
    }

    #[test]
    fn a_crate_without_a_layer_fails() {
        assert!(violations(&[("novel", "model")])[0].1.contains("`novel` has no layer"));
    }
}
