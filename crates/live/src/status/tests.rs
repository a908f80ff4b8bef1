//! Tests of the status page: answers, its token, and the checks of requests.
//!
//! Requests are written to a TCP connection on loopback.

use super::*;
use crate::scratch::Scratch;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

struct Page {
    page: StatusPage,
    token: String,
    is_ready: Arc<AtomicBool>,
    dir: Scratch,
}

fn page(name: &str) -> Page {
    let dir = Scratch::new(&format!("status-{name}"));
    let metrics = Metrics::new();
    metrics.counter("slots_opened", "Slots that were opened").inc_by(42);
    let is_ready = Arc::new(AtomicBool::new(false));
    let ready = is_ready.clone();
    let status = || json!({"epoch": 7, "hosts": ["host-3"]});
    let listen = "127.0.0.1:0".parse().unwrap();
    let page =
        StatusPage::start(listen, dir.join("token"), metrics, status, move || ready.load(Ordering::SeqCst)).unwrap();
    let token = std::fs::read_to_string(page.token()).unwrap().trim().to_owned();
    Page { page, token, is_ready, dir }
}

/// Status and the whole answer.
fn ask(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut request = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{request}\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
}

impl Page {
    fn host(&self) -> String {
        self.page.address().to_string()
    }
    fn get(&self, path: &str) -> (u16, String) {
        let token = format!("Bearer {}", self.token);
        ask(self.page.address(), path, &[("Host", &self.host()), ("Authorization", &token)])
    }
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

#[test]
fn answers_are_what_the_daemon_says() {
    let page = page("answers");
    let (status, answer) = page.get("/status");
    assert_eq!(status, 200);
    assert_eq!(serde_json::from_str::<Value>(body(&answer)).unwrap(), json!({"epoch": 7, "hosts": ["host-3"]}));
    assert!(answer.to_lowercase().contains("cache-control: no-store"), "{answer}");

    let (status, answer) = page.get("/metrics");
    assert_eq!(status, 200);
    assert!(answer.contains("application/openmetrics-text; version=1.0.0"), "{answer}");
    let lines: Vec<_> = body(&answer).lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, ["timeplane_slots_opened_total 42"]);
    assert!(body(&answer).ends_with("# EOF\n"));

    assert_eq!(page.get("/ready").0, 503);
    page.is_ready.store(true, Ordering::SeqCst);
    assert_eq!(page.get("/ready").0, 200);
    assert_eq!(page.get("/else").0, 404);
}

#[test]
fn nothing_is_said_without_the_token() {
    let page = page("token");
    let (host, address) = (page.host(), page.page.address());
    for path in ["/status", "/metrics", "/ready", "/else"] {
        for authorization in ["", "Bearer", "Bearer 00", &page.token, &format!("Basic {}", page.token)] {
            let (status, answer) = ask(address, path, &[("Host", &host), ("Authorization", authorization)]);
            assert_eq!(status, 401, "{path} {authorization}");
            assert!(!answer.contains(&page.token) && !answer.contains("epoch"), "{answer}");
        }
        assert_eq!(ask(address, path, &[("Host", &host)]).0, 401);
    }
}

#[test]
fn other_names_are_turned_away_whatever_they_know() {
    let page = page("host");
    let (address, port) = (page.page.address(), page.page.address().port());
    let token = format!("Bearer {}", page.token);
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", "127.0.0.1:1", "localhost", "a b"] {
        let (status, answer) = ask(address, "/status", &[("Host", host), ("Authorization", &token)]);
        assert_eq!(status, 421, "{host}");
        assert!(!answer.contains("epoch"), "{answer}");
    }
    assert_eq!(ask(address, "/status", &[("Authorization", &token)]).0, 400);
    let good = format!("localhost:{port}");
    assert_eq!(ask(address, "/status", &[("Host", &good), ("Authorization", &token)]).0, 200);
    let absolute = format!("http://evil.example:{port}/status");
    assert_eq!(ask(address, &absolute, &[("Host", &good), ("Authorization", &token)]).0, 421);
    let twice = [("Host", good.as_str()), ("Host", "evil.example"), ("Authorization", &token)];
    assert_eq!(ask(address, "/status", &twice).0, 400);
}

#[test]
fn a_token_is_private_new_each_time_and_gone_at_the_end() {
    let first = page("file");
    let path = first.page.token().to_owned();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(first.token.len(), 64);
    let listen = "127.0.0.1:0".parse().unwrap();
    let second = StatusPage::start(listen, &path, Metrics::new(), || Value::Null, || true).unwrap();
    let token = std::fs::read_to_string(&path).unwrap();
    assert_ne!(token.trim(), first.token);
    // That of another is left alone.
    drop(first.page);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), token);
    drop(second);
    assert!(!path.exists());
    let missing = StatusPage::start(listen, first.dir.join("no/token"), Metrics::new(), || Value::Null, || true);
    assert!(missing.unwrap_err().to_string().contains("no/token"));
}

#[test]
fn only_loopback_is_listened_on() {
    let dir = Scratch::new("status-loopback");
    for listen in ["0.0.0.0:0", "[::]:0", "10.0.0.1:0"] {
        let page =
            StatusPage::start(listen.parse().unwrap(), dir.join("token"), Metrics::new(), || Value::Null, || true);
        assert!(matches!(page, Err(StatusError::NotLoopback { .. })), "{listen}");
    }
    assert!(!dir.join("token").exists());
}

