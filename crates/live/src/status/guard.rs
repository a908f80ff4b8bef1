//! Access to the status page: checks the `Host` header and the token of every request.
//!
//! The token is compared in constant time.

use super::Token;
use super::listener::Seat;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, HOST, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;

/// Requirements of a request.
pub(super) struct Guard {
    token: Token,
    port: u16,
    /// The page at `/` says nothing of the network, and has to be there before it can show a token.
    page: bool,
}

impl Guard {
    pub(super) fn new(token: Token, port: u16, page: bool) -> Self {
        Self { token, port, page }
    }

    /// Whether a `Host` header, or the authority of a URL, is loopback with the page's port.
    fn is_ours(&self, host: &str) -> bool {
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        // Digits only, as `parse` also accepts a sign.
        if !port.bytes().all(|b| b.is_ascii_digit()) || port.parse() != Ok(self.port) {
            return false;
        }
        let address = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
        name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok_and(|a| a.is_loopback())
    }

    /// Checks `Bearer` and the token (RFC 6750, section 2.1) in constant time.
    fn is_allowed(&self, authorization: &[u8]) -> bool {
        let Some((scheme, token)) = authorization.split_at_checked(7) else { return false };
        let ours = self.token.0.as_bytes();
        let differences = token.iter().zip(ours).fold(0, |sum, (a, b)| sum | a ^ b);
        scheme.eq_ignore_ascii_case(b"bearer ") && token.len() == ours.len() && differences == 0
    }

    /// Whether a request has the token.
    fn knows(&self, request: &Request) -> bool {
        self.is_allowed(request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default())
    }

    /// The answer to a refused request.
    fn refusal(&self, request: &Request) -> Option<Response> {
        let mut hosts = request.headers().get_all(HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().unwrap_or_default(),
            _ => return Some((StatusCode::BAD_REQUEST, "one Host header is needed\n").into_response()),
        };
        let authority = request.uri().authority().map(|a| a.as_str());
        if !self.is_ours(host) || !authority.is_none_or(|a| self.is_ours(a)) {
            let why = format!("this is localhost:{}, and answers to no other name\n", self.port);
            return Some((StatusCode::MISDIRECTED_REQUEST, why).into_response());
        }
        if self.page && request.uri().path() == "/" {
            return None;
        }
        if !self.knows(request) {
            let why =
                "a token is needed, from the file that the daemon names at its start: Authorization: Bearer TOKEN\n";
            return Some((StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], why).into_response());
        }
        None
    }
}

/// Lets a request through, or answers it.
pub(super) async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.refusal(&request) {
        None => {
            if let Some(ConnectInfo(seat)) = request.extensions().get::<ConnectInfo<Seat>>()
                && guard.knows(&request)
            {
                seat.know();
            }
            next.run(request).await
        }
        Some(response) => response,
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_loopback_with_the_port_and_no_others() {
        let guard = Guard::new(Token("token".to_owned()), 9100, false);
        for good in ["localhost:9100", "LocalHost:9100", "127.0.0.1:9100", "127.3.2.1:9100", "[::1]:9100"] {
            assert!(guard.is_ours(good), "{good}");
        }
        for bad in [
            "",
            ":",
            ":9100",
            "localhost",
            "localhost:",
            "localhost:9101",
            "localhost:+9100",
            "localhost:91000",
            "127.0.0.1",
            "10.0.0.1:9100",
            "evil.example:9100",
            "localhost.evil.example:9100",
            "127.0.0.1.evil.example:9100",
            "[::2]:9100",
            "evil@localhost:9100",
            "localhost:9100:9100",
            "localhost :9100",
            "0.0.0.0:9100",
        ] {
            assert!(!guard.is_ours(bad), "{bad}");
        }
    }

    #[test]
    fn the_token_and_nothing_like_it() {
        let guard = Guard::new(Token("token".to_owned()), 9100, false);
        for good in ["Bearer token", "bearer token"] {
            assert!(guard.is_allowed(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            "Bearer",
            "Bearer ",
            "token",
            "Bearer toke",
            "Bearer token ",
            "Bearer tokem",
            "Basic  token",
            "Bearer  token",
        ] {
            assert!(!guard.is_allowed(bad.as_bytes()), "{bad}");
        }
    }
}
