//! The listening side of a demand channel.
//!
//! It accepts peers with a certificate of the same authority.

use super::counters::Counting;
use super::outbox::Outbox;
use super::pump::{Limits, Received, pump};
use super::strangers::{Admission, Progress, Source, Strangers};
use super::{ChannelError, Counters, Event, PeerId, Record, SendError, Timing, wait};
use crate::clock;
use crate::keys::{Identity, peer_name};
use crate::seldom::Seldom;
use crate::thread::Background;
use socket2::{Domain, Socket, Type};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// Accepts peers with a certificate of the same authority. No events follow once it is dropped.
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    /// Its thread ends when the value is dropped.
    _thread: Background,
}

struct Shared {
    peers: Mutex<BTreeMap<PeerId, Peer>>,
    next: AtomicU64,
    timing: Timing,
    counting: Counting,
    /// Limit of log lines about peers that send too much.
    slowed: Mutex<Seldom>,
    on_event: Box<dyn Fn(Event) + Send + Sync>,
}

struct Peer {
    name: String,
    outbox: Arc<Outbox>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Listens with the default [`Timing`]. Events are delivered on a thread of its own, even
    /// before this returns. To answer them, pass them to a thread that has the server. Any
    /// certificate of the authority is accepted; the event handler decides what a name may do.
    ///
    /// # Errors
    /// If the address is taken or not one of this machine, or no thread can be started.
    pub fn start(
        listen: SocketAddr,
        identity: &Identity,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Self, ChannelError> {
        Self::start_with(listen, identity, Timing::default(), on_event)
    }

    /// The same with another [`Timing`].
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(
        listen: SocketAddr,
        identity: &Identity,
        timing: Timing,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Self, ChannelError> {
        let failed = |source| ChannelError::Listen { address: listen, source };
        // Bound here, so that the caller learns of a taken address.
        let listener = bind(listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            peers: Mutex::default(),
            next: AtomicU64::new(0),
            timing,
            counting: Counting::default(),
            slowed: Mutex::default(),
            on_event: Box::new(on_event),
        });
        let identity = identity.clone();
        let thread = Background::start("tp-channel", {
            let shared = shared.clone();
            async move {
                if let Err(e) = accept(listener, identity, shared).await {
                    tracing::error!("cannot listen for the channel: {e}");
                }
            }
        })
        .map_err(|source| ChannelError::Start { source })?;
        Ok(Self { shared, address, _thread: thread })
    }

    /// Address of the server. Port 0 is replaced by the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// Queues a record for a peer. Never blocks: if the queue is full, its oldest control messages
    /// are dropped.
    ///
    /// # Errors
    /// If the peer is gone, the message cannot be encoded, or the peer is disconnected because its
    /// queue is full of notes.
    pub fn send(&self, peer: PeerId, record: Record) -> Result<(), SendError> {
        let outbox = self.shared.peers().get(&peer).map(|p| p.outbox.clone()).ok_or(SendError::Gone)?;
        outbox.push(&record, &self.shared.counting)
    }
    /// Ends a connection once queued records have been sent. The peer may reconnect.
    pub fn close(&self, peer: PeerId) {
        if let Some(peer) = self.shared.peers().get(&peer) {
            peer.outbox.finish("it was told to go");
        }
    }
    /// Names of connected peers, by number.
    pub fn peers(&self) -> Vec<(PeerId, String)> {
        self.shared.peers().iter().map(|(&id, peer)| (id, peer.name.clone())).collect()
    }
    /// Counters of the server.
    pub fn counters(&self) -> Counters {
        self.shared.counting.read()
    }
    /// A function that returns the counters, for users without the server such as a status page.
    pub fn count(&self) -> impl Fn() -> Counters + Clone + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.counting.read()
    }
}

impl Shared {
    fn peers(&self) -> MutexGuard<'_, BTreeMap<PeerId, Peer>> {
        // No event is delivered while the lock is held, and nothing under it panics.
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A peer has proved its name. Events are only told by the channel's one thread, so that they
    /// are in order.
    fn join(&self, name: &str) -> (PeerId, Arc<Outbox>) {
        let before: Option<(PeerId, Peer)> = {
            let mut peers = self.peers();
            let id = peers.iter().find(|(_, peer)| peer.name == name).map(|(&id, _)| id);
            id.and_then(|id| peers.remove_entry(&id))
        };
        if let Some((peer, before)) = before {
            let why = "it has connected once more";
            before.outbox.close(why);
            Counting::count(&self.counting.replaced);
            (self.on_event)(Event::Left { peer, why: why.to_owned() });
        }
        let peer = PeerId(self.next.fetch_add(1, Ordering::Relaxed));
        let outbox = Arc::new(Outbox::new(self.timing.queue));
        self.peers().insert(peer, Peer { name: name.to_owned(), outbox: outbox.clone() });
        Counting::count(&self.counting.joined);
        (self.on_event)(Event::Joined { peer, name: name.to_owned() });
        (peer, outbox)
    }

    fn slow(&self, name: &str) {
        let mut slowed = self.slowed.lock().unwrap_or_else(PoisonError::into_inner);
        slowed.say(clock::now(), |more| tracing::warn!("{name} sends too much: reading it slower{more}"));
    }

