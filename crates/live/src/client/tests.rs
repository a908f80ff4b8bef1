//! Tests of a program's streams against a fake agent.
//!
//! The agent serves one connection with a script of the test.

use super::*;
use crate::scratch::Scratch;
use serde_json::Value;
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;
use std::time::Duration;

const PATIENCE: Option<Duration> = Some(Duration::from_secs(30));

/// An agent for one connection: what it was asked, and what `f` makes of the rest.
struct Fake<T> {
    agent: Agent,
    thread: JoinHandle<(Value, T)>,
    _dir: Scratch,
}

impl<T: Send + 'static> Fake<T> {
    fn new(name: &str, f: impl FnOnce(&mut BufReader<UnixStream>) -> T + Send + 'static) -> Self {
        let dir = Scratch::new(&format!("client-{name}"));
        let listener = UnixListener::bind(dir.join("agent")).unwrap();
        let agent = Agent::new(dir.join("agent"));
        let thread = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(PATIENCE).unwrap();
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            let result = f(&mut stream);
            (serde_json::from_str(&line).unwrap(), result)
        });
        Self { agent, thread, _dir: dir }
    }
    fn end(self) -> (Value, T) {
        self.thread.join().unwrap()
    }
}

fn say(stream: &mut BufReader<UnixStream>, text: &str) {
    stream.get_mut().write_all(text.as_bytes()).unwrap();
}

fn all(stream: &mut BufReader<UnixStream>) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

/// More than sockets hold.
fn long() -> Vec<u8> {
    (0..3_000_000u32).map(|i| (i % 251) as u8).collect()
}

#[test]
fn a_stream_is_sent_and_delivered() {
    for length in [None, Some(long().len() as u64)] {
        let fake = Fake::new("send", |stream| {
            say(stream, "{\"ok\": {\"stream\": 1}}\n");
            let bytes = all(stream);
            say(stream, &format!("{{\"delivered\": {}}}\n", bytes.len()));
            bytes
        });
        let mut sender = fake.agent.send(HostId(3), 7, length).unwrap();
        sender.set_timeout(PATIENCE).unwrap();
        sender.write_all(&long()).unwrap();
        assert_eq!(sender.finish().unwrap(), 3_000_000);
        let (asked, bytes) = fake.end();
        assert_eq!(asked, json!({"send": {"to": 3, "port": 7, "length": length}}));
        assert!(bytes == long());
    }
}

#[test]
fn a_stream_is_received() {
    for length in ["null", "3000000"] {
        let fake = Fake::new("receive", move |stream| {
            // Bytes come with the lines, as they may.
            say(stream, &format!("{{\"ok\": {{}}}}\n{{\"from\": 5, \"length\": {length}}}\n"));
            stream.get_mut().write_all(&long()).unwrap();
        });
        let mut receiver = fake.agent.receive(9).unwrap();
        receiver.set_timeout(PATIENCE).unwrap();
        assert_eq!(receiver.source().unwrap(), Source { host: HostId(5), length: length.parse().ok() });
        let mut bytes = Vec::new();
        receiver.read_to_end(&mut bytes).unwrap();
        assert!(bytes == long());
        assert_eq!(fake.end().0, json!({"receive": {"port": 9}}));
    }
}

#[test]
fn what_the_agent_says_against_it_is_told() {
    let fake = Fake::new("refuse", |stream| say(stream, "{\"error\": \"host 99 is not in the fabric\"}\n"));
    let error = fake.agent.send(HostId(99), 0, None).unwrap_err();
    assert_eq!(error.to_string(), "the agent reports: host 99 is not in the fabric");
    fake.end();

    // In the middle of a stream.
    let fake = Fake::new("refuse-late", |stream| {
        say(stream, "{\"ok\": {}}\n");
        stream.read_exact(&mut [0; 1000]).unwrap();
        say(stream, "{\"error\": \"host 3 is gone\"}\n");
    });
    let mut sender = fake.agent.send(HostId(3), 0, None).unwrap();
    sender.set_timeout(PATIENCE).unwrap();
    let error = (0..100).find_map(|_| sender.write_all(&long()).err()).expect("it is refused");
    // Where the agent leaves bytes unread the system forgets what it said.
    let text = error.to_string();
    assert!(text.contains("host 3 is gone") || text.contains("has gone"), "{text}");
    fake.end();

    // At its end.
    let fake = Fake::new("refuse-end", |stream| {
        say(stream, "{\"ok\": {}}\n");
        all(stream);
        say(stream, "{\"error\": \"host 3 is gone\"}\n");
    });
    let mut sender = fake.agent.send(HostId(3), 0, None).unwrap();
    sender.write_all(b"some").unwrap();
    assert!(matches!(sender.finish(), Err(ClientError::Refused(text)) if text == "host 3 is gone"));
    fake.end();
}

