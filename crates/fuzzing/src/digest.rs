//! Hashes that are the same in every run: of inputs, for the names of their files, and of messages
//! without what differs from input to input.

/// FNV-1a. Inputs are few, so 64 bits are enough.
pub(crate) fn of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

/// The hash of a message without its numbers and without what it quotes.
pub(crate) fn of_message(message: &str) -> u64 {
    of(plain(message).as_bytes())
}

/// The first words of a message without numbers and quotations.
pub(crate) fn plain(message: &str) -> String {
    let mut quoted = None;
    let mut kept = String::new();
    for c in message.chars().take(400) {
        match quoted {
            Some(end) if c == end => quoted = None,
            Some(_) => {}
            None if c == '`' || c == '"' => quoted = Some(c),
            None if c.is_ascii_digit() => {
                if !kept.ends_with('0') {
                    kept.push('0');
                }
            }
            None => kept.push(c),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_one_kind_have_one_hash() {
        let [one, same, other] = ["line 12: `a`: expected a rate", "line 7: `b c`: expected a rate", "line 7: no rate"];
        assert_eq!(of_message(one), of_message(same));
        assert_ne!(of_message(one), of_message(other));
    }
}