    fn leave(&self, peer: PeerId, why: String) {
        // A replaced peer has left already.
        let left = self.peers().remove(&peer);
        if let Some(left) = left {
            left.outbox.close(&why);
            (self.on_event)(Event::Left { peer, why });
        }
    }
}

/// The handshake of somebody who has not proved anything yet.
struct Handshake {
    task: AbortHandle,
    known: Arc<AtomicBool>,
}

impl Handshake {
    fn progress(&self) -> Progress {
        if self.known.load(Ordering::Relaxed) {
            Progress::Authenticated
        } else if self.task.is_finished() {
            Progress::Ended
        } else {
            Progress::Unknown
        }
    }
}

/// Connections that the kernel queues for the server, if `net.core.somaxconn` allows it. Where the
/// queue is full, everybody who connects waits for a second.
const BACKLOG: i32 = 4096;

fn bind(listen: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(listen), Type::STREAM, None)?;
    // As the standard library does, whose queue is shorter.
    socket.set_reuse_address(true)?;
    socket.bind(&listen.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Number of connections that are accepted before anything else is served, so that the queue is
/// emptied fast.
const TOGETHER: usize = 64;

async fn accept(listener: std::net::TcpListener, identity: Identity, shared: Arc<Shared>) -> io::Result<()> {
    // Not tokio's listener: it registers each connection before we can refuse it.
    // SAFETY: the listener is not replaced, and stays open for as long as it is registered.
    let listener = unsafe { AsyncFd::register_with_interest(listener, Interest::READABLE) }?;
    let (mut strangers, mut refusals) = (Strangers::new(shared.timing), Seldom::default());
    loop {
        let mut ready = listener.readable().await?;
        for _ in 0..TOGETHER {
            let (stream, from) = match ready.try_io(|listener| listener.get_ref().accept()) {
                Ok(Ok(accepted)) => accepted,
                Ok(Err(e)) => {
                    Counting::count(&shared.counting.failed);
                    tracing::warn!("cannot accept a connection: {e}");
                    // Out of files, mostly: not at once again, as the same would come of it.
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                    break;
                }
                Err(_would_block) => break,
            };
            Counting::count(&shared.counting.connections);
            let (now, source) = (clock::now(), Source::of(from.ip()));
            match strangers.admit(now, source, Handshake::progress) {
                Admission::TooOften { first } => {
                    Counting::count(&shared.counting.too_often);
                    reset(stream);
                    if first {
                        refusals.say(now, |more| tracing::warn!("{source} connects too often{more}"));
                    }
                    continue;
                }
                Admission::Admitted { instead_of: None } => {}
                Admission::Admitted { instead_of: Some(victim) } => {
                    victim.task.abort();
                    Counting::count(&shared.counting.turned_away);
                }
            }
            let known = Arc::new(AtomicBool::new(false));
            let task = tokio::spawn(serve(stream, from, identity.clone(), shared.clone(), known.clone()));
            strangers.add(source, Handshake { task: task.abort_handle(), known });
        }
        // The handshakes have their turn.
        tokio::task::yield_now().await;
    }
}

/// Ends a connection without the packets and the state of an orderly end.
fn reset(stream: std::net::TcpStream) {
    // Otherwise it ends in order, which only costs more.
    let _ = socket2::SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO));
}

async fn serve(
    stream: std::net::TcpStream,
    from: SocketAddr,
    identity: Identity,
    shared: Arc<Shared>,
    known: Arc<AtomicBool>,
) {
    let refuse = |why: String| {
        Counting::count(&shared.counting.refused);
        tracing::debug!("refused {from}: {why}");
    };
    let prepare = || {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        TcpStream::from_std(stream)
    };
    let stream = match prepare() {
        Ok(stream) => stream,
        Err(e) => return refuse(e.to_string()),
    };
    // The keys as they are now: they may have been renewed.
    let acceptor = TlsAcceptor::from(identity.server_config());
    let stream = match timeout(wait(shared.timing.handshake), acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(e)) => return refuse(e.to_string()),
        Err(_) => {
            Counting::count(&shared.counting.handshakes_late);
            return tracing::debug!("{from} did not authenticate in time");
        }
    };
    let name = match peer_name(stream.get_ref().1.peer_certificates()) {
        Ok(name) => name,
        Err(e) => return refuse(e.to_string()),
    };
    let chain =
        stream.get_ref().1.peer_certificates().unwrap_or_default().iter().map(|c| c.clone().into_owned()).collect();
    known.store(true, Ordering::Relaxed);
    let (peer, outbox) = shared.join(&name);
    let hear = |heard| match heard {
        Received::Alive => {}
        Received::Note(note) => (shared.on_event)(Event::Note { peer, note }),
        Received::Control { sent_at, control } => (shared.on_event)(Event::Control { peer, sent_at, control }),
        Received::TooMuch => shared.slow(&name),
    };
    let limits = Some(Limits::of(&shared.timing));
    let why = tokio::select! {
        why = pump(stream, &outbox, &shared.timing, &shared.counting, limits, hear) => why,
        why = identity.refuses(chain) => why,
    };
    shared.leave(peer, why);
}
