//! Checks a document against the JSON Schema of a scenario and collects every mismatch.
//!
//! The schema is derived from the types that serde fills, so whatever passes can be deserialized.

use crate::check::Limit;
use crate::document::{Node, Origin, Value};
use crate::error::Problem;
use indexmap::IndexMap;
use serde_json::{Map, Value as Json};
use std::sync::LazyLock;
use timeplane_model::nearest;
use timeplane_model::{Bytes, Duration, Rate, UnitError};

/// What parameters of own algorithms accept, and their names.
static ANY: Json = Json::Bool(true);
static TEXT: LazyLock<Json> = LazyLock::new(|| serde_json::json!({ "type": "string" }));

/// The schema, ready to walk.
#[derive(Debug)]
pub(crate) struct Shape {
    schema: Json,
}

/// One alternative of a choice: a bare name, or a table with this single key.
struct Alternative<'a> {
    name: &'a str,
    inner: Option<&'a Json>,
}

/// What a position in the schema accepts.
enum Kind<'a> {
    Any,
    Bool,
    Text,
    Integer {
        least: i128,
        most: i128,
    },
    Number,
    Quantity(&'a str),
    Limit,
    Table {
        properties: Option<&'a Map<String, Json>>,
        required: Vec<&'a str>,
    },
    Named(&'a Json),
    List {
        items: &'a Json,
        least: usize,
        most: usize,
    },
    Choice(Vec<Alternative<'a>>),
    /// The name of an algorithm, or a table of its name and parameters. Names are checked with the
    /// registry.
    Algorithm,
}

/// A problem at a key that has no location yet.
#[derive(Debug)]
pub(crate) struct Finding {
    pub key: String,
    pub problem: Problem,
    pub help: Option<String>,
    pub origin: Origin,
}

impl Shape {
    /// The shape of a scenario. It is derived from the types once, which takes some milliseconds.
    pub fn of_scenarios() -> &'static Self {
        static SHAPE: LazyLock<Shape> = LazyLock::new(|| Shape::new(crate::schema()));
        &SHAPE
    }

    pub fn new(schema: Json) -> Self {
        Self { schema }
    }

    fn kind<'a>(&'a self, schema: &'a Json) -> Kind<'a> {
        if let Some(name) = schema["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/")) {
            return match name {
                "Duration" | "Rate" | "Bytes" => Kind::Quantity(name),
                "Limit" => Kind::Limit,
                "OwnAlgorithm" => Kind::Algorithm,
                _ => self.kind(&self.schema["$defs"][name]),
            };
        }
        if schema["anyOf"].as_array().is_some_and(|any| any.iter().any(|s| s["$ref"] == "#/$defs/OwnAlgorithm")) {
            return Kind::Algorithm;
        }
        if let Some(some) = schema["anyOf"].as_array().and_then(|any| any.iter().find(|s| s["type"] != "null")) {
            return self.kind(some);
        }
        if let Some(alternatives) = schema["oneOf"].as_array() {
            return Kind::Choice(alternatives.iter().flat_map(Alternative::of).collect());
        }
        if schema["enum"].is_array() {
            return Kind::Choice(Alternative::of(schema));
        }
        let type_ = match &schema["type"] {
            Json::String(s) => s.as_str(),
            Json::Array(types) => types.iter().filter_map(Json::as_str).find(|t| *t != "null").unwrap_or(""),
            _ => "",
        };
        match type_ {
            "boolean" => Kind::Bool,
            "string" => Kind::Text,
            "number" => Kind::Number,
            "integer" => {
                let most = match schema["format"].as_str() {
                    Some("uint32") => u32::MAX.into(),
                    Some("uint8") => u8::MAX.into(),
                    Some("uint16") => u16::MAX.into(),
                    _ => u64::MAX.into(),
                };
                Kind::Integer { least: schema["minimum"].as_i64().map_or(i64::MIN.into(), i128::from), most }
            }
            "array" => {
                let bound = |key: &str, or: usize| schema[key].as_u64().map_or(or, |n| n as usize);
                Kind::List { items: &schema["items"], least: bound("minItems", 0), most: bound("maxItems", usize::MAX) }
            }
            "object" if schema["additionalProperties"].is_object() => Kind::Named(&schema["additionalProperties"]),
            "object" => Kind::Table {
                properties: schema["properties"].as_object(),
                required: schema["required"].as_array().map_or(vec![], |r| r.iter().filter_map(Json::as_str).collect()),
            },
            _ => Kind::Any,
        }
    }

    /// Everything in `document` that does not fit the schema.
    pub fn check(&self, document: &Node) -> Vec<Finding> {
        let mut findings = Vec::new();
        self.walk(document, &self.schema, "", &mut findings);
        findings
    }

    /// Everything in `node` that does not fit the dotted key `key`, which exists.
    pub fn check_at(&self, key: &str, node: &Node, document: &Node) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let Ok(schema) = self.find(key, document) {
            self.walk(node, schema, key, &mut findings);
        }
        findings
    }

    /// Whether the dotted key accepts a text, as quantities do.
    pub fn takes_text(&self, key: &str, document: &Node) -> bool {
        self.find(key, document).is_ok_and(|s| matches!(self.kind(s), Kind::Text | Kind::Quantity(_)))
    }

    /// The schema at a dotted key, or the first segment that does not exist. Looks up names of
    /// schemes in `document`.
    fn find<'a>(&'a self, key: &str, document: &Node) -> Result<&'a Json, (String, Problem)> {
        let mut schema = &self.schema;
        let mut so_far = String::new();
        for segment in key.split('.') {
            let unknown = |allowed: Vec<&str>| {
                let nearest = nearest(segment, allowed.iter().copied());
                let allowed = allowed.into_iter().map(str::to_owned).collect();
                (so_far.clone(), Problem::UnknownKey { found: segment.to_owned(), nearest, allowed })
            };
            schema = match self.kind(schema) {
                Kind::Table { properties: Some(p), .. } => {
                    p.get(segment).ok_or_else(|| unknown(p.keys().map(String::as_str).collect()))?
                }
                Kind::Named(inner) => match document.at(&so_far).map(|n| &n.value) {
                    Some(Value::Table(table)) if !table.contains_key(segment) => {
                        return Err(unknown(table.keys().map(String::as_str).collect()));
                    }
                    _ => inner,
                },
                Kind::List { items, .. } => match document.at(&so_far).map(|n| &n.value) {
                    Some(Value::List(list)) if segment.parse::<usize>().is_ok_and(|i| i < list.len()) => items,
                    _ => return Err(unknown(vec![])),
                },
                Kind::Choice(alternatives) => {
                    let allowed = || alternatives.iter().filter(|a| a.inner.is_some()).map(|a| a.name);
                    let chosen = alternatives.iter().find(|a| a.name == segment).and_then(|a| a.inner);
                    chosen.ok_or_else(|| unknown(allowed().collect()))?
                }
                Kind::Algorithm if segment == "name" => &TEXT,
                Kind::Algorithm => &ANY,
                _ => return Err(unknown(vec![])),
            };
            so_far = join(&so_far, segment);
        }
        Ok(schema)
    }

    /// Whether a dotted key exists; the error has the table above the wrong segment, and the
    /// problem.
    pub fn exists(&self, key: &str, document: &Node) -> Result<(), (String, Problem)> {
        self.find(key, document).map(|_| ())
    }

    /// Sets a dotted key that exists to `value`. Creates missing tables on the path; a key of
    /// another alternative replaces the previous alternative.
    pub fn set(&self, document: &mut Node, key: &str, value: Node) {
        let mut schema = &self.schema;
        let mut node = document;
        let origin = value.origin.clone();
        let mut segments = key.split('.').peekable();
        while let Some(segment) = segments.next() {
            let kind = self.kind(schema);
            let is_list = matches!(kind, Kind::List { .. });
            schema = match kind {
                Kind::Table { properties: Some(p), .. } => &p[segment],
                Kind::Named(inner) | Kind::List { items: inner, .. } => inner,
                Kind::Choice(alternatives) => {
                    if let Value::Table(table) = &mut node.value {
                        table.retain(|k, _| k == segment);
                    }
                    let chosen = alternatives.into_iter().find(|a| a.name == segment);
                    chosen.and_then(|a| a.inner).expect("a key that exists")
                }
                Kind::Algorithm => {
                    if let Value::Text(_) = &node.value {
                        let name = std::mem::replace(node, Node::table(origin.clone()));
                        let Value::Table(table) = &mut node.value else { unreachable!("made above") };
                        table.insert("name".to_owned(), (name.origin.clone(), name));
                    }
                    &ANY
                }
                _ => unreachable!("a key that exists"),
            };
            if is_list {
                let (Value::List(list), Ok(i)) = (&mut node.value, segment.parse::<usize>()) else { return };
                let Some(item) = list.get_mut(i) else { return };
                node = item;
            } else {
                if !matches!(node.value, Value::Table(_)) {
                    *node = Node::table(origin.clone());
                }
                let Value::Table(table) = &mut node.value else { unreachable!("made above") };
                let made = || (origin.clone(), Node::table(origin.clone()));
                node = &mut table.entry(segment.to_owned()).or_insert_with(made).1;
            }
            if segments.peek().is_none() {
                *node = value;
                return;
            }
        }
    }

    fn walk(&self, node: &Node, schema: &Json, key: &str, findings: &mut Vec<Finding>) {
        let mut found = |problem, help| {
            findings.push(Finding { key: key.to_owned(), problem, help, origin: node.origin.clone() });
        };
        let expected = |expected: &str| Problem::Type { expected: expected.to_owned(), found: node.value.to_string() };
        match (self.kind(schema), &node.value) {
            (Kind::Any, _) | (Kind::Bool, Value::Bool(_)) | (Kind::Text, Value::Text(_)) => {}
            (Kind::Bool, _) => found(expected("`true` or `false`"), None),
            (Kind::Text, _) => found(expected("a text in quotes"), None),
            (Kind::Integer { least, most }, Value::Integer(i)) => {
                if !(least..=most).contains(i) {
                    let allowed = format!("{least} to {most}");
                    found(Problem::Value { found: i.to_string(), allowed }, None);
                }
            }
            (Kind::Integer { .. }, _) => found(expected("a whole number"), None),
            (Kind::Number, Value::Integer(_)) => {}
            (Kind::Number, Value::Float(x)) if x.is_finite() => {}
            (Kind::Number, Value::Float(x)) => {
                found(Problem::Value { found: x.to_string(), allowed: "a finite number".into() }, None);
            }
            (Kind::Number, _) => found(expected("a number"), None),
            (Kind::Quantity(name), Value::Text(text)) => {
                if let Err(e) = quantity(name, text) {
                    found(e.into(), None);
                }
            }
            (Kind::Limit, Value::Integer(_)) => {}
            (Kind::Limit, Value::Float(x)) if x.is_finite() => {}
            (Kind::Limit, Value::Text(text)) if Limit::reads(text) => {}
            (Kind::Limit, _) => {
                found(
                    expected("a number, or a quantity with its unit, in quotes, such as \"1.3 s\" or \"9 Gb/s\""),
                    None,
                );
            }
            (Kind::Quantity(name), _) => found(expected(quantity_in_words(name)), None),
            (Kind::Table { properties, required }, Value::Table(table)) => {
                let none = Map::new();
                self.fields(node, table, properties.unwrap_or(&none), &required, key, findings);
            }
            (Kind::Table { .. }, _) => found(expected("a table"), None),
            (Kind::Named(inner), Value::Table(table)) => {
                for (name, (_, child)) in table {
                    self.walk(child, inner, &join(key, name), findings);
                }
            }
            (Kind::Named(_), _) => found(expected("a table of named tables"), None),
            (Kind::List { items, least, most }, Value::List(list)) => {
                if !(least..=most).contains(&list.len()) {
                    let allowed =
                        if least == most { format!("{least} items") } else { format!("{least} to {most} items") };
                    found(Problem::Value { found: format!("a list of {}", list.len()), allowed }, None);
                }
                for (i, item) in list.iter().enumerate() {
                    self.walk(item, items, &join(key, &i.to_string()), findings);
                }
            }
            (Kind::List { .. }, _) => found(expected("a list"), None),
            (Kind::Choice(alternatives), value) => self.choice(node, value, &alternatives, key, findings),
            (Kind::Algorithm, value) => algorithm(node, value, key, findings),
        }
    }

    fn fields(
        &self,
        node: &Node,
        table: &IndexMap<String, (Origin, Node)>,
        properties: &Map<String, Json>,
        required: &[&str],
        key: &str,
        findings: &mut Vec<Finding>,
    ) {
        // A misspelled key, and the required key that is absent for that reason, are one mistake.
        let mut meant = Vec::new();
        for (name, (origin, child)) in table {
            match properties.get(name) {
                Some(inner) => self.walk(child, inner, &join(key, name), findings),
                None => {
                    let allowed: Vec<String> = properties.keys().cloned().collect();
                    let nearest = nearest(name, allowed.iter().map(String::as_str));
                    meant.extend(nearest.clone());
                    let help = Some(one_of("expected one of", &allowed));
                    let problem = Problem::UnknownKey { found: name.clone(), nearest, allowed };
                    findings.push(Finding { key: key.to_owned(), problem, help, origin: origin.clone() });
                }
            }
        }
        for &name in required.iter().filter(|&&name| !table.contains_key(name) && !meant.iter().any(|m| m == name)) {
            let schema = &properties[name];
            let meaning = schema["description"].as_str().unwrap_or_default().to_owned();
            let mut help = format!("{name}: {}", meaning.trim_end_matches('.'));
            match self.kind(schema) {
                Kind::Quantity(q) => help += &format!("; {}", quantity_in_words(q)),
                Kind::Choice(alternatives) => {
                    help += &format!(
                        "; {}",
                        one_of("expected one of", &alternatives.iter().map(|a| a.name).collect::<Vec<_>>())
                    );
                }
                _ => {}
            }
            let problem = Problem::MissingKey { key: name.to_owned(), meaning };
            findings.push(Finding { key: key.to_owned(), problem, help: Some(help), origin: node.origin.clone() });
        }
    }

    fn choice(
        &self,
        node: &Node,
        value: &Value,
        alternatives: &[Alternative<'_>],
        key: &str,
        findings: &mut Vec<Finding>,
    ) {
        let names: Vec<&str> = alternatives.iter().map(|a| a.name).collect();
        let allowed = || Some(one_of("expected one of", &names));
        let mut found = |origin: &Origin, problem, help| {
            findings.push(Finding { key: key.to_owned(), problem, help, origin: origin.clone() });
        };
        let unknown = |name: &str| Problem::UnknownName {
            what: "alternative",
            found: name.to_owned(),
            nearest: nearest(name, names.iter().copied()),
            allowed: names.iter().map(|n| (*n).to_owned()).collect(),
        };
        match value {
            Value::Text(text) => match alternatives.iter().find(|a| a.name == text) {
                None => found(&node.origin, unknown(text), allowed()),
                Some(Alternative { name, inner: Some(inner) }) => {
                    let right = match self.kind(inner) {
                        Kind::Table { required, .. } if required.is_empty() => format!("{{ {name} = {{}} }}"),
                        Kind::Table { .. } => format!("{{ {name} = {{ ... }} }}"),
                        _ => format!("{{ {name} = ... }}"),
                    };
                    found(
                        &node.origin,
                        Problem::Conflict(format!("`{name}` without values: expected `{right}`")),
                        None,
                    );
                }
                Some(_) => {}
            },
            Value::Table(table) => {
                for (name, (origin, child)) in table {
                    match alternatives.iter().find(|a| a.name == name) {
                        None => found(origin, unknown(name), allowed()),
                        Some(Alternative { inner: Some(inner), .. }) if table.len() == 1 => {
                            self.walk(child, inner, &join(key, name), findings);
                            return;
                        }
                        Some(Alternative { inner: None, .. }) => {
                            found(
                                origin,
                                Problem::Conflict(format!("`{name}` with values: expected `\"{name}\"`")),
                                None,
                            );
                        }
                        Some(_) => {}
                    }
                }
                if table.len() != 1 {
                    let keys: Vec<&str> = table.keys().map(String::as_str).collect();
                    let what = match keys.len() {
                        0 => "no alternative".to_owned(),
                        _ => keys.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(" and "),
                    };
                    let problem = Problem::Conflict(format!("{what}: expected one alternative"));
                    found(&node.origin, problem, allowed());
                }
            }
            other => {
                let expected = "the name of an alternative, or a table with its name as the only key".to_owned();
                found(&node.origin, Problem::Type { expected, found: other.to_string() }, allowed());
            }
        }
    }
}

