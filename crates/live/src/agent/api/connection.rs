//! One connection of a program to the agent's socket: reads its request, and then sends or receives
//! the stream on a thread of its own.

use super::{Locked, Shared};
use crate::agent::streams::{Awaited, IncomingId, ListenerId, Outgoing, Read as StreamRead, StreamError, StreamId};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, recv};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use timeplane_model::HostId;

/// Maximum length of a request, in bytes.
const MAX_REQUEST: usize = 4096;
/// Maximum time that a client may take to send its request.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// How often a waiting thread checks whether its client is still connected.
const LOOK: Duration = Duration::from_millis(200);
/// How long a finished stream is still delivered after its client has left.
const LINGER: Duration = Duration::from_secs(60);
/// Bytes per read or write.
const PIECE: usize = 64 * 1024;

#[derive(Deserialize, Debug)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    Send {
        to: u32,
        #[serde(default)]
        port: u16,
        #[serde(default)]
        length: Option<u64>,
    },
    Receive {
        #[serde(default)]
        port: u16,
    },
    Status {},
}

/// Why a connection ends early.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The request or its stream failed; the client is told.
    #[error("{0}")]
    Request(String),
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The client is gone, or the agent ends.
    #[error("the program has disconnected: {0}")]
    Gone(#[from] io::Error),
}

fn gone(what: &str) -> Failure {
    Failure::Gone(io::Error::new(ErrorKind::BrokenPipe, what.to_owned()))
}

/// A client's connection and the agent's state.
struct Client<'a> {
    socket: UnixStream,
    shared: &'a Shared,
    is_stopped: &'a dyn Fn() -> bool,
    /// Wakes the thread of this connection.
    waker: Waker,
}

/// The thread of a connection.
struct Connection(Thread);

