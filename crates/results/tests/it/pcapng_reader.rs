//! A reader of pcapng that shares no code with the writer. It reads the blocks and options of
//! draft-ietf-opsawg-pcapng, in either byte order.

// Each test file is a crate of its own and uses a part of this.
#![allow(dead_code)]

/// An interface of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub link_type: u16,
    pub name: String,
    pub description: String,
    pub speed: Option<u64>,
    /// Units of a second: ten to the power of minus this.
    pub resolution: u8,
}

/// A frame of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub interface: u32,
    pub at: u64,
    pub bytes: Vec<u8>,
    pub length: u32,
    pub comment: Option<String>,
    /// 1 in, 2 out.
    pub direction: Option<u32>,
}

/// Reads a capture of one section; panics where it is none.
pub fn read(file: &[u8]) -> (Vec<Interface>, Vec<Frame>) {
    let little = match file[8..12] {
        [0x4d, 0x3c, 0x2b, 0x1a] => true,
        [0x1a, 0x2b, 0x3c, 0x4d] => false,
        ref other => panic!("no byte order: {other:x?}"),
    };
    let number = |at: usize, length: usize| {
        let bytes = &file[at..at + length];
        let digit = |n: u64, b: &u8| n << 8 | u64::from(*b);
        if little { bytes.iter().rev().fold(0, digit) } else { bytes.iter().fold(0, digit) }
    };
    let options = |mut at: usize, end: usize| {
        let mut all = Vec::new();
        while at < end {
            let (code, length) = (number(at, 2), number(at + 2, 2) as usize);
            if code == 0 {
                assert_eq!((length, at + 4), (0, end), "what ends options is the last of them");
                break;
            }
            all.push((code, at + 4, length));
            at += 4 + length.next_multiple_of(4);
        }
        all
    };
    let text = |at: usize, length: usize| String::from_utf8(file[at..at + length].to_vec()).expect("UTF-8");
    let (mut interfaces, mut frames, mut at, mut sections) = (Vec::new(), Vec::new(), 0, 0);
    while at < file.len() {
        let (kind, length) = (number(at, 4), number(at + 4, 4) as usize);
        assert_eq!(length % 4, 0);
        assert_eq!(number(at + length - 4, 4) as usize, length, "a block says twice how long it is");
        let (body, end) = (at + 8, at + length - 4);
        match kind {
            0x0a0d_0d0a => {
                assert_eq!((number(body + 4, 2), number(body + 6, 2)), (1, 0), "version 1.0");
                sections += 1;
            }
            1 => {
                let mut one = Interface {
                    link_type: number(body, 2) as u16,
                    name: String::new(),
                    description: String::new(),
                    speed: None,
                    resolution: 6,
                };
                for (code, at, length) in options(body + 8, end) {
                    match code {
                        2 => one.name = text(at, length),
                        3 => one.description = text(at, length),
                        8 => one.speed = Some(number(at, 8)),
                        9 => one.resolution = file[at],
                        other => panic!("option {other} of an interface"),
                    }
                }
                interfaces.push(one);
            }
            6 => {
                let captured = number(body + 12, 4) as usize;
                let mut frame = Frame {
                    interface: number(body, 4) as u32,
                    at: number(body + 4, 4) << 32 | number(body + 8, 4),
                    bytes: file[body + 20..body + 20 + captured].to_vec(),
                    length: number(body + 16, 4) as u32,
                    comment: None,
                    direction: None,
                };
                assert!(captured <= frame.length as usize && (frame.interface as usize) < interfaces.len());
                for (code, at, length) in options(body + 20 + captured.next_multiple_of(4), end) {
                    match code {
                        1 => frame.comment = Some(text(at, length)),
                        2 => frame.direction = Some(number(at, 4) as u32 & 3),
                        other => panic!("option {other} of a frame"),
                    }
                }
                frames.push(frame);
            }
            other => panic!("block {other}"),
        }
        at += length;
    }
    assert_eq!(sections, 1);
    (interfaces, frames)
}