impl<'a> Alternative<'a> {
    fn of(schema: &'a Json) -> Vec<Self> {
        if let Some(name) = schema["const"].as_str() {
            return vec![Self { name, inner: None }];
        }
        if let Some(names) = schema["enum"].as_array() {
            return names.iter().filter_map(Json::as_str).map(|name| Self { name, inner: None }).collect();
        }
        let properties = schema["properties"].as_object();
        properties.map_or(vec![], |p| p.iter().map(|(name, inner)| Self { name, inner: Some(inner) }).collect())
    }
}

/// What is wrong with the name of an algorithm and its parameters, apart from who knows them.
fn algorithm(node: &Node, value: &Value, key: &str, findings: &mut Vec<Finding>) {
    let mut found = |key: String, origin: &Origin, problem, help: Option<&str>| {
        findings.push(Finding { key, problem, help: help.map(str::to_owned), origin: origin.clone() });
    };
    let table = match value {
        Value::Text(_) => return,
        Value::Table(table) => table,
        other => {
            let expected = "the name of an algorithm, or a table with its name and parameters".to_owned();
            return found(key.to_owned(), &node.origin, Problem::Type { expected, found: other.to_string() }, None);
        }
    };
    if !table.contains_key("name") {
        let meaning = "name of an algorithm".to_owned();
        let help = "the other keys are the parameters of an own algorithm: `{ name = \"mine\", depth = 3 }`";
        let problem = Problem::MissingKey { key: "name".to_owned(), meaning };
        found(key.to_owned(), &node.origin, problem, Some(help));
    }
    for (name, (_, child)) in table {
        let wrong = match &child.value {
            Value::Text(_) => None,
            value if name == "name" => Some(("a text in quotes", value)),
            _ => unusable(child).map(|value| ("numbers, texts, `true`, `false`, lists and tables", value)),
        };
        if let Some((expected, value)) = wrong {
            let problem = Problem::Type { expected: expected.to_owned(), found: value.to_string() };
            found(join(key, name), &child.origin, problem, None);
        }
    }
}