impl Wake for Connection {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Serves a client's request.
pub(super) fn serve(socket: UnixStream, shared: &Shared, is_stopped: &dyn Fn() -> bool) {
    let waker = Arc::new(Connection(thread::current())).into();
    let mut client = Client { socket, shared, is_stopped, waker };
    let result = client.request().and_then(|request| match request {
        Request::Send { to, port, length } => client.send(HostId(to), port, length),
        Request::Receive { port } => client.receive(port),
        Request::Status {} => client.status(),
    });
    match result {
        Ok(()) | Err(Failure::Gone(_)) => {}
        Err(why) => drop(client.say(&json!({ "error": why.to_string() }))),
    }
}

impl Client<'_> {
    /// Reads the request, up to and without its line feed.
    fn request(&mut self) -> Result<Request, Failure> {
        self.socket.set_write_timeout(Some(LOOK))?;
        let until = Instant::now() + REQUEST_TIME;
        let (mut line, mut piece) = (Vec::new(), [0; MAX_REQUEST]);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Failure::Request("no request came within ten seconds".to_owned()));
            }
            self.socket.set_read_timeout(Some(left.min(LOOK)))?;
            let n = match recv(self.socket.as_raw_fd(), &mut piece, MsgFlags::MSG_PEEK).map_err(io::Error::from) {
                Ok(0) => return Err(gone("before it asked for anything")),
                Ok(n) => n,
                Err(e) if is_wait(&e) && !(self.is_stopped)() => continue,
                Err(e) => return Err(e.into()),
            };
            let end = piece[..n].iter().position(|&b| b == b'\n');
            let taken = end.unwrap_or(n);
            if line.len() + taken > MAX_REQUEST {
                return Err(Failure::Request(format!("a request has at most {MAX_REQUEST} bytes")));
            }
            self.socket.read_exact(&mut piece[..taken])?;
            line.extend_from_slice(&piece[..taken]);
            if end.is_some() {
                break;
            }
        }
        serde_json::from_slice(&line).map_err(|e| {
            Failure::Request(format!(
                "a request is one line such as {{\"send\": {{\"to\": 3}}}}, with send, receive or status: {e}"
            ))
        })
    }

    fn take_line_feed(&mut self) -> io::Result<()> {
        self.socket.read_exact(&mut [0])
    }

    fn say(&mut self, value: &Value) -> io::Result<()> {
        self.put(format!("{value}\n").as_bytes())
    }

    /// Writes everything, unless the agent ends meanwhile.
    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.socket.write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(e) if is_wait(&e) && !(self.is_stopped)() => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Whether both halves of the connection are closed at the client's end.
    fn is_gone(&self) -> bool {
        let mut fds = [PollFd::new(self.socket.as_fd(), PollFlags::empty())];
        let _ = poll(&mut fds, PollTimeout::ZERO);
        fds[0].revents().is_some_and(|r| r.intersects(PollFlags::POLLHUP | PollFlags::POLLERR))
    }

    /// Waits until something happens, or for a short time.
    fn wait(&self, mut streams: Locked<'_>, what: Awaited) {
        streams.watch(what, &self.waker);
        drop(streams);
        thread::park_timeout(LOOK);
    }

    fn send(&mut self, to: HostId, port: u16, length: Option<u64>) -> Result<(), Failure> {
        self.take_line_feed()?;
        let id = self.shared.with(|s| s.open(to, port, length))?;
        let result = self.send_stream(id, length);
        // Complete or abandoned: the stream no longer exists here.
        self.shared.with(|s| s.abandon(id));
        result
    }

    fn send_stream(&mut self, id: StreamId, length: Option<u64>) -> Result<(), Failure> {
        self.say(&json!({ "ok": { "stream": id.number() } }))?;
        self.socket.set_read_timeout(Some(LOOK))?;
        let mut piece = vec![0; PIECE];
        let mut taken = 0;
        while length != Some(taken) {
            let n = match self.socket.read(&mut piece) {
                Ok(n) => n,
                Err(e) if is_wait(&e) => {
                    self.check(id)?;
                    continue;
                }
                Err(e) => return Err(e.into()),
            };
            if n == 0 {
                if self.is_gone() || (self.is_stopped)() {
                    return Err(gone("before its stream ended"));
                }
                if let Some(length) = length {
                    return Err(Failure::Request(format!("the stream ended after {taken} of {length} bytes")));
                }
                self.shared.with(|s| s.finish(id));
                break;
            }
            self.write(id, &piece[..n])?;
            taken += n as u64;
        }
        let mut left_at = None;
        loop {
            let state = self.check_state(id)?;
            if state.complete {
                // A client that is gone does not get it.
                let _ = self.say(&json!({ "delivered": state.accepted, "resent": state.resent }));
                return Ok(());
            }
            if self.is_gone() && left_at.get_or_insert_with(Instant::now).elapsed() > LINGER {
                return Err(gone("before its stream was delivered"));
            }
            let streams = self.shared.lock();
            if streams.outgoing(id) == Some(state) {
                self.wait(streams, Awaited::Delivered(id));
            }
        }
    }

    /// Writes bytes to the send buffer as room becomes available.
    fn write(&self, id: StreamId, mut bytes: &[u8]) -> Result<(), Failure> {
        loop {
            let n = self.shared.with(|s| s.write(id, bytes))?;
            bytes = &bytes[n..];
            if bytes.is_empty() {
                return Ok(());
            }
            let state = self.check(id)?;
            let streams = self.shared.lock();
            if streams.outgoing(id) == Some(state) {
                self.wait(streams, Awaited::Room(id));
            }
        }
    }

    /// Progress of a stream whose client is still connected.
    fn check(&self, id: StreamId) -> Result<Outgoing, Failure> {
        if self.is_gone() {
            return Err(gone("before its stream ended"));
        }
        self.check_state(id)
    }

    fn check_state(&self, id: StreamId) -> Result<Outgoing, Failure> {
        if (self.is_stopped)() {
            return Err(Failure::Request("the agent ends".to_owned()));
        }
        let streams = self.shared.lock();
        let state = streams.outgoing(id).ok_or_else(|| gone("its stream is not open"))?;
        if state.given_up { Err(streams.given_up(state.to).into()) } else { Ok(state) }
    }

    fn receive(&mut self, port: u16) -> Result<(), Failure> {
        let listener = self.shared.with(|s| s.listen(port))?;
        let accepted = self.say(&json!({ "ok": {} })).map_err(Failure::from).and_then(|()| self.accept(listener));
        self.shared.with(|s| s.stop_listening(listener));
        let id = accepted?;
        let result = self.receive_stream(id);
        self.shared.with(|s| s.close(id));
        result
    }

    fn accept(&self, listener: ListenerId) -> Result<IncomingId, Failure> {
        loop {
            if self.is_gone() || (self.is_stopped)() {
                return Err(gone("before a stream came"));
            }
            if let Some(id) = self.shared.with(|s| s.accept(listener)) {
                return Ok(id);
            }
            let streams = self.shared.lock();
            if !streams.offers(listener) {
                self.wait(streams, Awaited::Offer(listener));
            }
        }
    }

    fn receive_stream(&mut self, id: IncomingId) -> Result<(), Failure> {
        let length = self.shared.lock().incoming_length(id);
        self.say(&json!({ "from": id.from().0, "length": length }))?;
        let mut piece = vec![0; PIECE];
        loop {
            match self.shared.with(|s| s.read(id, &mut piece)) {
                StreamRead::Bytes(n) => self.put(&piece[..n])?,
                StreamRead::End => break,
                // The unread byte of the request turns the close into a reset.
                StreamRead::Broken => return Ok(()),
                StreamRead::Nothing => {
                    if self.is_gone() || (self.is_stopped)() {
                        return Err(gone("before the stream ended"));
                    }
                    let streams = self.shared.lock();
                    if !streams.is_readable(id) {
                        self.wait(streams, Awaited::Readable(id));
                    }
                }
            }
        }
        // Success: reads the last byte, so that the close is not a reset.
        self.socket.set_nonblocking(true)?;
        while self.socket.read(&mut piece).is_ok_and(|n| n > 0) {}
        Ok(())
    }

    fn status(&mut self) -> Result<(), Failure> {
        self.take_line_feed()?;
        let status = {
            let streams = self.shared.lock();
            let waits =
                |(to, bytes): (HostId, timeplane_model::Bytes)| json!({ "to": to.0, "wire_bytes": bytes.get() });
            let backlog: Vec<Value> = streams.backlog().into_iter().map(waits).collect();
            let config = streams.config();
            json!({ "host": config.host.0, "epoch": config.epoch, "streams": streams.counters(), "backlog": backlog })
        };
        // The loop's own state is added.
        let mut all = self.shared.shown.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let status = match (all.as_object_mut(), status) {
            (Some(shown), Value::Object(now)) => {
                shown.extend(now);
                all
            }
            (_, status) => status,
        };
        Ok(self.say(&status)?)
    }
}

/// Whether a read has merely timed out.
fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
