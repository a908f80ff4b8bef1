//! Connections to the status page: few and short.
//!
//! Every user of the machine can reach loopback, and must neither exhaust the daemon's file
//! descriptors nor keep others out. Whoever has the token sends it at once. So each connection is
//! accepted at once, and where too many are open, one that has shown no token ends: the oldest.

use crate::watch::Hold;
use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep};

/// Maximum number of open connections.
pub(super) const CONNECTIONS: usize = 64;
/// From accepting to the end, whatever happens on it. Whoever asks again connects again. One on
/// which events flow gets as long again, each time.
pub(super) const LIFETIME: Duration = Duration::from_secs(5);

/// What requests tell of their connection. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Seat {
    /// Set while events flow.
    pub(super) hold: Hold,
    known: Arc<AtomicBool>,
}

impl Seat {
    /// Notes that a request had the token.
    pub(super) fn know(&self) {
        self.known.store(true, Relaxed);
    }
}

/// The open connections, by their numbers.
#[derive(Clone, Debug, Default)]
struct Places(Arc<Mutex<Taken>>);

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    /// Dropping a sender ends its connection.
    open: BTreeMap<u64, (Seat, oneshot::Sender<()>)>,
}

/// The place of a connection, which is free again when dropped.
#[derive(Debug)]
struct Place {
    places: Places,
    number: u64,
    evicted: oneshot::Receiver<()>,
}

impl Places {
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for a connection: the oldest one without a token ends, or else the oldest one
    /// without events. `None` if events flow on all.
    fn take(&self, seat: &Seat) -> Option<Place> {
        let mut taken = self.lock();
        if taken.open.len() >= CONNECTIONS {
            let stranger = taken.open.iter().find(|(_, (seat, _))| !seat.known.load(Relaxed));
            let victim = stranger.or_else(|| taken.open.iter().find(|(_, (seat, _))| !seat.hold.is_held()));
            let number = *victim?.0;
            taken.open.remove(&number);
        }
        taken.next += 1;
        let (number, (end, evicted)) = (taken.next, oneshot::channel());
        taken.open.insert(number, (seat.clone(), end));
        Some(Place { places: self.clone(), number, evicted })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().open.remove(&self.number);
    }
}

/// A listener with a limited number of connections.
pub(super) struct Bounded {
    listener: TcpListener,
    places: Places,
}

impl Bounded {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self { listener, places: Places::default() }
    }
}

impl axum::serve::Listener for Bounded {
    type Io = Short;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Short, SocketAddr) {
        loop {
            // The library's own listener waits if the system is out of resources.
            let (stream, from) = axum::serve::Listener::accept(&mut self.listener).await;
            let seat = Seat::default();
            if let Some(place) = self.places.take(&seat) {
                return (Short { stream, end: Box::pin(sleep(LIFETIME)), seat, place }, from);
            }
        }
    }
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection with a time limit.
pub(super) struct Short {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    seat: Seat,
    place: Place,
}

impl Connected<IncomingStream<'_, Bounded>> for Seat {
    fn connect_info(stream: IncomingStream<'_, Bounded>) -> Self {
        stream.io().seat.clone()
    }
}

impl Short {
    fn unless_over(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        // Nobody sends: it is ready once the place is another one's.
        if Pin::new(&mut self.place.evicted).poll(context).is_ready() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        while self.end.as_mut().poll(context).is_ready() {
            if !self.seat.hold.is_held() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.end.as_mut().reset(Instant::now() + LIFETIME);
        }
        Ok(())
    }
}

impl AsyncRead for Short {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.unless_over(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Short {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.unless_over(context)?;
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        Poll::Ready(written)
    }
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_make_room_for_each_other_and_keep_nobody_out() {
        let places = Places::default();
        let take = |known: bool, held: bool| {
            let seat = Seat::default();
            seat.hold.set(held);
            let place = places.take(&seat);
            if known {
                seat.know();
            }
            place
        };
        let ended = |place: &mut Place| place.evicted.try_recv() == Err(oneshot::error::TryRecvError::Closed);
        let mut scraper = take(true, false).unwrap();
        let mut strangers: Vec<Place> = (0..10 * CONNECTIONS).map(|_| take(false, false).unwrap()).collect();
        let open: Vec<usize> = (0..strangers.len()).filter(|&i| !ended(&mut strangers[i])).collect();
        assert_eq!(open, (9 * CONNECTIONS + 1..10 * CONNECTIONS).collect::<Vec<_>>());
        assert!(!ended(&mut scraper));
        // Pages with events take the places of all others, and there is room when they go.
        let mut pages: Vec<Place> = (0..CONNECTIONS).map(|_| take(true, true).unwrap()).collect();
        assert!(ended(&mut scraper) && strangers.iter_mut().all(ended) && !pages.iter_mut().any(ended));
        assert!(take(false, false).is_none());
        pages.pop();
        assert!(take(false, false).is_some());
        drop((scraper, strangers, pages));
        assert!(places.lock().open.is_empty());
    }
}
