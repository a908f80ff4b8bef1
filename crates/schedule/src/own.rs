//! How scenarios name an algorithm: one of these crates, or one that a program has registered.
//!
//! The second kind has parameters of its own. Scenarios hand them over as they are, and the
//! algorithm's constructor checks them.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::borrow::Cow;
use timeplane_model::{Named, UnknownName};

/// Values of an own algorithm's parameters, by name.
pub type Parameters = Map<String, Value>;

/// An algorithm as a scenario names it.
#[derive(Clone, Debug, PartialEq)]
pub enum Algorithm<T> {
    /// One of these crates.
    BuiltIn(T),
    /// One that a program has registered.
    Own(OwnAlgorithm),
}

/// The name of a registered algorithm, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnAlgorithm {
    /// See [`Registry`](crate::Registry).
    pub name: String,
    /// All other keys of its table; none if the scenario gives the name alone.
    pub parameters: Parameters,
}

/// Why an own algorithm, or an answer of it, cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnError {
    /// No program has registered it.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// It cannot be made with these parameters, it failed, or its answer is invalid.
    #[error("{0}")]
    Failed(String),
}

impl<T: Named> Algorithm<T> {
    /// The algorithm of these crates, if it is one.
    pub fn built_in(&self) -> Option<T> {
        match self {
            Self::BuiltIn(algorithm) => Some(*algorithm),
            Self::Own(_) => None,
        }
    }

    /// The registered algorithm, if it is one.
    pub fn own(&self) -> Option<&OwnAlgorithm> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Own(own) => Some(own),
        }
    }

    /// Its name in the scenario.
    pub fn name(&self) -> &str {
        match self {
            Self::BuiltIn(algorithm) => algorithm.name(),
            Self::Own(own) => &own.name,
        }
    }
}

impl<T> From<T> for Algorithm<T> {
    fn from(algorithm: T) -> Self {
        Self::BuiltIn(algorithm)
    }
}

impl<T: Default> Default for Algorithm<T> {
    fn default() -> Self {
        Self::BuiltIn(T::default())
    }
}

impl<T: Named> Serialize for Algorithm<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::BuiltIn(algorithm) => serializer.serialize_str(algorithm.name()),
            Self::Own(own) => own.serialize(serializer),
        }
    }
}

impl Serialize for OwnAlgorithm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.parameters.is_empty() {
            return serializer.serialize_str(&self.name);
        }
        let mut map = serializer.serialize_map(Some(1 + self.parameters.len()))?;
        map.serialize_entry("name", &self.name)?;
        self.parameters.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.end()
    }
}

impl<'de, T: Named> Deserialize<'de> for Algorithm<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let own = OwnAlgorithm::deserialize(deserializer)?;
        match T::named(&own.name) {
            Ok(algorithm) if own.parameters.is_empty() => Ok(Self::BuiltIn(algorithm)),
            // A built-in algorithm with parameters has a name that no program can register.
            _ => Ok(Self::Own(own)),
        }
    }
}

impl<'de> Deserialize<'de> for OwnAlgorithm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = || D::Error::custom("expected a name, or a table with `name`");
        let (name, parameters) = match Value::deserialize(deserializer)? {
            Value::String(name) => (name, Parameters::new()),
            Value::Object(mut table) => match table.shift_remove("name") {
                Some(Value::String(name)) => (name, table),
                _ => return Err(expected()),
            },
            _ => return Err(expected()),
        };
        Ok(Self { name, parameters })
    }
}

impl<T: JsonSchema> JsonSchema for Algorithm<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("AlgorithmOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [generator.subschema_for::<T>(), generator.subschema_for::<OwnAlgorithm>()],
        })
    }
}

impl JsonSchema for OwnAlgorithm {
    fn schema_name() -> Cow<'static, str> {
        "OwnAlgorithm".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Algorithm that a program has registered, such as one in Python: its name, or a table of \
                            its name and its parameters, `{ name = \"mine\", depth = 3 }`. All keys besides `name` \
                            are handed to its constructor.",
            "type": ["string", "object"],
            "properties": {
                "name": { "description": "Name that the program has given it.", "type": "string" },
            },
            "required": ["name"],
            "additionalProperties": true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SlotMetric;
    use serde_json::json;

    fn read(json: Value) -> Result<Algorithm<SlotMetric>, serde_json::Error> {
        serde_json::from_value(json)
    }

    #[test]
    fn names_alone_are_texts() {
        for json in [json!("srjf"), json!({ "name": "srjf" })] {
            let algorithm = read(json).unwrap();
            assert_eq!(algorithm, Algorithm::BuiltIn(SlotMetric::Srjf));
            assert_eq!(serde_json::to_value(&algorithm).unwrap(), json!("srjf"));
        }
        for json in [json!("mine"), json!({ "name": "mine" })] {
            let algorithm = read(json).unwrap();
            assert_eq!((algorithm.name(), algorithm.built_in()), ("mine", None));
            assert_eq!(serde_json::to_value(&algorithm).unwrap(), json!("mine"));
        }
    }

    #[test]
    fn parameters_are_kept_as_they_are() {
        let json = json!({ "name": "mine", "depth": 3, "weights": [0.5, { "of": "fast" }] });
        let algorithm = read(json.clone()).unwrap();
        assert_eq!(algorithm.own().unwrap().parameters["depth"], 3);
        assert_eq!(serde_json::to_value(&algorithm).unwrap(), json);
        // The order of keys makes no other algorithm, but `name` comes first.
        let moved = read(json!({ "depth": 3, "name": "mine" })).unwrap();
        assert_eq!(serde_json::to_string(&moved).unwrap(), r#"{"name":"mine","depth":3}"#);
        // A built-in algorithm has none; validation says so.
        assert_eq!(read(json!({ "name": "srjf", "depth": 3 })).unwrap().built_in(), None);
    }

    #[test]
    fn what_has_no_name_is_refused() {
        for json in [json!(3), json!({}), json!({ "name": 3 }), json!({ "depth": 3 })] {
            assert!(read(json.clone()).is_err(), "{json}");
        }
    }
}
