//! The agent's Unix socket, at which programs send and receive streams.
//!
//! A connection is one stream. The client sends its request as one line of JSON, of at most 4096
//! bytes and within ten seconds. Raw bytes follow. The agent's lines are JSON too. On an error it
//! sends `{"error": TEXT}` and closes the connection.
//!
//! **Sending.** `{"send": {"to": 3, "port": 0, "length": 1000}}`; the port is 0 where it is
//! missing, the length may be unknown. The agent answers `{"ok": {"stream": 1}}`, and what the
//! client writes then is the stream. The agent reads no more than it has room for. The stream ends
//! with its length, or where the client ends its writing half (`shutdown(SHUT_WR)`); `{"delivered":
//! 1000, "resent": 2}` says that the agent of the receiver has everything, and how many frames were
//! sent again. A client that closes before its stream has ended, or ends it before its length, has
//! abandoned it: the receiver never sees a stream that looks whole and is not. One that leaves
//! after the end and before `delivered` need not wait: the agent goes on for a minute.
//!
//! **Receiving.** `{"receive": {"port": 0}}` is answered by `{"ok": {}}` once streams at that port
//! are taken. When one comes, `{"from": 3, "length": 1000}` follows (`null` while its end is not
//! known), then its bytes. The end of the connection is the end of the stream. A stream that
//! breaks, as its sender has abandoned it or either agent has died, ends with a reset
//! (`ECONNRESET`) behind the last byte: the agent leaves the last byte of the request unread until
//! all is well, and Linux resets a Unix connection that is closed with unread bytes. So a client
//! should not write after its line. Of several clients at one port each stream has one.
//!
//! **Status.** `{"status": {}}` is answered by one line with the counters, and what waits by
//! destination.

mod connection;

#[cfg(test)]
mod tests;

use super::streams::Streams;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::Shutdown;
use std::ops::{Deref, DerefMut};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread::JoinHandle;

/// Maximum number of open connections.
pub const MAX_CONNECTIONS: usize = 1024;

/// State shared by the agent's loop and the threads of connections.
#[derive(Debug)]
pub struct Shared {
    streams: Mutex<Streams>,
    /// Wakes the loop when programs have given it work. It does not block.
    pub wake: EventFd,
    /// The agent's public state as JSON, for status requests. The loop renews it.
    pub shown: Mutex<serde_json::Value>,
}

impl Shared {
    /// Creates the shared state of an agent's loop and socket.
    ///
    /// # Errors
    /// If no file descriptor is left.
    pub fn new(streams: Streams) -> io::Result<Arc<Self>> {
        let wake = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Arc::new(Self { streams: Mutex::new(streams), wake, shown: Mutex::default() }))
    }

    /// Locks the streams, even if a thread has panicked.
    pub fn lock(&self) -> Locked<'_> {
        Locked { streams: Some(self.streams.lock().unwrap_or_else(PoisonError::into_inner)) }
    }

    /// Calls a function with the streams, and wakes the loop if necessary.
    pub fn with<T>(&self, f: impl FnOnce(&mut Streams) -> T) -> T {
        let mut streams = self.lock();
        let before = streams.attention();
        let result = f(&mut streams);
        let needed = streams.needs_loop(before);
        drop(streams);
        if needed {
            // This fails only if the counter of wake-ups is at its maximum, and then the loop wakes
            // anyway.
            let _ = self.wake.write(1);
        }
        result
    }
}

/// The locked streams of a host. Once they are unlocked, the programs wake whose streams have
/// changed.
#[derive(Debug)]
pub struct Locked<'a> {
    /// `None` only while the value is dropped.
    streams: Option<MutexGuard<'a, Streams>>,
}

impl Deref for Locked<'_> {
    type Target = Streams;
    fn deref(&self) -> &Streams {
        self.streams.as_ref().expect("it is locked until it is dropped")
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Streams {
        self.streams.as_mut().expect("it is locked until it is dropped")
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let woken = self.take_woken();
        // Who wakes needs the lock.
        self.streams = None;
        woken.into_iter().for_each(Waker::wake);
    }
}

/// The agent's socket. Dropping it closes the socket and all its connections.
#[derive(Debug)]
pub struct Api {
    path: PathBuf,
    /// Identity of the socket's file, so that another file in its place is not removed.
    inode: u64,
    stop: Arc<EventFd>,
    open: Arc<Open>,
    accepting: Option<JoinHandle<()>>,
}

