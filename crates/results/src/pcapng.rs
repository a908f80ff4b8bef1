//! Writes frames as pcapng, the format of Wireshark's captures.
//!
//! Source: draft-ietf-opsawg-pcapng, "PCAP Next Generation Capture File Format". A file has a
//! section header, a description of each interface, and a block for each frame. Blocks consist of
//! 32-bit words, here in little-endian order on every machine. All interfaces are Ethernet
//! interfaces: frames start with the destination address and end before the check sequence. Times
//! are nanoseconds since the start of the run.

use crate::error::ResultsError;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const ETHERNET: u16 = 1;
/// Options of any block.
const COMMENT: u16 = 1;
/// Options of a section, an interface and a packet.
const APPLICATION: u16 = 4;
const NAME: u16 = 2;
const DESCRIPTION: u16 = 3;
const SPEED: u16 = 8;
const RESOLUTION: u16 = 9;
const FLAGS: u16 = 2;

/// Direction of a frame, as seen from the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received.
    In,
    /// Sent.
    Out,
}

/// An interface at which frames were captured.
#[derive(Clone, Copy, Debug)]
pub struct Interface<'a> {
    /// A short name, such as `eth0`.
    pub name: &'a str,
    /// The description that Wireshark shows, such as `host 3`.
    pub description: &'a str,
    /// Rate in bit/s, if the interface has one.
    pub bps: Option<u64>,
}

/// A captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Number of the interface, in the order in which they were added.
    pub interface: u32,
    /// Time of the capture, in nanoseconds since the start of the run.
    pub at_ns: u64,
    /// The first bytes of the frame without preamble: all of them, or as many as were kept.
    pub bytes: &'a [u8],
    /// Length of the whole frame in bytes, without preamble and check sequence; at least the length
    /// of `bytes`.
    pub length: u32,
    /// Direction, if it is known.
    pub direction: Option<Direction>,
    /// Comment on the frame; none if empty.
    pub comment: &'a str,
}

/// Writes a capture.
#[derive(Debug)]
pub struct PcapngWriter<W: Write> {
    out: W,
    interfaces: u32,
}

impl<W: Write> PcapngWriter<W> {
    /// Starts a capture.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = Self { out, interfaces: 0 };
        let mut body = BYTE_ORDER.to_le_bytes().to_vec();
        body.extend_from_slice(&1u16.to_le_bytes());
        body.extend_from_slice(&0u16.to_le_bytes());
        // The length of the section is unknown.
        body.extend_from_slice(&u64::MAX.to_le_bytes());
        option(&mut body, APPLICATION, b"timeplane");
        end_options(&mut body);
        writer.block(SECTION, &body)?;
        Ok(writer)
    }

    /// Adds an interface and returns its number. Add it before its frames.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn interface(&mut self, interface: &Interface<'_>) -> io::Result<u32> {
        let mut body = u32::from(ETHERNET).to_le_bytes().to_vec();
        // No limit on the bytes that are kept of a frame.
        body.extend_from_slice(&0u32.to_le_bytes());
        option(&mut body, NAME, interface.name.as_bytes());
        option(&mut body, DESCRIPTION, interface.description.as_bytes());
        if let Some(bps) = interface.bps {
            option(&mut body, SPEED, &bps.to_le_bytes());
        }
        // Units of 10^-9 seconds.
        option(&mut body, RESOLUTION, &[9]);
        end_options(&mut body);
        self.block(INTERFACE, &body)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// If the output cannot be written.
    ///
    /// # Panics
    /// If there is no such interface, or `bytes` is longer than `length`.
    pub fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        assert!(frame.interface < self.interfaces, "frames are seen on an interface");
        assert!(frame.bytes.len() <= frame.length as usize, "a frame has no more bytes than it is long");
        let mut body = Vec::with_capacity(64 + frame.bytes.len() + frame.comment.len());
        let (high, low) = ((frame.at_ns >> 32) as u32, frame.at_ns as u32);
        for word in [frame.interface, high, low, frame.bytes.len() as u32, frame.length] {
            body.extend_from_slice(&word.to_le_bytes());
        }
        body.extend_from_slice(frame.bytes);
        pad(&mut body);
        if !frame.comment.is_empty() {
            option(&mut body, COMMENT, frame.comment.as_bytes());
        }
        if let Some(direction) = frame.direction {
            let flags = match direction {
                Direction::In => 1u32,
                Direction::Out => 2,
            };
            option(&mut body, FLAGS, &flags.to_le_bytes());
        }
        end_options(&mut body);
        self.block(PACKET, &body)
    }

    /// Ends the capture and returns the writer.
    ///
    /// # Errors
    /// If the buffered rest cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let length = (body.len() as u32 + 12).to_le_bytes();
        for part in [&kind.to_le_bytes(), &length, body, &length] {
            self.out.write_all(part)?;
        }
        Ok(())
    }
}

/// Pads to a multiple of 32 bits.
fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Appends an option. Truncates values that are longer than its 16-bit length allows.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    pad(body);
}

fn end_options(body: &mut Vec<u8>) {
    body.extend_from_slice(&[0; 4]);
}

/// A capture in a file. Adding a frame never fails: [`finish`](Self::finish) returns the first
/// error.
#[derive(Debug)]
pub struct PcapngFile {
    path: PathBuf,
    writer: PcapngWriter<BufWriter<File>>,
    error: Option<io::Error>,
}

impl PcapngFile {
    /// Creates an empty capture, replacing an existing file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(path: &Path) -> Result<Self, ResultsError> {
        let file = File::create(path).map_err(|e| ResultsError::io("create", path, e))?;
        let writer = PcapngWriter::new(BufWriter::new(file)).map_err(|e| ResultsError::io("write", path, e))?;
        Ok(Self { path: path.to_owned(), writer, error: None })
    }

    /// Adds an interface and returns its number.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn interface(&mut self, interface: &Interface<'_>) -> Result<u32, ResultsError> {
        self.writer.interface(interface).map_err(|e| ResultsError::io("write", &self.path, e))
    }

    /// Adds a frame. After an error, frames are dropped.
    pub fn frame(&mut self, frame: &Frame<'_>) {
        if self.error.is_none() {
            self.error = self.writer.frame(frame).err();
        }
    }

    /// Writes the buffered rest and closes the file.
    ///
    /// # Errors
    /// The first error since the file was created, if any.
    pub fn finish(self) -> Result<(), ResultsError> {
        let done = match self.error {
            Some(error) => Err(error),
            None => self.writer.finish().map(drop),
        };
        done.map_err(|e| ResultsError::io("write", &self.path, e))
    }
}
