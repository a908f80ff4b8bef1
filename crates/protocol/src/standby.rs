//! Managers of slots that replace each other.

use crate::agent::{Address, Agent, Input, Output};
use crate::message::{Heartbeat, Message};
use crate::slots::{SlotManager, SlotManagerConfig};
use std::sync::Arc;
use timeplane_model::{Duration, Fabric, Time};
use timeplane_schedule::Scheduler;

/// Makes the scheduler of a manager that begins.
pub type MakeScheduler = Box<dyn Fn() -> Box<dyn Scheduler> + Send>;

/// One of several managers of slots for the same hosts, of which one leads.
///
/// The one that leads is a [`SlotManager`] and sends a [`Heartbeat`] to its peers with every round. One that has heard none for
/// [`takeover`](Self::new) leads from then on, with a higher epoch, so that hosts drop what the predecessor granted as soon as they hear of it; and it
/// grants nothing before [`memory`](SlotManagerConfig::memory) is over, so that all that the predecessor granted, or opened by a signal, is over
/// even at hosts that have heard nothing. So nobody sends in a foreign slot, and nobody is muted for longer than `takeover`, `memory`,
/// and the time from a report to its slot.
///
/// One that leads and hears of a peer with a higher epoch, as after it was cut off from the others for a while, follows from then on. Two that are
/// cut off from each other, but neither from the hosts, both lead for that long; hosts that have heard of the newer one obey it alone.
pub struct Standby {
    config: SlotManagerConfig,
    takeover: Duration,
    make: MakeScheduler,
    fabric: Arc<Fabric>,
    /// The highest epoch of a manager known, its own or a peer's.
    epoch: u32,
    /// When it was heard of last.
    heard: Time,
    leading: Option<SlotManager>,
    takeovers: u64,
}

impl Standby {
    /// A manager that follows: it leads once it has heard of no other for `takeover` from the configuration's start on. Longer than two rounds and a
    /// message, or the loss of one heartbeat deposes a manager that is well.
    pub fn new(config: SlotManagerConfig, takeover: Duration, make: MakeScheduler, fabric: Arc<Fabric>) -> Self {
        let config = SlotManagerConfig { heartbeats: true, ..config };
        let (epoch, heard) = (config.epoch, config.start);
        Self { config, takeover, make, fabric, epoch, heard, leading: None, takeovers: 0 }
    }

    /// A manager that leads from its start on.
    pub fn leading(config: SlotManagerConfig, takeover: Duration, make: MakeScheduler, fabric: Arc<Fabric>) -> Self {
        let mut standby = Self::new(config, takeover, make, fabric);
        let (config, fabric) = (standby.config, Arc::clone(&standby.fabric));
        standby.leading = Some(SlotManager::new(config, (standby.make)(), fabric));
        standby
    }

    /// The manager, where it leads.
    pub fn manager(&self) -> Option<&SlotManager> {
        self.leading.as_ref()
    }

    /// How often it has taken over.
    pub fn takeovers(&self) -> u64 {
        self.takeovers
    }

    fn hear(&mut self, now: Time, beat: Heartbeat) {
        if self.leading.is_some() {
            // Its own epoch is the highest that it knows.
            if beat.epoch <= self.epoch {
                return;
            }
            self.leading = None;
        } else if beat.epoch < self.epoch {
            return;
        }
        self.epoch = beat.epoch;
        self.heard = now;
    }

    fn take_over(&mut self, now: Time) {
        self.epoch += 1;
        self.takeovers += 1;
        let config = SlotManagerConfig { epoch: self.epoch, start: now, quiet: self.config.memory(), ..self.config };
        self.leading = Some(SlotManager::new(config, (self.make)(), Arc::clone(&self.fabric)));
    }
}

impl Agent for Standby {
    fn deadline(&self) -> Option<Time> {
        match &self.leading {
            Some(manager) => manager.deadline(),
            None => Some(self.heard.saturating_add(self.takeover)),
        }
    }

    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        if let Input::Message { from: Address::Peer, message: Message::Heartbeat(beat) } = input {
            return self.hear(now, beat);
        }
        let silent = self.heard.saturating_add(self.takeover) <= now;
        match &mut self.leading {
            Some(manager) => manager.handle(now, input, out),
            None if input == Input::Due && silent => self.take_over(now),
            // Reports are for the manager that leads; the next ones come before the first round is planned.
            None => {}
        }
    }
}
