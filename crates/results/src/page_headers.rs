//! The headers of a Parquet column's pages, which the library believes: it takes as much memory as
//! they say. See `PageHeader` in the file `parquet.thrift` of the Apache Parquet format.

use crate::thrift::{BINARY, FALSE, I32, I64, STRUCT, TRUE, Thrift};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// The longest header. Files of this crate have statistics by chunk, not in pages.
const LONGEST: usize = 4096;
/// Snappy's most efficient element writes 64 bytes for three.
const EXPANSION: i64 = 22;
const DATA: i64 = 0;
const DICTIONARY: i64 = 2;
const DATA_V2: i64 = 3;

/// Encodings of texts by differences, DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY. The library
/// takes memory for as many texts as the page's content says.
const TEXTS_BY_DIFFERENCES: [i64; 2] = [6, 7];

/// What a header says of its page.
#[derive(Debug, Default, PartialEq, Eq)]
struct Page {
    kind: i64,
    uncompressed: i64,
    compressed: i64,
    values: i64,
    encoding: i64,
    /// Length of the header itself.
    header: i64,
}

/// Checks the pages of a column of `values` values, which are `length` bytes from `start`. They
/// fill these bytes, have these values, and expand to no more than their compression can. The error
/// continues a sentence that starts with the column.
pub(crate) fn check(file: &File, (start, length): (i64, i64), values: i64) -> Result<(), String> {
    let (mut at, end, mut seen) = (start, start + length, 0);
    while at < end {
        let page = read(file, at, end).map_err(|e| format!("has an invalid page at byte {at}: {e}"))?;
        let body = at + page.header;
        let wrong = |what: String| Err(format!("has a page at byte {at} with {what}"));
        if page.compressed < 0 || page.compressed > end - body {
            return wrong(format!("{} bytes: expected up to {}", page.compressed, end - body));
        }
        let most = page.compressed * EXPANSION + 64;
        if !(0..=most).contains(&page.uncompressed) {
            return wrong(format!("{} uncompressed bytes: expected up to {most}", page.uncompressed));
        }
        match page.kind {
            DATA | DATA_V2 => {
                seen += page.values;
                if page.values < 0 || seen > values {
                    return wrong(format!("{} values: expected {values} in all", page.values));
                }
                if TEXTS_BY_DIFFERENCES.contains(&page.encoding) {
                    return wrong("texts by differences: expected them plain or in a dictionary".to_owned());
                }
            }
            // Texts have their length with them, in four bytes.
            DICTIONARY if !(0..=page.uncompressed).contains(&page.values) => {
                return wrong(format!("{} dictionary entries in {} bytes", page.values, page.uncompressed));
            }
            _ => {}
        }
        at = body + page.compressed;
    }
    if seen == values { Ok(()) } else { Err(format!("has pages of {seen} values: expected {values}")) }
}

fn read(mut file: &File, at: i64, end: i64) -> Result<Page, String> {
    let most = usize::try_from(end - at).unwrap_or(LONGEST).min(LONGEST);
    let mut bytes = vec![0; most];
    let mut fill = |bytes: &mut [u8]| -> io::Result<()> {
        file.seek(SeekFrom::Start(at as u64))?;
        file.read_exact(bytes)
    };
    fill(&mut bytes).map_err(|e| e.to_string())?;
    header(&bytes)
}

/// Reads a header strictly: fields in order, each of its kind, and the header of one kind of page.
/// The library is lax with all of these, and would read other values than this program checks.
fn header(bytes: &[u8]) -> Result<Page, String> {
    let mut thrift = Thrift::new(bytes, "header");
    let mut page = Page { kind: -1, ..Page::default() };
    let mut of = None;
    thrift.fields(&mut |thrift, id, kind| {
        match (id, kind) {
            (1, I32) => page.kind = thrift.number()?,
            (2, I32) => page.uncompressed = thrift.number()?,
            (3, I32) => page.compressed = thrift.number()?,
            // The checksum.
            (4, I32) => drop(thrift.number()?),
            (5 | 7 | 8, STRUCT) if of.is_none() => {
                of = Some(id);
                thrift.of_kind(id, &mut page)?;
            }
            _ => return Err(format!("field {id} of its header has the wrong type")),
        }
        Ok(())
    })?;
    let expected = match page.kind {
        DATA => 5,
        DICTIONARY => 7,
        DATA_V2 => 8,
        other => return Err(format!("it is of the unknown type {other}")),
    };
    if of != Some(expected) {
        return Err("its header is not that of its type".to_owned());
    }
    page.header = thrift.at as i64;
    Ok(page)
}

