//! Reads the metrics of a daemon in a lab from its status page.
//!
//! It uses the same request and token as a monitoring system would.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

/// Default port of the first controller's page.
pub(super) const PORT: u16 = 9464;

/// Address of a controller's page in its network namespace. The first controller's page is at
/// `port`.
pub(super) fn page(port: u16, place: u32) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port + place as u16).into()
}

/// Reads the metrics of a page on this thread's loopback. Labels are part of the names.
pub(super) fn read(page: SocketAddr, token: &Path) -> io::Result<BTreeMap<String, f64>> {
    let token = std::fs::read_to_string(token)?;
    let mut stream = TcpStream::connect(page)?;
    let patience = Some(Duration::from_secs(10));
    stream.set_read_timeout(patience).and_then(|()| stream.set_write_timeout(patience))?;
    let token = token.trim();
    let request =
        format!("GET /metrics HTTP/1.1\r\nHost: {page}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let Some((_, body)) = answer.split_once("\r\n\r\n").filter(|a| a.0.starts_with("HTTP/1.1 200 ")) else {
        return Err(io::Error::other(answer.lines().next().unwrap_or("no answer").to_owned()));
    };
    let value = |line: &str| {
        let (name, value) = line.rsplit_once(' ')?;
        let name = name.strip_prefix("timeplane_").unwrap_or(name);
        Some((name.strip_suffix("_total").unwrap_or(name).to_owned(), value.parse().ok()?))
    };
    Ok(body.lines().filter(|l| !l.starts_with('#')).filter_map(value).collect())
}
