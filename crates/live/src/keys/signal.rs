//! The key of signals.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// 128 random bits that a controller and one host share, for the tag of the frames that open and close gates. It is made at the controller's start, and
/// reaches the host through TLS.
///
/// Neither printed nor logged: `Debug` hides it. Serialised it is 32 digits of hex, which is for the inside of TLS alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SignalKey([u8; 16]);

/// No key could be made, or read.
#[derive(Debug, thiserror::Error)]
pub enum SignalKeyError {
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for a key")]
    Random,
    /// Not what a key looks like. The text is not repeated, as it may be most of a key.
    #[error("a key of signals is 32 digits of hex (0-9, a-f), not {length} bytes of text that are something else")]
    Text {
        /// Of the text.
        length: usize,
    },
}

impl SignalKey {
    /// A new one, from the system's random numbers.
    ///
    /// # Errors
    /// Where the system has none.
    pub fn random() -> Result<Self, SignalKeyError> {
        let mut key = [0; 16];
        let provider = rustls::crypto::ring::default_provider();
        provider.secure_random.fill(&mut key).map_err(|_| SignalKeyError::Random)?;
        Ok(Self(key))
    }
    /// Of bytes that are random already.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
    /// For the tag's computation.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for SignalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignalKey(hidden)")
    }
}

impl FromStr for SignalKey {
    type Err = SignalKeyError;
    fn from_str(text: &str) -> Result<Self, SignalKeyError> {
        let error = SignalKeyError::Text { length: text.len() };
        // `from_str_radix` also takes a sign.
        if text.len() != 32 || !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(error);
        }
        u128::from_str_radix(text, 16).map(|n| Self(n.to_be_bytes())).map_err(|_| error)
    }
}

impl Serialize for SignalKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:032x}", u128::from_be_bytes(self.0)))
    }
}

impl<'de> Deserialize<'de> for SignalKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