#[test]
fn an_agent_that_dies_is_no_success() {
    let fake = Fake::new("dies-first", |_| ());
    assert!(matches!(fake.agent.send(HostId(3), 0, None), Err(ClientError::Gone(_))));
    fake.end();

    let fake = Fake::new("dies", |stream| {
        say(stream, "{\"ok\": {}}\n");
        all(stream);
    });
    let mut sender = fake.agent.send(HostId(3), 0, None).unwrap();
    sender.write_all(b"some").unwrap();
    assert!(matches!(sender.finish(), Err(ClientError::Gone(_))));
    fake.end();

    // Half a line is none.
    let fake = Fake::new("dies-line", |stream| {
        say(stream, "{\"ok\": {}}\n");
        all(stream);
        say(stream, "{\"delivered\": 4}");
    });
    let mut sender = fake.agent.send(HostId(3), 0, None).unwrap();
    sender.write_all(b"some").unwrap();
    assert!(matches!(sender.finish(), Err(ClientError::Gone(_))));
    fake.end();

    let fake = Fake::new("dies-receive", |stream| say(stream, "{\"ok\": {}}\n"));
    let mut receiver = fake.agent.receive(0).unwrap();
    assert!(matches!(receiver.source(), Err(ClientError::Gone(_))));
    fake.end();
}

#[test]
fn what_is_short_or_long_is_an_error() {
    let fake = Fake::new("short", |stream| say(stream, "{\"ok\": {}}\n{\"from\": 1, \"length\": 10}\nonly"));
    let mut receiver = fake.agent.receive(0).unwrap();
    let error = receiver.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (io::ErrorKind::UnexpectedEof, "received 4 B: expected 10 B")
    );
    fake.end();

    let fake = Fake::new("long", |stream| say(stream, "{\"ok\": {}}\n{\"from\": 1, \"length\": 3}\nmore"));
    let mut receiver = fake.agent.receive(0).unwrap();
    assert!(receiver.read_to_end(&mut Vec::new()).unwrap_err().to_string().contains("more than the 3 B"));
    fake.end();

    let fake = Fake::new("delivered", |stream| {
        say(stream, "{\"ok\": {}}\n");
        all(stream);
        say(stream, "{\"delivered\": 3}\n");
    });
    let mut sender = fake.agent.send(HostId(3), 0, None).unwrap();
    sender.write_all(b"some").unwrap();
    assert!(matches!(sender.finish(), Err(ClientError::Short { got: 3, expected: 4 })));
    fake.end();

    let fake = Fake::new("told", |stream| {
        say(stream, "{\"ok\": {}}\n");
        all(stream)
    });
    let mut sender = fake.agent.send(HostId(3), 0, Some(5)).unwrap();
    let error = sender.write_all(b"longer").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
    drop(sender);
    assert_eq!(fake.end().1, b"longe");
}

#[test]
fn a_reset_is_no_end() {
    let fake = Fake::new("reset", |stream| {
        say(stream, "{\"ok\": {}}\n{\"from\": 1, \"length\": null}\nsome");
        // Waits for the byte below and leaves it unread, which makes the system send a reset.
        let fd = std::os::fd::AsRawFd::as_raw_fd(stream.get_ref());
        nix::sys::socket::recv(fd, &mut [0], nix::sys::socket::MsgFlags::MSG_PEEK).unwrap();
    });
    let mut receiver = fake.agent.receive(0).unwrap();
    let mut bytes = [0; 4];
    receiver.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"some");
    receiver.stream.get_mut().write_all(b"x").unwrap();
    let error = receiver.read(&mut bytes).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{error}");
    fake.end();
}

#[test]
fn nonsense_and_nobody_are_errors() {
    for nonsense in ["hello\n", "{\"ok\"\n", "{}\n", "\n", "{\"delivered\": 1}\n", "\u{fffd}\n"] {
        let fake = Fake::new("nonsense", move |stream| say(stream, nonsense));
        assert!(matches!(fake.agent.receive(0), Err(ClientError::Nonsense(_))), "{nonsense}");
        fake.end();
    }
    let fake = Fake::new("endless", |stream| {
        // It is not read to its end.
        let _ = stream.get_mut().write_all(&vec![b'a'; 1 << 20]);
    });
    assert!(matches!(fake.agent.receive(0), Err(ClientError::Nonsense(text)) if text.len() <= 80));
    fake.end();
    let dir = Scratch::new("client-nobody");
    let message = Agent::new(dir.join("agent")).receive(0).unwrap_err().to_string();
    assert!(message.contains("no agent at") && message.contains("timeplane live agent"), "{message}");
}
