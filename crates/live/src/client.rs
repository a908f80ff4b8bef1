//! Streams of a program through an agent, similar to sockets through the kernel.
//!
//! The agent listens on a Unix socket; each connection is a stream. It starts with a line of JSON,
//! and the stream's bytes follow.
//!
//! - A sender writes `{"send": {"to": HOST, "port": PORT, "length": BYTES or null}}`, reads `{"ok":
//!   {...}}` or `{"error": TEXT}`, writes bytes, and ends by shutting down its side. The agent then
//!   says `{"delivered": BYTES, "resent": FRAMES}` once the receiver has acknowledged all of them,
//!   with how many frames were sent again, or `{"error": TEXT}`.
//! - A receiver writes `{"receive": {"port": PORT}}`, reads `{"ok": {}}` once the agent listens,
//!   `{"from": HOST, "length": BYTES or null}` when a stream comes, then its bytes until the end. A
//!   stream that breaks ends with a reset.
//!
//! The Python counterpart is `timeplane.live`.

use serde::Deserialize;
use serde_json::json;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use timeplane_model::HostId;

/// Maximum length of a line of an agent, in bytes.
const LINE: u64 = 64 << 10;

/// A stream failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The agent cannot be reached.
    #[error("no agent at {}: {source}; check that `timeplane live agent` is running and that you may open its socket", path.display())]
    Connect {
        /// Path of its socket.
        path: PathBuf,
        /// The system's message.
        source: io::Error,
    },
    /// The agent refused the request or gave the stream up.
    #[error("the agent reports: {0}")]
    Refused(String),
    /// The agent ended or closed the connection early.
    #[error("the agent disconnected before {0}")]
    Gone(&'static str),
    /// The agent sent an invalid answer.
    #[error("unexpected answer {0:?}: expected that of an agent")]
    Nonsense(String),
    /// Some bytes have not arrived.
    #[error("received {got} B: expected {expected} B")]
    Short {
        /// Received bytes.
        got: u64,
        /// Length of the stream, in bytes.
        expected: u64,
    },
    /// More was written than declared.
    #[error("the stream was declared with {0} B, which have been written already")]
    Long(u64),
    /// The connection failed.
    #[error("the connection to the agent: {0}")]
    Io(#[from] io::Error),
}

impl From<ClientError> for io::Error {
    fn from(e: ClientError) -> Self {
        match e {
            ClientError::Io(e) => e,
            ClientError::Gone(_) | ClientError::Short { .. } => Self::new(io::ErrorKind::UnexpectedEof, e),
            ClientError::Long(_) => Self::new(io::ErrorKind::InvalidInput, e),
            e => Self::other(e),
        }
    }
}

/// An agent's socket.
#[derive(Clone, Debug)]
pub struct Agent {
    path: PathBuf,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Error { error: String },
    Ok { ok: serde_json::Value },
    Delivered { delivered: u64, resent: Option<u64> },
    From { from: u32, length: Option<u64> },
}

impl Agent {
    /// An agent whose socket has this path. Nothing is opened yet.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self { path: path.as_ref().to_owned() }
    }

    /// The public state of the agent, as JSON.
    ///
    /// # Errors
    /// If the agent cannot be reached, or its answer is not JSON.
    pub fn status(&self) -> Result<serde_json::Value, ClientError> {
        use std::io::{BufRead, BufReader, Write};
        let mut stream = std::os::unix::net::UnixStream::connect(&self.path)?;
        stream.write_all(b"{\"status\":{}}\n")?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(serde_json::from_str(&line).map_err(std::io::Error::other)?)
    }

    /// Opens a stream to a port of a host. `length` is the number of bytes that will be written, if
    /// known. The receiver learns it, and it is enforced.
    ///
    /// # Errors
    /// If the agent cannot be reached, or refuses.
    pub fn send(&self, to: HostId, port: u16, length: Option<u64>) -> Result<Sender, ClientError> {
        let request = json!({"send": {"to": to.0, "port": port, "length": length}});
        Ok(Sender { stream: self.ask(&request)?, written: 0, length })
    }

    /// Listens for one stream to a port. Senders find it once this returns.
    ///
    /// # Errors
    /// If the agent cannot be reached, or refuses.
    pub fn receive(&self, port: u16) -> Result<Receiver, ClientError> {
        let stream = self.ask(&json!({"receive": {"port": port}}))?;
        Ok(Receiver { stream, source: None, read: 0 })
    }

    fn ask(&self, request: &serde_json::Value) -> Result<BufReader<UnixStream>, ClientError> {
        let stream = UnixStream::connect(&self.path)
            .map_err(|source| ClientError::Connect { path: self.path.clone(), source })?;
        let mut stream = BufReader::with_capacity(64 << 10, stream);
        // An agent that refuses may close before it has read this; its answer counts.
        let written = stream.get_mut().write_all(format!("{request}\n").as_bytes());
        match answer(&mut stream, "it took the stream") {
            Ok(Answer::Ok { .. }) => written.map(|()| stream).map_err(ClientError::Io),
            Ok(other) => Err(nonsense(&other)),
            Err(e) => Err(e),
        }
    }
}