/// If those behind each other waited for the end of those before, this would take a minute.
#[test]
fn those_who_say_nothing_or_have_no_token_keep_nobody_out() {
    let page = page("silent");
    let connect = |says: &str| {
        let mut stream = TcpStream::connect(page.page.address()).unwrap();
        // It may have ended already.
        let _ = stream.write_all(says.as_bytes());
        stream
    };
    let request = format!("GET /status HTTP/1.1\r\nHost: {}\r\n\r\n", page.host());
    for says in ["", "GET /sta", &request] {
        let others: Vec<TcpStream> = (0..4 * listener::CONNECTIONS).map(|_| connect(says)).collect();
        assert_eq!(page.get("/status").0, 200, "{says:?}");
        drop(others);
    }
}

/// A page with events, of a controller that plans nothing.
fn shown(name: &str) -> (Page, Arc<crate::watch::Watch>) {
    let dir = Scratch::new(&format!("status-{name}"));
    let about = crate::watch::About {
        scenario: "lab.toml".into(),
        scheme: "slots".into(),
        plan: crate::watch::Kind::Slots,
        hosts: 2,
        rate: timeplane_model::Rate::mbps(50),
        place: 0,
        epoch: 1,
        dark: timeplane_model::Duration::ZERO,
        late_after: None,
    };
    let (watch, planned) = crate::watch::Watch::new(about);
    let publisher =
        Publisher::new(Arc::clone(&watch), planned, crate::controller::Known::default, || json!({ "rounds": 5 }));
    let digits = "0123456789abcdef".repeat(4);
    std::fs::write(dir.join("given"), format!("{digits}\n")).unwrap();
    let given = Some(Token::read(&dir.join("given")).unwrap());
    let listen = "127.0.0.1:0".parse().unwrap();
    let metrics = Metrics::new();
    let page =
        StatusPage::with_page(listen, dir.join("token"), given, metrics, || Value::Null, || true, publisher).unwrap();
    (Page { page, token: digits, is_ready: Arc::default(), dir }, watch)
}

#[test]
fn a_page_is_for_everybody_and_what_it_shows_is_not() {
    let (page, _watch) = shown("page");
    let (host, address) = (page.host(), page.page.address());
    let (status, answer) = ask(address, "/", &[("Host", &host)]);
    assert_eq!(status, 200);
    let head = answer.split_once("\r\n\r\n").unwrap().0.to_lowercase();
    assert!(head.contains("content-type: text/html") && head.contains("cache-control: no-store"), "{head}");
    let policy = head.lines().find(|l| l.starts_with("content-security-policy: ")).unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("connect-src 'self'"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(!answer.contains("lab.toml") && !answer.contains(&page.token), "it says nothing of the network");
    for path in ["/events", "/observed", "/status", "//", "/index.html"] {
        assert_eq!(ask(address, path, &[("Host", &host)]).0, 401, "{path}");
    }
    assert_eq!(ask(address, "/", &[("Host", &format!("evil.example:{}", address.port()))]).0, 421);
    // Agents have none, and say nothing without a token.
    let agent = self::page("nopage");
    assert_eq!(ask(agent.page.address(), "/", &[("Host", &agent.host())]).0, 401);
    assert_eq!(agent.get("/").0, 404);
}

/// Events flow for longer than any other connection lasts, and a page that goes makes room.
#[test]
fn events_go_on() {
    let (page, watch) = shown("events");
    let began = std::time::Instant::now();
    let mut stream = TcpStream::connect(page.page.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let request =
        format!("GET /events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n", page.host(), page.token);
    stream.write_all(request.as_bytes()).unwrap();
    let (mut heard, mut buffer) = (String::new(), [0; 65536]);
    while began.elapsed() < listener::LIFETIME + Duration::from_secs(2) {
        let length = stream.read(&mut buffer).unwrap();
        assert!(length > 0, "it ended after {:?}", began.elapsed());
        heard += std::str::from_utf8(&buffer[..length]).unwrap();
    }
    assert!(heard.to_lowercase().contains("content-type: text/event-stream"), "{heard}");
    assert!(heard.contains("event: snapshot\ndata: {") && heard.contains("event: update\ndata: {"), "{heard}");
    assert!(heard.contains("\"scheme\":\"slots\"") && heard.contains("\"rounds\":5"), "{heard}");
    assert_eq!(watch.pages(), 1);
    drop(stream);
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while watch.pages() > 0 {
        assert!(std::time::Instant::now() < end, "it is told still");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_token_that_is_given_has_to_be_one() {
    let dir = Scratch::new("status-given");
    for text in ["", "0123", &"g".repeat(64), &"0".repeat(65)] {
        std::fs::write(dir.join("given"), text).unwrap();
        let said = Token::read(&dir.join("given")).unwrap_err().to_string();
        assert!(said.contains("64 hexadecimal digits") && (text.is_empty() || !said.contains(text)), "{said}");
    }
    assert!(Token::read(&dir.join("missing")).unwrap_err().to_string().contains("missing"));
}
