//! Makes a failing input shorter, as long as it still fails for the same reason.
//!
//! Pieces are left out, large ones first.

/// The shortest input that was found with at most `attempts` calls of `fails`.
pub(crate) fn shrunk(input: &[u8], mut attempts: usize, mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut kept = input.to_vec();
    let mut piece = kept.len().div_ceil(2);
    while piece > 0 && attempts > 0 {
        let (mut at, before) = (0, kept.len());
        while at < kept.len() && attempts > 0 {
            let mut smaller = kept[..at].to_vec();
            smaller.extend_from_slice(kept.get(at + piece..).unwrap_or_default());
            attempts -= 1;
            if fails(&smaller) {
                kept = smaller;
            } else {
                at += piece;
            }
        }
        // A piece that could not go may go when others are gone.
        if piece > 1 || kept.len() == before {
            piece /= 2;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_fails_is_left() {
        let input: Vec<u8> = (0..200).collect();
        let fails = |i: &[u8]| i.contains(&7) && i.contains(&150);
        assert_eq!(shrunk(&input, 10_000, fails), [7, 150]);
        assert_eq!(shrunk(&input, 0, fails), input);
    }
}
