//! The names of choices are the same in scenarios, in lists and in Python.

use serde::Serialize;
use timeplane_model::Named;
use timeplane_scenario::{
    AntennaName, CircuitAlgorithm, CongestionKind, FlywayPolicy, MacName, ProxyPolicy, SlotMetric,
};

fn serialize_to_their_names<T: Named + Serialize>(choices: &[T]) {
    for &choice in choices {
        assert_eq!(serde_json::to_value(choice).unwrap(), choice.name());
        assert!(!choice.about().is_empty(), "{} has no description", choice.name());
    }
}

#[test]
fn choices_serialize_to_their_names() {
    serialize_to_their_names(AntennaName::all());
    serialize_to_their_names(CircuitAlgorithm::all());
    serialize_to_their_names(FlywayPolicy::all());
    serialize_to_their_names(MacName::all());
    serialize_to_their_names(SlotMetric::all());
    let fixed = CongestionKind::Fixed;
    let named: Vec<CongestionKind> = CongestionKind::all().iter().copied().filter(|&c| c != fixed).collect();
    serialize_to_their_names(&named);
    assert!(serde_json::to_value(fixed).is_err(), "scenarios cannot name it");
}

#[test]
fn proxy_policies_serialize_to_their_names() {
    for policy in ProxyPolicy::all() {
        let json = serde_json::to_value(policy).unwrap();
        assert!(json.as_object().unwrap().keys().eq([policy.name()]), "{json}");
    }
}
