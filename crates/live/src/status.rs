//! The status page of a daemon: metrics, its state in JSON, and whether it is ready.
//!
//! | path | answer |
//! | --- | --- |
//! | `/metrics` | metrics in the text format of OpenMetrics 1.0 |
//! | `/status` | the state of the daemon in JSON |
//! | `/ready` | 200 `ready` or 503 `not ready` |
//! | `/` | controllers: a page for browsers ([`crate::watch`]) |
//! | `/events` | controllers: the page's data as server-sent events: a snapshot, then changes |
//! | `/observed` | controllers: takes the [`ObserverReport`] of an observer for the page (POST, JSON) |
//!
//! The page listens on loopback only and requires `Authorization: Bearer TOKEN`. The token is made
//! at each start and is in a file that only the daemon's user can read. The `Host` header must be a
//! name of loopback with the right port, which defeats DNS rebinding. Only `/` needs no token: it
//! is the same for everybody. The page reads its token from behind `#` in its address, which
//! browsers do not send.

mod counted;
mod guard;
mod listener;
mod metrics;

pub use counted::{of_agent, of_controller};
pub use metrics::Metrics;

use crate::keys::{KeyError, files};
use crate::observer::ObserverReport;
use crate::thread::Background;
use crate::watch::{self, Publisher};
use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use guard::Guard;
use listener::{Bounded, Seat};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A status page could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// The address is not a loopback address.
    #[error(
        "address of the status page {address}: expected loopback (127.0.0.1 or [::1]); use a proxy for access from other machines"
    )]
    NotLoopback {
        /// The requested address.
        address: SocketAddr,
    },
    /// The socket cannot be opened.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The system's message.
        source: std::io::Error,
    },
    /// The token cannot be written.
    #[error("the token of the status page: {0}")]
    Token(#[from] KeyError),
    /// The given token is invalid.
    #[error("{path}: {found}: expected 64 hexadecimal digits, the token of a status page, and nothing else")]
    Given {
        /// Path of the token's file.
        path: PathBuf,
        /// What is wrong, without the content.
        found: String,
    },
    /// Random numbers cannot be read.
    #[error("the system provides no random numbers for a token")]
    Random,
}

/// Maximum size of an observer's report, in bytes; enough for a thousand ports.
const OBSERVED: usize = 1 << 20;

/// The sources of answers. The functions are called on the page's own thread, for each request.
#[derive(Clone)]
struct Sources {
    metrics: Metrics,
    status: Arc<dyn Fn() -> Value + Send + Sync>,
    ready: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// The token that requests must present. Its `Debug` output hides it.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(hidden)")
    }
}

/// A status page. Dropping it closes the page and removes the token's file.
#[derive(Debug)]
pub struct StatusPage {
    address: SocketAddr,
    path: PathBuf,
    token: Token,
    _thread: Background,
}

