//! Warnings in a daemon's log before its certificate expires.
//!
//! They look at the files as they are, so a renewed certificate ends them.

use super::Identity;
use super::authority::DAY;
use crate::thread::Background;
use std::time::Duration;

/// Time before the end of a certificate from which on its daemon warns: 30 days.
const NOTICE: i64 = 30 * DAY as i64;

/// Warns once a day while a daemon's certificate has less than 30 days left, until it is dropped.
#[derive(Debug)]
pub struct ExpiryWarning {
    /// Its thread ends when the value is dropped.
    _thread: Background,
}

impl ExpiryWarning {
    /// Looks at the certificate at once, and then once a day.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(identity: &Identity) -> std::io::Result<Self> {
        let identity = identity.clone();
        let warn = async move {
            loop {
                if let Some(warning) = warning(identity.name(), identity.seconds_left()) {
                    tracing::warn!("{warning}");
                }
                tokio::time::sleep(Duration::from_secs(DAY)).await;
            }
        };
        Ok(Self { _thread: Background::start("tp-keys", warn)? })
    }
}

/// The line of the log, or `None` while there is time enough.
fn warning(name: &str, left: i64) -> Option<String> {
    let renew = format!("`timeplane live keys issue --force DIR {name}` makes a new one; no restart is needed");
    match left {
        ..=0 => Some(format!("the certificate of {name} has expired: peers refuse new connections; {renew}")),
        1..NOTICE => Some(format!("the certificate of {name} expires in {} days; {renew}", left / DAY as i64)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_start_a_month_before_the_end() {
        let day = DAY as i64;
        assert_eq!(warning("host-3", NOTICE), None);
        for (left, words) in [(NOTICE - 1, "expires in 29 days"), (day, "expires in 1 days"), (0, "has expired")] {
            let said = warning("host-3", left).unwrap();
            assert!(said.contains(words) && said.contains("issue --force DIR host-3"), "{said}");
        }
    }
}
