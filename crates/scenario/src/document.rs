//! A scenario before it has a type: a tree of values with their locations. Overrides and sweeps
//! change this tree, so that every later error still points at the text that caused it.

use indexmap::IndexMap;
use serde_json::Value as Json;
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Location of a value: the number of a source, and a range of bytes. Values from JSON have none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Origin {
    pub source: Option<usize>,
    pub span: Range<usize>,
}

/// A value and its location.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub value: Value,
    pub origin: Origin,
}

/// A value of TOML or JSON.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    /// TOML's dates and times, which no key accepts.
    Datetime(String),
    List(Vec<Node>),
    /// Keys in the order of the source, each with its own location.
    Table(IndexMap<String, (Origin, Node)>),
}

impl Node {
    pub fn table(origin: Origin) -> Self {
        Self { value: Value::Table(IndexMap::new()), origin }
    }

    pub fn parse(text: &str, source: usize) -> Result<Self, toml::de::Error> {
        let table = DeTable::parse(text)?;
        let origin = Origin { source: Some(source), span: 0..0 };
        Ok(Self { value: from_table(table.get_ref(), source), origin })
    }

    /// Parses the value on the right of an equals sign; a value that is not TOML is a text.
    pub fn parse_value(text: &str, source: usize, span: Range<usize>) -> Self {
        let origin = Origin { source: Some(source), span };
        let value = match DeValue::parse(text.trim()) {
            Ok(value) if !value.get_ref().is_datetime() => from_value(value.get_ref(), source),
            _ => Value::Text(text.trim().to_owned()),
        };
        let mut node = Self { value, origin: origin.clone() };
        node.place(&origin);
        node
    }

    /// Assigns all values within the same location.
    fn place(&mut self, origin: &Origin) {
        self.origin = origin.clone();
        match &mut self.value {
            Value::List(list) => list.iter_mut().for_each(|n| n.place(origin)),
            Value::Table(table) => {
                for (key, node) in table.values_mut() {
                    *key = origin.clone();
                    node.place(origin);
                }
            }
            _ => {}
        }
    }

    /// Converts from JSON; a key with value null counts as absent.
    pub fn from_json(json: &Json) -> Self {
        let value = match json {
            Json::Null => Value::Text("null".to_owned()),
            Json::Bool(b) => Value::Bool(*b),
            Json::Number(n) => match (n.as_i64(), n.as_u64()) {
                (Some(i), _) => Value::Integer(i.into()),
                (None, Some(u)) => Value::Integer(u.into()),
                (None, None) => Value::Float(n.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(s) => Value::Text(s.clone()),
            Json::Array(list) => Value::List(list.iter().map(Self::from_json).collect()),
            Json::Object(map) => Value::Table(
                map.iter()
                    .filter(|(_, v)| !v.is_null())
                    .map(|(k, v)| (k.clone(), (Origin::default(), Self::from_json(v))))
                    .collect(),
            ),
        };
        Self { value, origin: Origin::default() }
    }

    /// Converts to JSON. Infinities and integers beyond 64 bits, which the shape check has
    /// rejected, become null.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Bool(b) => Json::Bool(*b),
            Value::Integer(i) => match (i64::try_from(*i), u64::try_from(*i)) {
                (Ok(i), _) => i.into(),
                (_, Ok(u)) => u.into(),
                _ => Json::Null,
            },
            Value::Float(f) => serde_json::Number::from_f64(*f).map_or(Json::Null, Json::Number),
            Value::Text(s) | Value::Datetime(s) => Json::String(s.clone()),
            Value::List(list) => list.iter().map(Self::to_json).collect(),
            Value::Table(table) => Json::Object(table.iter().map(|(k, (_, v))| (k.clone(), v.to_json())).collect()),
        }
    }

    /// The value of a key, or of an index of a list.
    pub fn child(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Table(table) => table.get(key).map(|(_, node)| node),
            Value::List(list) => list.get(key.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// The value at a dotted key.
    pub fn at(&self, key: &str) -> Option<&Self> {
        key.split('.').try_fold(self, |node, segment| node.child(segment))
    }

    /// Location of the value at a dotted key, or of the innermost table above it that has one.
    pub fn origin_of(&self, key: &str) -> &Origin {
        let mut node = self;
        let mut origin = &self.origin;
        for segment in key.split('.') {
            match node.child(segment) {
                Some(child) => node = child,
                None => break,
            }
            origin = &node.origin;
        }
        origin
    }
}

fn from_table(table: &DeTable<'_>, source: usize) -> Value {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let key: &Spanned<std::borrow::Cow<'_, str>> = key;
        (key.get_ref().to_string(), (Origin { source: Some(source), span: key.span() }, from_spanned(value, source)))
    };
    Value::Table(table.iter().map(entry).collect())
}

fn from_spanned(value: &Spanned<DeValue<'_>>, source: usize) -> Node {
    Node { value: from_value(value.get_ref(), source), origin: Origin { source: Some(source), span: value.span() } }
}

fn from_value(value: &DeValue<'_>, source: usize) -> Value {
    match value {
        DeValue::String(s) => Value::Text(s.to_string()),
        DeValue::Integer(i) => match i128::from_str_radix(i.as_str(), i.radix()) {
            Ok(i) => Value::Integer(i),
            Err(_) => Value::Float(f64::INFINITY),
        },
        DeValue::Float(f) => Value::Float(f.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(d) => Value::Datetime(d.to_string()),
        DeValue::Array(list) => Value::List(list.iter().map(|v| from_spanned(v, source)).collect()),
        DeValue::Table(table) => from_table(table, source),
    }
}

/// Describes a value for messages.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(b) => write!(f, "`{b}`"),
            Self::Integer(i) => write!(f, "the whole number {i}"),
            Self::Float(x) => write!(f, "the number {x}"),
            Self::Text(s) if s.chars().count() <= 40 => write!(f, "the text {s:?}"),
            Self::Text(_) => write!(f, "a long text"),
            Self::Datetime(d) => write!(f, "the date or time {d}"),
            Self::List(_) => write!(f, "a list"),
            Self::Table(_) => write!(f, "a table"),
        }
    }
}
