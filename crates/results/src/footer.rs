//! The footer of a Parquet file, read strictly before the library reads it.
//!
//! The library passes over fields that it does not know, and reads others whatever their type. A
//! few bytes can then ask it for billions of elements. Here every field is one of the format's
//! (`FileMetaData` in its file `parquet.thrift`) and has its type.

use crate::thrift::{BINARY, FALSE, I32, I64, STRUCT, TRUE, Thrift};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

const I8: u8 = 3;
const I16: u8 = 4;
const LIST: u8 = 9;
const MAGIC: &[u8] = b"PAR1";

/// The type of a field.
#[derive(Clone, Copy)]
enum Kind {
    Bool,
    Byte,
    /// A number of 16 or 32 bits, which the protocol writes alike.
    Number(u8),
    Long,
    Bytes,
    List(&'static Kind),
    /// The types of its fields, by number from 1 on.
    Struct(&'static [Kind]),
    /// A choice among this many structures, none of which has fields.
    Empty(i64),
}

const NUMBER: Kind = Kind::Number(I32);
const KEY_VALUES: Kind = Kind::List(&Kind::Struct(&[Kind::Bytes, Kind::Bytes]));
/// Milliseconds, microseconds or nanoseconds.
const TIME: Kind = Kind::Struct(&[Kind::Bool, Kind::Empty(3)]);
const NOTHING: Kind = Kind::Struct(&[]);
/// Text, map, list, enum, decimal, date, time, timestamp, one that is not in use, integer, unknown,
/// JSON, BSON, UUID, half float, variant, geometry, geography.
const LOGICAL: &[Kind] = &[
    NOTHING,
    NOTHING,
    NOTHING,
    NOTHING,
    Kind::Struct(&[NUMBER, NUMBER]),
    NOTHING,
    TIME,
    TIME,
    NOTHING,
    Kind::Struct(&[Kind::Byte, Kind::Bool]),
    NOTHING,
    NOTHING,
    NOTHING,
    NOTHING,
    NOTHING,
    Kind::Struct(&[Kind::Byte]),
    Kind::Struct(&[Kind::Bytes]),
    Kind::Struct(&[Kind::Bytes, NUMBER]),
];
const SCHEMA_ELEMENT: &[Kind] =
    &[NUMBER, NUMBER, NUMBER, Kind::Bytes, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, Kind::Struct(LOGICAL)];
const STATISTICS: &[Kind] =
    &[Kind::Bytes, Kind::Bytes, Kind::Long, Kind::Long, Kind::Bytes, Kind::Bytes, Kind::Bool, Kind::Bool];
const SIZES: &[Kind] = &[Kind::Long, Kind::List(&Kind::Long), Kind::List(&Kind::Long)];
const COLUMN: &[Kind] = &[
    NUMBER,
    Kind::List(&NUMBER),
    Kind::List(&Kind::Bytes),
    NUMBER,
    Kind::Long,
    Kind::Long,
    Kind::Long,
    KEY_VALUES,
    Kind::Long,
    Kind::Long,
    Kind::Long,
    Kind::Struct(STATISTICS),
    Kind::List(&Kind::Struct(&[NUMBER, NUMBER, NUMBER])),
    Kind::Long,
    NUMBER,
    Kind::Struct(SIZES),
];
const COLUMN_CHUNK: &[Kind] = &[Kind::Bytes, Kind::Long, Kind::Struct(COLUMN), Kind::Long, NUMBER, Kind::Long, NUMBER];
const ROW_GROUP: &[Kind] = &[
    Kind::List(&Kind::Struct(COLUMN_CHUNK)),
    Kind::Long,
    Kind::Long,
    Kind::List(&Kind::Struct(&[NUMBER, Kind::Bool, Kind::Bool])),
    Kind::Long,
    Kind::Long,
    Kind::Number(I16),
];
const FILE: &[Kind] = &[
    NUMBER,
    Kind::List(&Kind::Struct(SCHEMA_ELEMENT)),
    Kind::Long,
    Kind::List(&Kind::Struct(ROW_GROUP)),
    KEY_VALUES,
    Kind::Bytes,
    Kind::List(&Kind::Empty(i64::MAX)),
];

/// Checks the footer of a file of this length. A file without a footer is left to the library.
///
/// # Errors
/// An error of the file system, or what is wrong with the footer.
pub(crate) fn check(mut file: &File, bytes: u64) -> io::Result<Result<(), String>> {
    let mut tail = [0; 8];
    let Some(at) = bytes.checked_sub(tail.len() as u64) else { return Ok(Ok(())) };
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut tail)?;
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let Some(start) = at.checked_sub(length).filter(|_| &tail[4..] == MAGIC) else { return Ok(Ok(())) };
    let mut footer = vec![0; length as usize];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut footer)?;
    Ok(structure(&mut Thrift::new(&footer, "footer"), FILE))
}

