//! Which epochs of controllers and hosts are possible.
//!
//! Epochs only grow, so an invented one near the end of the numbers would leave no room for the
//! next controller.

/// How far above its own first epoch a controller believes hosts. Daemons count from the seconds
/// since 2024, so another controller's clock may be 34 years ahead.
const BELIEVED: u32 = 1 << 30;
/// From here on an epoch is impossible: no controller gets there by what it believes.
const IMPOSSIBLE: u32 = 1 << 31;

/// The epochs that a controller knows from itself and from other controllers. It believes those,
/// and hosts within bounds that do not move by what hosts tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownEpochs {
    own: u32,
    heard: u32,
}

impl KnownEpochs {
    /// Known is the controller's own epoch when it started.
    pub const fn new(own: u32) -> Self {
        Self { own, heard: own }
    }

    /// Takes the epoch of a controller, from the controller itself.
    pub fn hear(&mut self, epoch: u32) {
        self.heard = self.heard.max(epoch);
    }

    /// Whether a controller may have the epoch that a host tells.
    pub fn believes(&self, told: u32) -> bool {
        told <= self.heard || told < self.own.saturating_add(BELIEVED)
    }

    /// Whether nobody can have the epoch that a host tells.
    pub fn is_impossible(&self, told: u32) -> bool {
        told > self.heard && told >= self.own.saturating_add(IMPOSSIBLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hosts_tell_is_bounded_and_what_controllers_tell_is_not() {
        let (mut known, twenty_years) = (KnownEpochs::new(90_000_000), 20 * 365 * 86_400);
        assert!(known.believes(0) && known.believes(90_000_000 + twenty_years));
        assert!(!known.believes(90_000_000 + BELIEVED) && !known.is_impossible(90_000_000 + BELIEVED));
        assert!(known.is_impossible(90_000_000 + IMPOSSIBLE) && known.is_impossible(u32::MAX));
        known.hear(3 << 30);
        known.hear(7);
        assert!(known.believes(3 << 30) && !known.is_impossible(3 << 30));
        // Hosts cannot go on from there.
        assert!(!known.believes((3 << 30) + 1) && known.is_impossible((3 << 30) + 1));
        assert!(KnownEpochs::new(u32::MAX - 5).is_impossible(u32::MAX));
    }
}
