//! The format of Chakra traces: protobuf messages (`schema/protobuf/et_def.proto` of
//! mlcommons/chakra, versions 0.0.1 to 0.0.4), each preceded by its length as a varint.
//!
//! The first message has metadata of the whole file; all others are nodes. Only the fields in use
//! are declared here; protobuf skips others.

use crate::error::{WorkloadError, shorten};
use crate::input::Input;
use prost::Message;

/// Message `GlobalMetadata`. No field is used, but the message must be present.
#[derive(Clone, PartialEq, Message)]
struct GlobalMetadata {
    #[prost(string, tag = "1")]
    version: String,
}

/// Message `Node` with the fields in use.
#[derive(Clone, PartialEq, Message)]
struct NodeMessage {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(string, tag = "2")]
    name: String,
    /// Number of a `NodeType`.
    #[prost(int32, tag = "3")]
    kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    ctrl_deps: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    data_deps: Vec<u64>,
    #[prost(uint64, tag = "7")]
    duration_micros: u64,
    #[prost(message, repeated, tag = "10")]
    attr: Vec<AttributeProto>,
}

/// Message `AttributeProto` with the fields in use.
#[derive(Clone, PartialEq, Message)]
struct AttributeProto {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(oneof = "AttributeValue", tags = "7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29")]
    value: Option<AttributeValue>,
}

/// Values that are whole numbers or texts. Traces differ in how they write the same attribute.
#[derive(Clone, PartialEq, prost::Oneof)]
enum AttributeValue {
    #[prost(int32, tag = "7")]
    Int32(i32),
    #[prost(int64, tag = "9")]
    Int64(i64),
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    #[prost(sfixed32, tag = "23")]
    Sfixed32(i32),
    #[prost(sfixed64, tag = "25")]
    Sfixed64(i64),
    #[prost(bool, tag = "27")]
    Bool(bool),
    #[prost(string, tag = "29")]
    Text(String),
}

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Describes something; takes no time.
    Metadata,
    /// Computes for some time; includes loads and stores of memory.
    Compute,
    /// Sends a message.
    Send,
    /// Receives a message.
    Receive,
    /// Takes part in a collective.
    Collective,
}

/// A node of a trace.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// Unique in its file.
    pub id: u64,
    /// Name for messages to users.
    pub name: String,
    /// Kind of the node.
    pub kind: Kind,
    /// Ids of nodes that it waits for (control).
    pub ctrl_deps: Vec<u64>,
    /// Ids of nodes that it waits for (data).
    pub data_deps: Vec<u64>,
    /// Duration in microseconds of a computation.
    pub duration_micros: u64,
    attributes: Vec<(String, Attribute)>,
}

/// Value of an attribute.
#[derive(Clone, Debug)]
enum Attribute {
    Number(i128),
    Text(String),
}

impl Record {
    /// Value of an attribute that is a whole number.
    pub(super) fn number(&self, name: &str) -> Option<i128> {
        self.attributes.iter().find(|a| a.0 == name).and_then(|(_, value)| match value {
            Attribute::Number(n) => Some(*n),
            Attribute::Text(_) => None,
        })
    }

    /// Value of an attribute that is a nonempty text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|a| a.0 == name).and_then(|(_, value)| match value {
            Attribute::Text(text) if !text.is_empty() => Some(text.as_str()),
            _ => None,
        })
    }

    fn of(input: &Input, number: u64, message: NodeMessage) -> Result<Self, WorkloadError> {
        let NodeMessage { id, name, kind, ctrl_deps, data_deps, duration_micros, attr } = message;
        let kind = match kind {
            1 => Kind::Metadata,
            2..=4 => Kind::Compute,
            5 => Kind::Send,
            6 => Kind::Receive,
            7 => Kind::Collective,
            other => {
                let found = format!("message {number}: node {id} `{}` is of type {other}", shorten(&name));
                let allowed =
                    "1 (metadata), 2 and 3 (memory), 4 (computation), 5 (send), 6 (receive) or 7 (collective)";
                return Err(input.file_error(found, allowed));
            }
        };
        let value = |value| match value {
            AttributeValue::Int32(n) | AttributeValue::Sint32(n) | AttributeValue::Sfixed32(n) => {
                Attribute::Number(n.into())
            }
            AttributeValue::Int64(n) | AttributeValue::Sint64(n) | AttributeValue::Sfixed64(n) => {
                Attribute::Number(n.into())
            }
            AttributeValue::Uint32(n) | AttributeValue::Fixed32(n) => Attribute::Number(n.into()),
            AttributeValue::Uint64(n) | AttributeValue::Fixed64(n) => Attribute::Number(n.into()),
            AttributeValue::Bool(b) => Attribute::Number(b.into()),
            AttributeValue::Text(text) => Attribute::Text(text),
        };
        let attributes = attr.into_iter().filter_map(|a| Some((a.name, value(a.value?)))).collect();
        Ok(Self { id, name, kind, ctrl_deps, data_deps, duration_micros, attributes })
    }
}

/// All nodes of a file.
pub(super) fn parse(input: &Input) -> Result<Vec<Record>, WorkloadError> {
    const WHOLE: &str = "messages of protobuf, each behind its length, as Chakra writes them";
    let mut rest = &input.bytes[..];
    let mut nodes = Vec::new();
    let mut number = 0u64;
    while !rest.is_empty() {
        number += 1;
        let place = input.bytes.len() - rest.len();
        let bad = |found: &str| input.file_error(format!("message {number}, at byte {place}: {found}"), WHOLE);
        let length = prost::decode_length_delimiter(&mut rest).map_err(|e| bad(&e.to_string()))?;
        if length > rest.len() {
            return Err(bad(&format!("the file ends after {} of its {length} bytes", rest.len())));
        }
        let (message, after) = rest.split_at(length);
        rest = after;
        let broken = |e: prost::DecodeError| bad(&shorten(&e.to_string()));
        if number == 1 {
            GlobalMetadata::decode(message).map_err(broken)?;
        } else {
            nodes.push(Record::of(input, number, NodeMessage::decode(message).map_err(broken)?)?);
        }
    }
    if number == 0 {
        return Err(input.file_error("the file is empty", WHOLE));
    }
    if nodes.is_empty() {
        return Err(input.file_error("there are no nodes", "at least one"));
    }
    Ok(nodes)
}
