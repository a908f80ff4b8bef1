//! Presets: measured times of hosts and of the control channel. `timeplane live calibrate` writes
//! them.
//!
//! A preset replaces keys of every scheme for which they exist, as `--set` does. Manifests and
//! results therefore have its values, not its name.

use crate::document::{Node, Origin};
use crate::error::{Problem, Source};
use crate::load::{Input, report};
use crate::shape::{Finding, Shape};
use crate::{HostTimes, PlanSpec, Scenario, ScenarioError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use timeplane_model::Duration;

/// Measured times of hosts. A scheme has the same keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// One-way latency between controller and hosts, as `plan.tdma.control_latency` and that of
    /// the other plans.
    pub control_latency: Duration,
    /// The hosts.
    pub host: PresetHost,
}

/// Hosts of a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PresetHost {
    /// Time of a host for a packet.
    pub latency: PresetLatency,
}

/// Time of a host for a packet. It is always measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PresetLatency {
    /// Measured times.
    pub times: HostTimes,
}

impl Preset {
    /// A preset of these times.
    pub fn new(control_latency: Duration, times: HostTimes) -> Self {
        Self { control_latency, host: PresetHost { latency: PresetLatency { times } } }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is not a preset.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ScenarioError> {
        let input = Input::read(path.as_ref())?;
        Self::from_str(&input.text, &input.name)
    }

    /// Reads a TOML text; messages use `name` instead of a file name.
    ///
    /// # Errors
    /// If the text is not a preset.
    pub fn from_str(text: &str, name: &str) -> Result<Self, ScenarioError> {
        let sources = Arc::from([Source { name: name.to_owned(), text: text.to_owned(), is_override: false }]);
        let document = Node::parse(text, 0).map_err(|e| {
            let origin = Origin { source: Some(0), span: e.span().unwrap_or(0..0) };
            let problem = Problem::Syntax(e.message().trim().replace('\n', "; "));
            report(vec![Finding { key: String::new(), problem, help: None, origin }], &sources)
        })?;
        let schema = serde_json::to_value(schemars::schema_for!(Self)).expect("a schema is JSON");
        let findings = Shape::new(schema).check(&document);
        if !findings.is_empty() {
            return Err(report(findings, &sources));
        }
        serde_json::from_value(document.to_json()).map_err(|e| {
            let origin = document.origin.clone();
            let problem = Problem::Conflict(e.to_string());
            report(vec![Finding { key: String::new(), problem, help: None, origin }], &sources)
        })
    }

    /// The keys of a scenario that this preset replaces, as [`crate::Loaded`] takes overrides.
    ///
    /// Schemes without a plan get the times of hosts only. Circuits, flyways, and scenarios with
    /// radios, failures or PFC of switches cannot have times of hosts; they get the latency of the
    /// control channel only.
    pub fn overrides(&self, scenario: &Scenario) -> Vec<(String, Vec<String>)> {
        let mut all = Vec::new();
        let fabric = &scenario.fabric;
        let times_allowed = fabric.radio.is_none() && fabric.switch.pfc.is_none() && scenario.failure.is_empty();
        // As scenarios are written, so that nothing is rounded.
        let exact = |time: Duration| serde_json::to_string(&time).expect("a duration is a text");
        let mut set = |key: String, value: String| all.push((key, vec![value]));
        for (name, scheme) in &scenario.scheme {
            if times_allowed && !matches!(scheme.plan, Some(PlanSpec::Circuits(_) | PlanSpec::Flyways(_))) {
                let HostTimes { send_least, send_most, receive_least, receive_most } = self.host.latency.times;
                let times = format!(
                    "{{ times = {{ send_least = {}, send_most = {}, receive_least = {}, receive_most = {} }} }}",
                    exact(send_least),
                    exact(send_most),
                    exact(receive_least),
                    exact(receive_most)
                );
                set(format!("scheme.{name}.host.latency"), times);
            }
            if let Some(plan) = &scheme.plan {
                let key = format!("scheme.{name}.plan.{}.control_latency", plan.key());
                set(key, exact(self.control_latency));
            }
        }
        all
    }
}
