//! Max-min fair shares of integers.
//!
//! Nobody gets more than asked for, and nobody could get more without taking from somebody who has
//! less.

/// Shares `capacity` fairly over `wants`, into `shares`. Where the last bytes cannot be split
/// evenly, those that come first get one more.
pub fn fair_share(wants: &[u64], capacity: u64, shares: &mut Vec<u64>) {
    shares.clear();
    shares.resize(wants.len(), 0);
    let mut left = capacity;
    let mut open = wants.iter().filter(|want| **want > 0).count() as u64;
    // The level rises to an even share of what is left, until nobody is served in full by that.
    let mut level = 0u64;
    while open > 0 && left >= open {
        let rise = left / open;
        let mut served = 0;
        for (share, &want) in shares.iter_mut().zip(wants).filter(|(share, want)| **share == level && **want > level) {
            let more = rise.min(want - level);
            *share += more;
            left -= more;
            served += u64::from(*share == want);
        }
        level += rise;
        open -= served;
        if served == 0 {
            break;
        }
    }
    for (share, want) in shares.iter_mut().zip(wants) {
        if left > 0 && *share == level && *want > level {
            *share += 1;
            left -= 1;
        }
    }
}
