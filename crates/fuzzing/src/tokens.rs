//! Words, numbers and quoted texts of an input, which changes replace as a whole.
//!
//! A replaced word leaves the text well-formed more often than a changed byte does, so that later
//! steps of a parser are reached.

use std::ops::Range;

fn in_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'+') || b >= 0x80
}

/// The token around a place, or the next one; `None` if there is none behind it.
pub(crate) fn at(text: &[u8], place: usize) -> Option<Range<usize>> {
    let first = (place..text.len()).find(|i| in_word(text[*i]) || matches!(text[*i], b'"' | b'\''))?;
    if matches!(text[first], b'"' | b'\'') {
        let end = text[first + 1..].iter().position(|b| *b == text[first] || *b == b'\n')?;
        return Some(first..first + end + 2);
    }
    let begin = text[..first].iter().rposition(|b| !in_word(*b)).map_or(0, |i| i + 1);
    let end = text[first..].iter().position(|b| !in_word(*b)).map_or(text.len(), |i| first + i);
    Some(begin..end)
}

/// The line around a place, with its end.
pub(crate) fn line(text: &[u8], place: usize) -> Range<usize> {
    let place = place.min(text.len());
    let begin = text[..place].iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    let end = text[place..].iter().position(|b| *b == b'\n').map_or(text.len(), |i| place + i + 1);
    begin..end
}

/// Whether a token starts like a number.
pub(crate) fn is_number(token: &[u8]) -> bool {
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    digits.first().is_some_and(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_words_and_quoted_texts() {
        let text = b"rate = \"10 Gb/s\" # x\nload = 0.5\n";
        let of = |place| at(text, place).map(|r| std::str::from_utf8(&text[r]).unwrap());
        assert_eq!([of(2), of(5), of(29), of(32)], [Some("rate"), Some("\"10 Gb/s\""), Some("0.5"), None]);
        assert_eq!(line(text, 22), 21..32);
        assert!(is_number(b"-0.5") && !is_number(b"rate"));
    }

    #[test]
    fn a_quotation_that_does_not_end_is_a_token_up_to_its_line() {
        assert_eq!(at(b"a\n\"bc\n", 1), Some(2..6));
        assert_eq!(at(b"\"", 0), None);
    }
}