/// The first value that JSON, by which parameters are handed over, does not have.
fn unusable(node: &Node) -> Option<&Value> {
    match &node.value {
        Value::Bool(_) | Value::Text(_) => None,
        Value::Integer(i) => (i64::try_from(*i).is_err() && u64::try_from(*i).is_err()).then_some(&node.value),
        Value::Float(x) => (!x.is_finite()).then_some(&node.value),
        Value::Datetime(_) => Some(&node.value),
        Value::List(list) => list.iter().find_map(unusable),
        Value::Table(table) => table.values().find_map(|(_, child)| unusable(child)),
    }
}

fn quantity(name: &str, text: &str) -> Result<(), UnitError> {
    match name {
        "Duration" => text.parse::<Duration>().map(|_| ()),
        "Rate" => text.parse::<Rate>().map(|_| ()),
        _ => text.parse::<Bytes>().map(|_| ()),
    }
}

fn quantity_in_words(name: &str) -> &'static str {
    match name {
        "Duration" => "a duration with its unit, in quotes, such as \"20 us\"",
        "Rate" => "a rate with its unit, in quotes, such as \"10 Gb/s\"",
        _ => "a size with its unit, in quotes, such as \"46 kB\"",
    }
}

pub(crate) fn join(key: &str, segment: &str) -> String {
    if key.is_empty() { segment.to_owned() } else { format!("{key}.{segment}") }
}

pub(crate) fn one_of(what: &str, names: &[impl AsRef<str>]) -> String {
    if names.is_empty() {
        return "expected no keys".to_owned();
    }
    format!("{what}: {}", names.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", "))
}