/// Reads a line of JSON. An `error` in it becomes an error.
fn answer(stream: &mut BufReader<UnixStream>, before: &'static str) -> Result<Answer, ClientError> {
    let mut line = Vec::new();
    match stream.by_ref().take(LINE).read_until(b'\n', &mut line) {
        Ok(_) => {}
        Err(e) if is_gone(&e) => return Err(ClientError::Gone(before)),
        Err(e) => return Err(e.into()),
    }
    match serde_json::from_slice(&line) {
        _ if line.is_empty() => Err(ClientError::Gone(before)),
        Ok(Answer::Error { error }) => Err(ClientError::Refused(error)),
        Ok(answer) if line.ends_with(b"\n") => Ok(answer),
        _ if !line.ends_with(b"\n") && (line.len() as u64) < LINE => Err(ClientError::Gone(before)),
        _ => Err(ClientError::Nonsense(String::from_utf8_lossy(&line).chars().take(80).collect())),
    }
}

fn nonsense(answer: &Answer) -> ClientError {
    ClientError::Nonsense(match answer {
        Answer::Error { error } => error.clone(),
        Answer::Ok { ok } => format!("ok: {ok}"),
        Answer::Delivered { delivered, .. } => format!("delivered: {delivered}"),
        Answer::From { from, .. } => format!("from: {from}"),
    })
}

fn is_gone(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof)
}

/// A stream that is being sent. Dropping it before [`finish`](Self::finish) aborts it.
#[derive(Debug)]
pub struct Sender {
    stream: BufReader<UnixStream>,
    written: u64,
    length: Option<u64>,
}

/// A stream that has been delivered to the receiver's agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Length of the stream.
    pub bytes: u64,
    /// Retransmitted frames.
    pub resent: u64,
}

impl Sender {
    /// Ends the stream, and waits until the receiver has acknowledged all of it; how many bytes
    /// that are.
    ///
    /// # Errors
    /// If the agent has ended, gave up, or says another number than was written; or fewer bytes
    /// were written than were told.
    pub fn finish(self) -> Result<u64, ClientError> {
        self.deliver().map(|delivery| delivery.bytes)
    }

    /// The same, with what it took.
    ///
    /// # Errors
    /// As that method.
    pub fn deliver(mut self) -> Result<Delivery, ClientError> {
        if let Some(expected) = self.length.filter(|&length| length != self.written) {
            return Err(ClientError::Short { got: self.written, expected });
        }
        match self.stream.get_ref().shutdown(Shutdown::Write) {
            Ok(()) => {}
            // What it said before it went is more to the point.
            Err(e) if is_gone(&e) || e.kind() == io::ErrorKind::NotConnected => {}
            Err(e) => return Err(e.into()),
        }
        match answer(&mut self.stream, "it said that all was delivered")? {
            Answer::Delivered { delivered, resent } if delivered == self.written => {
                Ok(Delivery { bytes: delivered, resent: resent.unwrap_or(0) })
            }
            Answer::Delivered { delivered, .. } => Err(ClientError::Short { got: delivered, expected: self.written }),
            other => Err(nonsense(&other)),
        }
    }
    /// For how long reads and writes wait at most; for ever where it is `None`.
    ///
    /// # Errors
    /// If it is zero.
    pub fn set_timeout(&self, timeout: Option<std::time::Duration>) -> io::Result<()> {
        let stream = self.stream.get_ref();
        stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout))
    }
}

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.length.map_or(u64::MAX, |length| length - self.written);
        let bytes = &bytes[..bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        if room == 0 {
            return Err(ClientError::Long(self.written).into());
        }
        match self.stream.get_mut().write(bytes) {
            Ok(n) => {
                self.written += n as u64;
                Ok(n)
            }
            // The agent may have sent the reason.
            Err(e) if is_gone(&e) => Err(match answer(&mut self.stream, "all was written") {
                Ok(other) => nonsense(&other).into(),
                Err(e) => e.into(),
            }),
            Err(e) => Err(e),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Origin of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Number of the sending host.
    pub host: HostId,
    /// Length of the stream in bytes, if the sender has declared it.
    pub length: Option<u64>,
}

/// A stream that is being received. Reading blocks until it arrives.
#[derive(Debug)]
pub struct Receiver {
    stream: BufReader<UnixStream>,
    source: Option<Source>,
    read: u64,
}

impl Receiver {
    /// Waits for a stream, and returns its origin.
    ///
    /// # Errors
    /// If the agent has ended, or gives up.
    pub fn source(&mut self) -> Result<Source, ClientError> {
        if let Some(source) = self.source {
            return Ok(source);
        }
        match answer(&mut self.stream, "a stream came")? {
            Answer::From { from, length } => Ok(*self.source.insert(Source { host: HostId(from), length })),
            other => Err(nonsense(&other)),
        }
    }
    /// For how long reads wait at most; for ever where it is `None`.
    ///
    /// # Errors
    /// If it is zero.
    pub fn set_timeout(&self, timeout: Option<std::time::Duration>) -> io::Result<()> {
        self.stream.get_ref().set_read_timeout(timeout)
    }
}

impl Read for Receiver {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let source = self.source()?;
        let n = match self.stream.read(buffer) {
            Err(e) if is_gone(&e) => return Err(ClientError::Gone("the stream was complete").into()),
            other => other?,
        };
        self.read += n as u64;
        match source.length {
            Some(expected) if n == 0 && !buffer.is_empty() && self.read < expected => {
                Err(ClientError::Short { got: self.read, expected }.into())
            }
            Some(expected) if self.read > expected => {
                Err(ClientError::Nonsense(format!("more than the {expected} B that were told")).into())
            }
            _ => Ok(n),
        }
    }
}

#[cfg(test)]
mod tests;