impl StatusPage {
    /// Listens on loopback. The token is written to the file `token` with mode 0600, replacing an
    /// older one; its folder must exist. `status` returns the JSON, and `ready` whether the daemon
    /// works. Both are called on a thread that is not timed, and should not hold locks that timed
    /// loops need.
    ///
    /// # Errors
    /// If the address is not loopback or is taken, or the token cannot be written.
    pub fn start(
        listen: SocketAddr,
        token: impl Into<PathBuf>,
        metrics: Metrics,
        status: impl Fn() -> Value + Send + Sync + 'static,
        ready: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Self, StatusError> {
        Self::begin(listen, token.into(), None, Sources::new(metrics, status, ready), None)
    }

    /// The same with a page for browsers, and with a given token if there is one.
    pub(crate) fn with_page(
        listen: SocketAddr,
        token: PathBuf,
        given: Option<Token>,
        metrics: Metrics,
        status: impl Fn() -> Value + Send + Sync + 'static,
        ready: impl Fn() -> bool + Send + Sync + 'static,
        publisher: Publisher,
    ) -> Result<Self, StatusError> {
        Self::begin(listen, token, given, Sources::new(metrics, status, ready), Some(publisher))
    }

    fn begin(
        listen: SocketAddr,
        path: PathBuf,
        given: Option<Token>,
        sources: Sources,
        publisher: Option<Publisher>,
    ) -> Result<Self, StatusError> {
        if !listen.ip().is_loopback() {
            return Err(StatusError::NotLoopback { address: listen });
        }
        let failed = |source| StatusError::Listen { address: listen, source };
        let listener = std::net::TcpListener::bind(listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let token = given.map_or_else(Token::random, Ok)?;
        files::write(&path, files::PRIVATE, &format!("{}\n", token.0), true)?;

        let guard = Guard::new(token.clone(), address.port(), publisher.is_some());
        let mut router = Router::new()
            .route("/metrics", get(show_metrics))
            .route("/status", get(show_status))
            .route("/ready", get(show_ready))
            .with_state(sources);
        let publisher = publisher.map(|p| Arc::new(Mutex::new(p)));
        if let Some(publisher) = &publisher {
            let pages = Router::new()
                .route("/", get(show_page))
                .route("/events", get(show_events))
                .route("/observed", post(take_observed))
                .layer(axum::extract::DefaultBodyLimit::max(OBSERVED))
                .with_state(Arc::clone(publisher));
            router = router.merge(pages);
        }
        let router = router.layer(axum::middleware::from_fn_with_state(Arc::new(guard), guard::guard));
        let router = router.into_make_service_with_connect_info::<Seat>();
        let serve = async move {
            let listener = match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => Bounded::new(listener),
                Err(e) => return tracing::error!("cannot listen for the status page: {e}"),
            };
            let publish = async {
                match publisher {
                    Some(publisher) => Publisher::run(publisher).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = publish => {}
                done = axum::serve(listener, router) => {
                    if let Err(e) = done {
                        tracing::error!("the status page failed: {e}");
                    }
                }
            }
        };
        let thread = Background::start("tp-status", serve).map_err(failed)?;
        Ok(Self { address, path, token, _thread: thread })
    }

    /// Address of the page. Port 0 is replaced by the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// Path of the file with the token.
    pub fn token(&self) -> &Path {
        &self.path
    }
}

impl Drop for StatusPage {
    fn drop(&mut self) {
        // The token is no longer valid. A file of a newer daemon in its place stays.
        if std::fs::read_to_string(&self.path).is_ok_and(|text| text.trim_end() == self.token.0) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Sources {
    fn new(
        metrics: Metrics,
        status: impl Fn() -> Value + Send + Sync + 'static,
        ready: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { metrics, status: Arc::new(status), ready: Arc::new(ready) }
    }
}

impl Token {
    /// Reads a token from a file.
    ///
    /// # Errors
    /// If the file cannot be read, or holds no valid token.
    pub fn read(path: &Path) -> Result<Self, StatusError> {
        let wrong = |found: String| StatusError::Given { path: path.to_owned(), found };
        let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
        let token = text.trim();
        if token.len() != 64 || !token.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong(format!("there are {} characters", token.chars().count())));
        }
        Ok(Self(token.to_owned()))
    }
    /// The token as 64 hexadecimal digits.
    pub fn digits(&self) -> &str {
        &self.0
    }
    /// A new random token of 256 bits.
    ///
    /// # Errors
    /// If random numbers cannot be read.
    pub fn random() -> Result<Self, StatusError> {
        let mut bytes = [0; 32];
        let provider = rustls::crypto::ring::default_provider();
        provider.secure_random.fill(&mut bytes).map_err(|_| StatusError::Random)?;
        Ok(Self(bytes.iter().map(|b| format!("{b:02x}")).collect()))
    }
}

async fn show_metrics(State(sources): State<Sources>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], sources.metrics.text()).into_response()
}

async fn show_status(State(sources): State<Sources>) -> Response {
    axum::Json((sources.status)()).into_response()
}

async fn show_ready(State(sources): State<Sources>) -> Response {
    if (sources.ready)() {
        (StatusCode::OK, "ready\n").into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready\n").into_response()
    }
}

async fn show_page() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, watch::POLICY.as_str()),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, watch::html()).into_response()
}

async fn show_events(State(publisher): State<Arc<Mutex<Publisher>>>, ConnectInfo(seat): ConnectInfo<Seat>) -> Response {
    match publisher.lock().unwrap_or_else(PoisonError::into_inner).listen(seat.hold) {
        Ok(events) => {
            let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CONNECTION, "close")];
            (headers, Body::from_stream(events)).into_response()
        }
        Err(watch::Full) => {
            let why = format!("{} pages are open already: close one\n", watch::LISTENERS);
            (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
        }
    }
}

async fn take_observed(
    State(publisher): State<Arc<Mutex<Publisher>>>,
    Json(report): Json<ObserverReport>,
) -> StatusCode {
    publisher.lock().unwrap_or_else(PoisonError::into_inner).watch().observe(report);
    StatusCode::NO_CONTENT
}

#[cfg(test)]
mod tests;
