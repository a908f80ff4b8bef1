//! The connecting side of a demand channel.
//!
//! It reconnects until it is dropped.

use super::counters::Counting;
use super::outbox::Outbox;
use super::pump::{Received, pump};
use super::{ChannelError, Counters, Event, PeerId, Record, SendError, Timing, wait};
use crate::keys::{Identity, check_name, peer_name};
use crate::thread::Background;
use rustls::pki_types::ServerName;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use timeplane_model::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsConnector;

/// Keeps a connection to a server, and reconnects whenever it ends. No events follow once it is
/// dropped.
pub struct Client {
    shared: Arc<Shared>,
    /// Its thread ends when the value is dropped.
    _thread: Background,
}

struct Shared {
    state: Mutex<State>,
    timing: Timing,
    counting: Counting,
    on_event: Box<dyn Fn(Event) + Send + Sync>,
}

#[derive(Default)]
struct State {
    /// The connection, while there is one.
    outbox: Option<Arc<Outbox>>,
    /// The reason why the client is not connected.
    trouble: Option<String>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("connected", &self.is_connected()).finish_non_exhaustive()
    }
}

impl Client {
    /// Starts to connect, with the default [`Timing`]. The server must authenticate as
    /// `server_name`. Events are delivered on a thread of its own: [`Event::Joined`] whenever the
    /// server has accepted the client, each time with a new number.
    ///
    /// # Errors
    /// If the name is invalid, or no thread can be started. An unreachable server is not an error,
    /// as it may start later.
    pub fn start(
        server: SocketAddr,
        server_name: &str,
        identity: &Identity,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Self, ChannelError> {
        Self::start_with(server, server_name, identity, Timing::default(), on_event)
    }

    /// The same with another [`Timing`].
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(
        server: SocketAddr,
        server_name: &str,
        identity: &Identity,
        timing: Timing,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Self, ChannelError> {
        let none = || ChannelError::Name { name: server_name.to_owned() };
        check_name(server_name).map_err(|_| none())?;
        let name = ServerName::try_from(server_name.to_owned()).map_err(|_| none())?;
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            timing,
            counting: Counting::default(),
            on_event: Box::new(on_event),
        });
        let connecting = connect_again(server, name, identity.clone(), shared.clone());
        let thread = Background::start("tp-channel", connecting).map_err(|source| ChannelError::Start { source })?;
        Ok(Self { shared, _thread: thread })
    }

    /// Queues a record. Never blocks: if the queue is full, its oldest control messages are
    /// dropped. Queued records are lost when the connection ends.
    ///
    /// # Errors
    /// If there is no connection, the message cannot be encoded, or the queue is full of notes.
    pub fn send(&self, record: Record) -> Result<(), SendError> {
        let outbox = self.shared.state().outbox.clone().ok_or(SendError::Gone)?;
        outbox.push(&record, &self.shared.counting)
    }
    /// Whether the server has accepted the client.
    pub fn is_connected(&self) -> bool {
        self.shared.state().outbox.is_some()
    }
    /// The reason why the client is not connected. `None` while it is connected, and before an
    /// attempt has failed.
    pub fn trouble(&self) -> Option<String> {
        self.shared.state().trouble.clone()
    }
    /// Counters of the client.
    pub fn counters(&self) -> Counters {
        self.shared.counting.read()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Says it where it is news.
    fn trouble(&self, server: SocketAddr, why: String) {
        let mut state = self.state();
        if state.trouble.as_ref() != Some(&why) {
            tracing::warn!("cannot connect to {server}: {why}");
            state.trouble = Some(why);
        }
    }
}

async fn connect_again(server: SocketAddr, name: ServerName<'static>, identity: Identity, shared: Arc<Shared>) {
    let timing = shared.timing;
    let (mut pause, mut number) = (timing.first_pause, 0);
    loop {
        let began = Instant::now();
        Counting::count(&shared.counting.connections);
        let why = connection(server, &name, &identity, &shared, PeerId(number)).await;
        number += 1;
        shared.trouble(server, why);
        // One that held for a while was a good one. Who takes us and throws us out at once is not
        // asked every 50 ms.
        if began.elapsed() >= wait(timing.longest_pause) {
            pause = timing.first_pause;
        }
        sleep(wait(pause)).await;
        pause = longer(pause, &timing);
    }
}

fn longer(pause: Duration, timing: &Timing) -> Duration {
    Duration::from_ps(pause.as_ps().saturating_mul(2)).min(timing.longest_pause)
}

/// From its beginning to its end; why it ended.
async fn connection(
    server: SocketAddr,
    name: &ServerName<'static>,
    identity: &Identity,
    shared: &Shared,
    peer: PeerId,
) -> String {
    let counting = &shared.counting;
    let handshake = async {
        let stream = TcpStream::connect(server).await.map_err(|e| (&counting.failed, e))?;
        stream.set_nodelay(true).map_err(|e| (&counting.failed, e))?;
        // The keys as they are now: they may have been renewed.
        let tls = TlsConnector::from(identity.client_config());
        tls.connect(name.clone(), stream).await.map_err(|e| (&counting.refused, e))
    };
    let stream = match timeout(wait(shared.timing.handshake), handshake).await {
        Ok(Ok(stream)) => stream,
        Ok(Err((counter, e))) => {
            Counting::count(counter);
            return e.to_string();
        }
        Err(_) => {
            Counting::count(&counting.handshakes_late);
            return format!("no answer within {:?}", wait(shared.timing.handshake));
        }
    };
    let server_name = match peer_name(stream.get_ref().1.peer_certificates()) {
        Ok(name) => name,
        Err(e) => {
            Counting::count(&counting.refused);
            return e.to_string();
        }
    };
    let chain =
        stream.get_ref().1.peer_certificates().unwrap_or_default().iter().map(|c| c.clone().into_owned()).collect();
    let outbox = Arc::new(Outbox::new(shared.timing.queue));
    let mut joined = false;
    let hear = |heard| match heard {
        // In TLS 1.3 a client is done before the server has looked at its certificate: what counts
        // is the first record.
        Received::Alive => {
            joined = true;
            {
                let mut state = shared.state();
                state.outbox = Some(outbox.clone());
                state.trouble = None;
            }
            Counting::count(&counting.joined);
            (shared.on_event)(Event::Joined { peer, name: server_name.clone() });
        }
        Received::Note(note) => (shared.on_event)(Event::Note { peer, note }),
        Received::Control { sent_at, control } => (shared.on_event)(Event::Control { peer, sent_at, control }),
        // Nobody limits servers.
        Received::TooMuch => {}
    };
    let why = tokio::select! {
        why = pump(stream, &outbox, &shared.timing, counting, None, hear) => why,
        why = identity.refuses(chain) => why,
    };
    outbox.close(&why);
    if joined {
        shared.state().outbox = None;
        (shared.on_event)(Event::Left { peer, why: why.clone() });
    } else {
        Counting::count(&counting.refused);
    }
    why
}