/// The connections that are open.
#[derive(Debug, Default)]
struct Open {
    list: Mutex<Connections>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Connections {
    next: u64,
    stopped: bool,
    sockets: BTreeMap<u64, UnixStream>,
}

impl Open {
    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn is_stopped(&self) -> bool {
        self.lock().stopped
    }
}

/// Takes a connection from the list, however its thread ends.
struct Entry(Arc<Open>, u64);

impl Drop for Entry {
    fn drop(&mut self) {
        self.0.lock().sockets.remove(&self.1);
        self.0.changed.notify_all();
    }
}

impl Api {
    /// Opens the socket at a path, with these permissions (such as `0o660`). A file left by a dead
    /// agent is replaced.
    ///
    /// # Errors
    /// If another agent answers there (`AddrInUse`), the file is not a socket, or the path is not
    /// writable.
    pub fn start(path: &Path, shared: Arc<Shared>, mode: u32) -> io::Result<Self> {
        if let Ok(found) = std::fs::symlink_metadata(path) {
            let error = |kind, what| Err(io::Error::new(kind, format!("{}: {what}", path.display())));
            if !found.file_type().is_socket() {
                return error(io::ErrorKind::AlreadyExists, "there is a file that is no socket");
            }
            if UnixStream::connect(path).is_ok() {
                return error(io::ErrorKind::AddrInUse, "another agent answers there");
            }
        }
        // The socket gets its permissions before its final name, and replaces a stale one
        // atomically.
        let mut early = path.as_os_str().to_owned();
        early.push(format!(".{}", std::process::id()));
        let early = PathBuf::from(early);
        let _ = std::fs::remove_file(&early);
        let listener = UnixListener::bind(&early)?;
        let named = std::fs::set_permissions(&early, std::fs::Permissions::from_mode(mode))
            .and_then(|()| std::fs::rename(&early, path))
            .and_then(|()| std::fs::symlink_metadata(path));
        let inode = named.inspect_err(|_| drop(std::fs::remove_file(&early)))?.ino();
        listener.set_nonblocking(true)?;
        let stop = Arc::new(EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        let open = Arc::new(Open::default());
        let (stop_too, open_too) = (stop.clone(), open.clone());
        let accepting = std::thread::Builder::new()
            .name("api".to_owned())
            .spawn(move || accept_all(&listener, &shared, &stop_too, &open_too))?;
        Ok(Self { path: path.to_owned(), inode, stop, open, accepting: Some(accepting) })
    }

    /// Connections that are open.
    pub fn connections(&self) -> usize {
        self.open.lock().sockets.len()
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        if std::fs::symlink_metadata(&self.path).is_ok_and(|m| m.ino() == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
        let _ = self.stop.write(1);
        if let Some(thread) = self.accepting.take() {
            let _ = thread.join();
        }
        let mut list = self.open.lock();
        list.stopped = true;
        for socket in list.sockets.values() {
            // Not the writing half: to a program that receives, that would look like the end of its
            // stream.
            let _ = socket.shutdown(Shutdown::Read);
        }
        while !list.sockets.is_empty() {
            list = self.open.changed.wait(list).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn accept_all(listener: &UnixListener, shared: &Arc<Shared>, stop: &EventFd, open: &Arc<Open>) {
    loop {
        let mut fds = [PollFd::new(listener.as_fd(), PollFlags::POLLIN), PollFd::new(stop.as_fd(), PollFlags::POLLIN)];
        let _ = poll(&mut fds, PollTimeout::NONE);
        if fds[1].any() == Some(true) {
            return;
        }
        match listener.accept() {
            Ok((socket, _)) => serve(socket, shared, open),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            // Too many files are open: others have to be closed first.
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(50)),
        }
    }
}

/// Gives a connection a thread.
fn serve(mut socket: UnixStream, shared: &Arc<Shared>, open: &Arc<Open>) {
    let prepared = socket.set_nonblocking(false).and_then(|()| socket.try_clone());
    let Ok(known) = prepared else { return };
    let number = {
        let mut list = open.lock();
        if list.sockets.len() >= MAX_CONNECTIONS {
            drop(list);
            let _ =
                writeln!(socket, "{{\"error\":\"{MAX_CONNECTIONS} programs are connected, more are not allowed\"}}");
            return;
        }
        list.next += 1;
        let number = list.next;
        list.sockets.insert(number, known);
        number
    };
    let entry = Entry(open.clone(), number);
    let (shared, open) = (shared.clone(), open.clone());
    // A thread that does not start drops the entry and the socket with its closure.
    let _ = std::thread::Builder::new().name(format!("api {number}")).stack_size(256 * 1024).spawn(move || {
        let _entry = entry;
        connection::serve(socket, &shared, &|| open.is_stopped());
    });
}
