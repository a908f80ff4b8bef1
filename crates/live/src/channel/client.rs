//! The connecting side of a demand channel.
//!
//! It reconnects until it is dropped.

use super::counters::Counting;
use super::outbox::Outbox;
use super::pump::{Received, pump};
use super::{ChannelError, Counters, Event, PeerId, Record, SendError, Timing, wait};
use crate::agent::random_bytes;
use crate::keys::{Identity, check_name, peer_name};
use crate::thread::Background;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
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

/// Keeps a connection for ever.
async fn connect_again(server: SocketAddr, name: ServerName<'static>, identity: Identity, shared: Arc<Shared>) {
    let mut random = Xoshiro256PlusPlus::from_seed(random_bytes().unwrap_or([7; 32]));
    let (mut pauses, mut number) = (Pauses::new(shared.timing), 0);
    loop {
        let began = Instant::now();
        Counting::count(&shared.counting.connections);
        let (taken, why) = connection(server, &name, &identity, &shared, PeerId(number)).await;
        number += 1;
        shared.trouble(server, why);
        let lasted = Duration::from_ps(i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX / 1000) * 1000);
        sleep(wait(pauses.next(taken.then_some(lasted), random.next_u32()))).await;
    }
}

/// How long a client waits before it connects again.
///
/// A server that is away is asked all the time, so that its return is noticed within a round or
/// two. One that takes connections and ends them is asked ever less. Pauses are random, so that the
/// hosts of a network do not return all at once.
#[derive(Clone, Copy, Debug)]
struct Pauses {
    timing: Timing,
    /// After the next connection that the server ends.
    next: Duration,
}

impl Pauses {
    fn new(timing: Timing) -> Self {
        Self { timing, next: timing.first_pause }
    }

    /// The pause after a connection that the server took for so long, or `None` if it was away.
    /// `random` is uniform.
    fn next(&mut self, lasted: Option<Duration>, random: u32) -> Duration {
        let most = match lasted {
            None => self.timing.away_pause,
            // It most likely restarts.
            Some(lasted) if lasted >= self.timing.good_after => {
                self.next = self.timing.first_pause;
                self.timing.away_pause
            }
            Some(_) => {
                let pause = self.next;
                self.next = (pause * 2).min(self.timing.longest_pause);
                pause
            }
        };
        let half = most.as_ps() / 2;
        Duration::from_ps(half + (i128::from(half) * i128::from(random) / i128::from(u32::MAX)) as i64)
    }
}

/// From its beginning to its end: whether the server took it, and why it ended.
async fn connection(
    server: SocketAddr,
    name: &ServerName<'static>,
    identity: &Identity,
    shared: &Shared,
    peer: PeerId,
) -> (bool, String) {
    let counting = &shared.counting;
    let stream = match timeout(wait(shared.timing.connect), TcpStream::connect(server)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(e)) => {
            Counting::count(&counting.failed);
            return (false, e.to_string());
        }
        Err(_) => {
            Counting::count(&counting.failed);
            return (false, format!("no answer within {:?}", wait(shared.timing.connect)));
        }
    };
    (true, taken(stream, name, identity, shared, peer).await)
}

/// A connection that the server has taken, to its end; why it ended.
async fn taken(
    stream: TcpStream,
    name: &ServerName<'static>,
    identity: &Identity,
    shared: &Shared,
    peer: PeerId,
) -> String {
    let counting = &shared.counting;
    let handshake = async {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_away_is_asked_all_the_time_and_one_that_refuses_ever_less() {
        let timing = Timing::default();
        let mut pauses = Pauses::new(timing);
        let ms = Duration::from_ms;
        for random in [0, 1, u32::MAX / 2, u32::MAX] {
            let pause = pauses.next(None, random);
            assert!(timing.away_pause / 2 <= pause && pause <= timing.away_pause, "{pause}");
        }
        let refused: Vec<Duration> = (0..8).map(|_| pauses.next(Some(ms(3)), u32::MAX)).collect();
        assert_eq!(refused, [50, 100, 200, 400, 800, 1600, 2000, 2000].map(ms));
        assert_eq!(pauses.next(None, u32::MAX), timing.away_pause, "it restarts");
        assert_eq!(pauses.next(Some(ms(3)), 0), ms(1000), "but it refused before");
        // A connection that was good ends at the server's restart.
        assert_eq!(pauses.next(Some(timing.good_after), u32::MAX), timing.away_pause);
        assert_eq!(pauses.next(Some(ms(3)), u32::MAX), ms(50));
    }
}
