//! The headers of a Parquet column's pages, which the library believes: it takes as much memory as
//! they say. They are Thrift structures in the compact protocol, see the file `parquet.thrift` of
//! the Apache Parquet format.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// The longest header. Files of this crate have statistics by chunk, not in pages.
const LONGEST: usize = 4096;
/// Snappy's most efficient element writes 64 bytes for three.
const EXPANSION: i64 = 22;
/// Deepest structure in a header; real ones have three levels.
const DEEPEST: u32 = 8;

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

fn header(bytes: &[u8]) -> Result<Page, String> {
    let mut thrift = Thrift { bytes, at: 0 };
    let mut page = Page { kind: -1, ..Page::default() };
    thrift.fields(DEEPEST, &mut |thrift, id, kind| {
        match (id, kind) {
            // The library reads known fields as what they should be.
            (1..=4, _) if kind != I32 => return Err(format!("field {id} of its header is no number")),
            (1, I32) => page.kind = thrift.zigzag()?,
            (2, I32) => page.uncompressed = thrift.zigzag()?,
            (3, I32) => page.compressed = thrift.zigzag()?,
            // In each of these, the number of values is the first field. The encoding is the second
            // one, and the fourth one of the second version.
            (5 | 7 | 8, STRUCT) => {
                let encoding = if id == 8 { 4 } else { 2 };
                thrift.fields(DEEPEST, &mut |thrift, id, kind| {
                    match (id, kind) {
                        (1..=2, _) if kind != I32 => return Err("its header has no count or encoding".to_owned()),
                        (1..=6, _) if encoding == 4 && kind != I32 => {
                            return Err(format!("field {id} of its header is no number"));
                        }
                        (1, I32) => page.values = thrift.zigzag()?,
                        (_, I32) if id == encoding => page.encoding = thrift.zigzag()?,
                        _ => thrift.skip(kind, DEEPEST)?,
                    }
                    Ok(())
                })?;
            }
            _ => thrift.skip(kind, DEEPEST)?,
        }
        Ok(())
    })?;
    page.header = thrift.at as i64;
    Ok(page)
}

// Kinds of values.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;

/// Bytes in the compact protocol.
struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Thrift<'_> {
    fn byte(&mut self) -> Result<u8, String> {
        let byte = *self.bytes.get(self.at).ok_or("its header is too long")?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("its header has a number of more than 64 bits".to_owned())
    }

    fn zigzag(&mut self) -> Result<i64, String> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn forward(&mut self, bytes: u64) -> Result<(), String> {
        let left = self.bytes.len() - self.at;
        let bytes = usize::try_from(bytes).ok().filter(|b| *b <= left).ok_or("its header is too long")?;
        self.at += bytes;
        Ok(())
    }

    /// Calls `each` with the number and kind of every field of a structure.
    fn fields(
        &mut self,
        depth: u32,
        each: &mut dyn FnMut(&mut Self, i64, u8) -> Result<(), String>,
    ) -> Result<(), String> {
        if depth == 0 {
            return Err("its header is too deep".to_owned());
        }
        let mut id = 0i64;
        loop {
            let byte = self.byte()?;
            if byte == 0 {
                return Ok(());
            }
            id = match byte >> 4 {
                0 => self.zigzag()?,
                step => id.wrapping_add(i64::from(step)),
            };
            each(self, id, byte & 0x0f)?;
        }
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Result<(), String> {
        match kind {
            // In a field, the kind is the value.
            TRUE | FALSE => Ok(()),
            BYTE => self.forward(1),
            I16 | I32 | I64 => self.varint().map(drop),
            DOUBLE => self.forward(8),
            BINARY => {
                let bytes = self.varint()?;
                self.forward(bytes)
            }
            LIST | SET => {
                let byte = self.byte()?;
                let count = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
                let kind = byte & 0x0f;
                for _ in 0..count {
                    match kind {
                        TRUE | FALSE => self.forward(1)?,
                        _ if depth == 0 => return Err("its header is too deep".to_owned()),
                        _ => self.skip(kind, depth - 1)?,
                    }
                }
                Ok(())
            }
            STRUCT if depth > 0 => self.fields(depth, &mut |thrift, _, kind| thrift.skip(kind, depth - 1)),
            _ => Err(format!("its header has an unknown value {kind}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data page of 300 values, 1,000 bytes of which 400 are left: (5, 7, 9) are further fields.
    const HEADER: [u8; 17] =
        [0x15, 0x00, 0x15, 0xd0, 0x0f, 0x15, 0xa0, 0x06, 0x2c, 0x15, 0xd8, 0x04, 0x15, 0x00, 0x00, 0x00, 0xff];

    #[test]
    fn a_header_is_read_and_its_end_is_known() {
        let page = Page { kind: DATA, uncompressed: 1000, compressed: 400, values: 300, encoding: 0, header: 16 };
        assert_eq!(header(&HEADER), Ok(page));
        // The encoding is the fourth field of a page of the second version.
        let mut second = vec![0x15, 0x06, 0x15, 0x10, 0x15, 0x10, 0x5c];
        second.extend([0x15, 0x04, 0x15, 0x00, 0x15, 0x04, 0x15, 0x0e, 0x00, 0x00]);
        let page = Page { kind: DATA_V2, uncompressed: 8, compressed: 8, values: 2, encoding: 7, header: 17 };
        assert_eq!(header(&second), Ok(page));
        for length in 0..16 {
            header(&HEADER[..length]).unwrap_err();
        }
    }

    #[test]
    fn no_bytes_make_it_panic_or_go_on_forever() {
        for at in 0..HEADER.len() {
            for value in 0..=255 {
                let mut bytes = HEADER;
                bytes[at] = value;
                drop(header(&bytes));
            }
        }
        // Lists in lists, structures in structures, and a list of 2^63 booleans.
        drop(header(&[0x19; 4096]).unwrap_err());
        drop(header(&[0x1c; 4096]).unwrap_err());
        drop(header(&[&[0x19, 0xf1][..], &[0xff; 9], &[0x01; 100]].concat()).unwrap_err());
    }
}
