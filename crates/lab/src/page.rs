//! The pages of a lab's controllers, made available where the lab was started.
//!
//! A controller's page is on the loopback of its namespace, which browsers cannot reach. The lab
//! therefore listens on the caller's loopback at the same port, because the page accepts no other,
//! and forwards bytes to a socket inside the namespace. The address stays the same for all runs;
//! between two runs the page shows that the controller is gone. One token is valid for all runs.
//!
//! Only the lab has an observer at the switch. It sends the observer's reports to the pages.

use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use timeplane_live::keys::files;
use timeplane_live::observer::ObserverReport;
use timeplane_live::status::{StatusError, Token};
use timeplane_live::thread::Background;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

/// Maximum number of concurrent connections to each controller.
const CONNECTIONS: usize = 32;
/// Maximum time that a controller's page may take to answer the observer's report.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why a lab cannot offer a page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The socket or its thread cannot be created.
    #[error("cannot listen on {address} for the page: {source}")]
    Listen {
        /// Address of the socket.
        address: SocketAddr,
        /// The system's message.
        source: io::Error,
    },
    /// The port is too high: other controllers need the ports after it.
    #[error("page {port}: controller {place} would get a port above 65535: expected 0 to {}", 65535 - place)]
    Port {
        /// The requested port.
        port: u16,
        /// Number of the controller without a port.
        place: u32,
    },
    /// The token cannot be created.
    #[error(transparent)]
    Token(#[from] StatusError),
    /// The token cannot be written.
    #[error(transparent)]
    Keys(#[from] timeplane_live::keys::KeyError),
}

/// The namespace of a lab's controllers while a run lasts.
type Inside = Arc<Mutex<Option<PathBuf>>>;

/// The pages of a lab. They disappear when the value is dropped.
#[derive(Debug)]
pub struct Pages {
    port: u16,
    controllers: u32,
    token: Token,
    inside: Inside,
    seen: watch::Sender<Option<String>>,
    _relays: Vec<Background>,
    _teller: Background,
}

impl Pages {
    /// Listens on loopback at `port`, and at the ports after it for standby controllers. With 0 the
    /// system chooses.
    ///
    /// # Errors
    /// If a port is taken.
    pub fn start(port: u16, controllers: u32) -> Result<Self, PageError> {
        let inside = Inside::default();
        let token = Token::random()?;
        let mut port = port;
        let mut relays = Vec::new();
        for place in 0..controllers {
            let at = port.checked_add(place as u16).ok_or(PageError::Port { port, place })?;
            let asked = SocketAddr::from((Ipv4Addr::LOCALHOST, at));
            let failed = |source| PageError::Listen { address: asked, source };
            let listener = std::net::TcpListener::bind(asked).map_err(failed)?;
            listener.set_nonblocking(true).map_err(failed)?;
            let address = listener.local_addr().map_err(failed)?;
            if port == 0 {
                port = address.port();
            }
            let relay = relay(listener, Arc::clone(&inside), address);
            relays.push(Background::start("tp-lab-page", relay).map_err(failed)?);
        }
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let (seen, seen_by) = watch::channel(None);
        let teller = tell(seen_by, Arc::clone(&inside), port, controllers, token.clone());
        let teller =
            Background::start("tp-lab-seen", teller).map_err(|source| PageError::Listen { address, source })?;
        Ok(Self { port, controllers, token, inside, seen, _relays: relays, _teller: teller })
    }

    /// Port of the first controller's page.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// URLs for a browser, one for each controller. They contain the token: whoever knows a URL can
    /// see the page.
    pub fn addresses(&self) -> Vec<String> {
        let digits = self.token.digits();
        (0..self.controllers)
            .map(|place| format!("http://127.0.0.1:{}/#{digits}", u32::from(self.port) + place))
            .collect()
    }

    /// Writes the token to a file for the controllers.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_token(&self, path: &Path) -> Result<(), PageError> {
        Ok(files::write(path, files::PRIVATE, &format!("{}\n", self.token.digits()), true)?)
    }

    /// Sets the namespace that the controllers are in; `None` between two runs.
    pub fn lead_to(&self, namespace: Option<PathBuf>) {
        *self.inside.lock().unwrap_or_else(PoisonError::into_inner) = namespace;
        // The last run's report is not valid for this one.
        self.seen.send_replace(None);
    }

    /// Sends a report of the observer to the pages.
    pub fn observed(&self, report: &ObserverReport) {
        self.seen.send_replace(serde_json::to_string(report).ok());
    }
}

/// Connects to a page from inside its namespace.
async fn connect(inside: &Inside, address: SocketAddr) -> io::Result<tokio::net::TcpStream> {
    let namespace = inside.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let namespace = namespace.ok_or(io::ErrorKind::NotConnected)?;
    // This needs a thread of its own, as it never leaves the namespace again.
    let enter = move || {
        setns(File::open(namespace)?, CloneFlags::CLONE_NEWNET)?;
        TcpStream::connect_timeout(&address, PATIENCE)
    };
    let (sent, received) = tokio::sync::oneshot::channel();
    std::thread::Builder::new().name("tp-lab-inside".to_owned()).spawn(move || drop(sent.send(enter())))?;
    let stream = received.await.map_err(io::Error::other)??;
    stream.set_nonblocking(true)?;
    tokio::net::TcpStream::from_std(stream)
}

async fn relay(listener: std::net::TcpListener, inside: Inside, address: SocketAddr) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(e) => return tracing::error!("cannot listen for the lab's page: {e}"),
    };
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((mut outside, _)) = listener.accept().await else {
            // Usually all file descriptors are in use: try again later.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let inside = Arc::clone(&inside);
        tokio::spawn(async move {
            // Without a controller the connection ends, and the browser reconnects.
            if let Ok(mut within) = connect(&inside, address).await {
                let _ = copy_bidirectional(&mut outside, &mut within).await;
            }
            drop(place);
        });
    }
}

async fn tell(mut seen: watch::Receiver<Option<String>>, inside: Inside, port: u16, controllers: u32, token: Token) {
    while seen.changed().await.is_ok() {
        let Some(report) = seen.borrow_and_update().clone() else { continue };
        for place in 0..controllers {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port + place as u16));
            let request = format!(
                "POST /observed HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\nConnection: close\r\n\r\n{report}",
                token.digits(),
                report.len()
            );
            let told = async {
                let mut stream = connect(&inside, address).await?;
                stream.write_all(request.as_bytes()).await?;
                let mut answer = Vec::new();
                stream.take(4096).read_to_end(&mut answer).await?;
                Ok::<_, io::Error>(answer)
            };
            // A killed controller restarts, and gets the next report.
            match timeout(PATIENCE, told).await {
                Ok(Ok(answer)) if answer.starts_with(b"HTTP/1.1 204 ") => {}
                Ok(Ok(answer)) => {
                    let line = String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned();
                    tracing::warn!("controller {place} rejects the observer's report: {line}");
                }
                Ok(Err(e)) => tracing::debug!("cannot send the observer's report to controller {place}: {e}"),
                Err(_) => tracing::debug!("controller {place} does not answer in time"),
            }
        }
    }
}