fn structure(thrift: &mut Thrift<'_>, fields: &[Kind]) -> Result<(), String> {
    thrift.fields(&mut |thrift, id, found| match fields.get(id as usize - 1) {
        Some(kind) => value(thrift, *kind, found, id),
        None => Err(format!("field {id} of its footer is unknown")),
    })
}

/// Reads a value of this kind, which is written as the type `found`.
fn value(thrift: &mut Thrift<'_>, kind: Kind, found: u8, id: i64) -> Result<(), String> {
    match (kind, found) {
        // The type is the value.
        (Kind::Bool, TRUE | FALSE) => Ok(()),
        (Kind::Byte, I8) => thrift.byte().map(drop),
        (Kind::Number(kind), _) if kind == found => thrift.number().map(drop),
        (Kind::Long, I64) => thrift.varint().map(drop),
        (Kind::Bytes, BINARY) => {
            let bytes = thrift.varint()?;
            thrift.forward(bytes)
        }
        (Kind::Struct(fields), STRUCT) => structure(thrift, fields),
        (Kind::Empty(choices), STRUCT) => thrift.fields(&mut |thrift, id, found| match found {
            STRUCT if id <= choices => structure(thrift, &[]),
            _ => Err(format!("field {id} of its footer has the wrong type")),
        }),
        (Kind::List(of), LIST) => {
            let first = thrift.byte()?;
            let count = if first >> 4 == 15 { thrift.varint()? } else { u64::from(first >> 4) };
            // Every element takes a byte at least.
            if count > thrift.left() as u64 {
                return Err(format!("field {id} of its footer has {count} elements"));
            }
            (0..count).try_for_each(|_| value(thrift, *of, first & 0x0f, id))
        }
        _ => Err(format!("field {id} of its footer has the wrong type")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<(), String> {
        structure(&mut Thrift::new(bytes, "footer"), FILE)
    }

    #[test]
    fn fields_have_the_formats_types() {
        // Version 2, a schema of one element with a name, no rows, no row groups.
        let whole = [0x15, 4, 0x19, 0x1c, 0x48, 1, 65, 0, 0x16, 0, 0x19, 0x0c, 0];
        assert_eq!(read(&whole), Ok(()));
        for length in 0..whole.len() {
            read(&whole[..length]).unwrap_err();
        }
        for at in 0..whole.len() {
            for value in 0..=255 {
                let mut bytes = whole;
                bytes[at] = value;
                drop(read(&bytes));
            }
        }
        let with = |at: usize, bytes: &[u8]| read(&[&whole[..at], bytes].concat()).unwrap_err();
        assert_eq!(with(0, &[0x16, 4]), "field 1 of its footer has the wrong type");
        assert_eq!(with(5, &[0x88, 1, 65]), "its footer is too long");
        assert_eq!(with(12, &[0x55, 2]), "field 9 of its footer is unknown");
    }

    #[test]
    fn a_few_bytes_ask_for_no_more_elements_than_they_have() {
        // A list of 2^34 booleans as a field that does not exist, and as the schema.
        let many = [0xf1, 0x80, 0x80, 0x80, 0x80, 0x40, 0];
        assert_eq!(read(&[&[0xf9][..], &many].concat()), Err("field 15 of its footer is unknown".to_owned()));
        let asked = read(&[&[0x29][..], &many].concat());
        assert_eq!(asked, Err("field 2 of its footer has 17179869184 elements".to_owned()));
    }
}
