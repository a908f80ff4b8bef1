//! Checks the capture points of `record.capture`: their syntax, and that each exists under at least
//! one scheme.

use super::Checked;
use crate::Scenario;
use crate::capture::CapturePoint;
use crate::error::Problem;
use std::collections::BTreeSet;
use timeplane_model::nearest;

impl Checked {
    pub(super) fn capture(&mut self, s: &Scenario) {
        let mut named = BTreeSet::new();
        for (i, text) in s.record.capture.iter().enumerate() {
            let key = format!("record.capture.{i}");
            match text.parse::<CapturePoint>() {
                Err(_) => self.no_place(&key, text),
                Ok(point) => {
                    self.is_there(&key, point, s);
                    if !named.insert(point) {
                        self.conflict(&key, &format!("duplicate capture point `{point}`: expected it once"), None);
                    }
                }
            }
        }
    }

    /// Reports a text that is not a capture point, and suggests the kind and number that were
    /// probably meant.
    fn no_place(&mut self, key: &str, text: &str) {
        let begin = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
        let (word, number) = text.split_at(begin);
        let word = nearest(word.trim_matches(|c: char| !c.is_alphanumeric()), CapturePoint::WORDS);
        let number = number.trim().parse().unwrap_or(0u32);
        let problem = Problem::UnknownName {
            what: "capture point",
            found: text.to_owned(),
            nearest: word.map(|word| format!("{word} {number}")),
            allowed: CapturePoint::WORDS.iter().map(|w| format!("{w} NUMBER")).collect(),
        };
        self.error(key, problem, Some("expected `host N`, `link N` or `controller N`"));
    }

    /// A capture point must exist under at least one scheme; other schemes' fabrics and plans may
    /// lack it.
    fn is_there(&mut self, key: &str, point: CapturePoint, s: &Scenario) {
        let (word, number) = point.parts();
        let counts = s.scheme.iter().filter_map(|(name, scheme)| Some(point.count(&*s.seen_by(name)?, scheme)));
        let Some(count) = counts.max() else { return };
        if u128::from(number) < count {
            return;
        }
        let Some(last) = count.checked_sub(1) else {
            return self.conflict(key, "no controller: expected a scheme with a plan", None);
        };
        let problem = Problem::UnknownName {
            what: word,
            found: point.to_string(),
            nearest: Some(format!("{word} {last}")),
            allowed: vec![format!("{word} 0 to {word} {last}")],
        };
        self.error(key, problem, Some(&format!("{word}s are numbered 0 to {last}")));
    }
}
