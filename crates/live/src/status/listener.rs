//! Connections to the status page: few and short.
//!
//! Every user of the machine can reach loopback, and must not exhaust the daemon's file
//! descriptors.

use crate::watch::Hold;
use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// Maximum number of connections; others wait in the system's queue.
pub(super) const CONNECTIONS: usize = 32;
/// From accepting to the end, whatever happens on it. Whoever asks again connects again. One on
/// which events flow gets as long again, each time.
pub(super) const LIFETIME: Duration = Duration::from_secs(5);

/// A listener with a limited number of connections.
pub(super) struct Bounded {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

impl Bounded {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self { listener, places: Arc::new(Semaphore::new(CONNECTIONS)) }
    }
}

impl axum::serve::Listener for Bounded {
    type Io = Short;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Short, SocketAddr) {
        let place = self.places.clone().acquire_owned().await.ok();
        // The library's own listener waits if the system is out of resources.
        let (stream, from) = axum::serve::Listener::accept(&mut self.listener).await;
        (Short { stream, end: Box::pin(sleep(LIFETIME)), hold: Hold::default(), _place: place }, from)
    }
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection with a time limit.
pub(super) struct Short {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    hold: Hold,
    _place: Option<OwnedSemaphorePermit>,
}

impl Connected<IncomingStream<'_, Bounded>> for Hold {
    fn connect_info(stream: IncomingStream<'_, Bounded>) -> Self {
        stream.io().hold.clone()
    }
}

impl Short {
    fn unless_over(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while self.end.as_mut().poll(context).is_ready() {
            if !self.hold.is_held() {
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