impl Thrift<'_> {
    /// Reads the structure for one kind of page: field 5 is of data pages, 7 of dictionaries, and 8
    /// of the second version of data pages.
    fn of_kind(&mut self, which: i64, page: &mut Page) -> Result<(), String> {
        // The last of the numbers, and the fields of the encoding, a flag and statistics.
        let (last, encoding, flag, statistics) = match which {
            5 => (4, 2, 0, 5),
            7 => (2, 2, 3, 0),
            _ => (6, 4, 7, 8),
        };
        self.fields(&mut |thrift, id, kind| {
            match (id, kind) {
                (1, I32) => page.values = thrift.number()?,
                (_, I32) if id == encoding => page.encoding = thrift.number()?,
                (_, I32) if id <= last => drop(thrift.number()?),
                (_, TRUE | FALSE) if id == flag => {}
                (_, STRUCT) if id == statistics => thrift.fields(&mut Self::of_statistics)?,
                _ => return Err(format!("field {id} of its header has the wrong type")),
            }
            Ok(())
        })
    }

    /// Passes over a field of statistics.
    fn of_statistics(thrift: &mut Thrift<'_>, _: i64, kind: u8) -> Result<(), String> {
        match kind {
            // The type is the value.
            TRUE | FALSE => Ok(()),
            I64 => thrift.varint().map(drop),
            BINARY => {
                let bytes = thrift.varint()?;
                thrift.forward(bytes)
            }
            _ => Err(format!("its statistics have a field of type {kind}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data page of 300 values, 1,000 bytes of which 400 are left, plain, without statistics.
    const HEADER: [u8; 20] = [
        0x15, 0x00, 0x15, 0xd0, 0x0f, 0x15, 0xa0, 0x06, 0x2c, 0x15, 0xd8, 0x04, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0,
        0,
    ];
    /// A data page of the second version, of two texts by differences in 8 bytes.
    const SECOND: [u8; 21] =
        [0x15, 6, 0x15, 16, 0x15, 16, 0x5c, 0x15, 4, 0x15, 0, 0x15, 4, 0x15, 14, 0x15, 0, 0x15, 0, 0, 0];

    fn data(encoding: i64) -> Page {
        Page { kind: DATA, uncompressed: 1000, compressed: 400, values: 300, encoding, header: 20 }
    }

    #[test]
    fn a_header_is_read_and_its_end_is_known() {
        assert_eq!(header(&HEADER), Ok(data(0)));
        assert_eq!(header(&[&HEADER[..], &[0xff; 9]].concat()), Ok(data(0)));
        let page = Page { kind: DATA_V2, uncompressed: 8, compressed: 8, values: 2, encoding: 7, header: 21 };
        assert_eq!(header(&SECOND), Ok(page));
        // With a checksum, and with statistics: two texts and a count.
        let whole =
            [&HEADER[..8], &[0x15, 2, 0x1c], &HEADER[9..18], &[0x1c, 0x18, 1, 65, 0x18, 1, 66, 0x16, 0, 0, 0, 0]];
        assert_eq!(header(&whole.concat()), Ok(Page { header: 32, ..data(0) }));
        for length in 0..HEADER.len() {
            header(&HEADER[..length]).unwrap_err();
        }
    }

    #[test]
    fn what_the_library_would_read_otherwise_is_refused() {
        let with = |at: usize, bytes: &[u8]| [&SECOND[..at], bytes, &SECOND[at + bytes.len()..]].concat();
        for (other, why) in [
            // A double as the number of rows, and a structure as the number of values.
            (with(11, &[0x17]), "field 3 of its header has the wrong type"),
            (with(7, &[0x1c]), "field 1 of its header has the wrong type"),
            // As a dictionary's header, it has a number where that has a flag.
            (with(6, &[0x4c]), "field 3 of its header has the wrong type"),
            // The header of a data page of the second version for one of the first.
            (with(1, &[0]), "its header is not that of its type"),
            (with(1, &[2]), "it is of the unknown type 1"),
            // A field again, and one whose number has more than 16 bits.
            (with(9, &[0x05, 0x02]), "field 1 of its header comes after field 1"),
            ([&SECOND[..9], &[0x05, 0x88, 0x80, 8]].concat(), "field 65540 of its header comes after field 1"),
            // An encoding of 2^32 + 7.
            (
                [&SECOND[..14], &[0x8e, 0x80, 0x80, 0x80, 0x20]].concat(),
                "its header has 4294967303, which is too large",
            ),
        ] {
            assert_eq!(header(&other), Err(why.to_owned()));
        }
        let twice = [&SECOND[..6], &[0x4c, 0x15, 2, 0x15, 0, 0, 0x1c], &SECOND[7..]].concat();
        assert!(header(&twice).is_err(), "two headers of pages");
    }

    #[test]
    fn no_bytes_make_it_panic_or_go_on_forever() {
        for whole in [&HEADER[..], &SECOND] {
            for at in 0..whole.len() {
                for value in 0..=255 {
                    let mut bytes = whole.to_vec();
                    bytes[at] = value;
                    drop(header(&bytes));
                }
            }
        }
        // Structures in structures, and a text that is longer than the header.
        drop(header(&[0x1c; 4096]).unwrap_err());
        drop(header(&[&HEADER[..18], &[0x1c, 0x18, 0xff, 0x7f]].concat()).unwrap_err());
    }
}
