//! Limits lines of the log that other machines can cause, so that they cannot fill a disk.
//!
//! What is left out is counted, and told with the next line.

use timeplane_model::{Duration, Time};

/// Lines at once, and the time after which there may be another one.
const BURST: u32 = 100;
const EVERY: Duration = Duration::from_ms(200);

/// A limit for lines of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Seldom {
    left: u32,
    /// Until when lines have been counted.
    counted: Time,
    skipped: u64,
}

impl Default for Seldom {
    fn default() -> Self {
        Self { left: BURST, counted: Time::ZERO, skipped: 0 }
    }
}

impl Seldom {
    /// Calls `line` if there may be one, with the end of the line: how many were left out before.
    pub(crate) fn say(&mut self, now: Time, line: impl FnOnce(&str)) {
        let more = ((now - self.counted).as_ps() / EVERY.as_ps()).clamp(0, i64::from(BURST)) as u32;
        if more > 0 {
            self.left = (self.left + more).min(BURST);
            self.counted = now;
        }
        if self.left == 0 {
            self.skipped += 1;
            return;
        }
        self.left -= 1;
        match std::mem::take(&mut self.skipped) {
            0 => line(""),
            skipped => line(&format!(" ({skipped} lines like this were left out)")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_few_lines_a_second() {
        let (mut seldom, mut lines) = (Seldom::default(), Vec::new());
        // 20,000 a second for ten seconds.
        for i in 0..200_000 {
            let now = Time::ZERO + Duration::from_us(50 * i);
            seldom.say(now, |end| lines.push(end.to_owned()));
        }
        assert_eq!(lines.len(), 100 + 49);
        assert!(lines[..100].iter().all(String::is_empty));
        assert_eq!(lines[100], " (3900 lines like this were left out)");
        // All that was left out is told.
        seldom.say(Time::ZERO + Duration::from_secs(60), |end| lines.push(end.to_owned()));
        let told: u64 = lines.iter().filter_map(|l| l.strip_prefix(" (")?.split(' ').next()?.parse::<u64>().ok()).sum();
        assert_eq!(told + lines.len() as u64, 200_001);
    }
}
