//! How an agent joins a controller: its greeting, and the controller's welcome.
//!
//! A welcome lists the joined hosts with their keys, and configures the agent.

use super::LiveAgent;
use crate::agent::pace::Pace;
use crate::channel::Record;
use crate::clock;
use crate::config::Late;
use crate::gate::GateConfig;
use crate::notes::{Hello, Note, Welcome, digits_of};
use std::sync::atomic::Ordering::Relaxed;
use timeplane_model::{Duration, HostId, Rate, Time};
use timeplane_protocol::{Detail, HostAgent, HostConfig, Reporting};

/// A controller's refusal.
#[derive(Debug)]
pub(super) struct Refused {
    why: String,
    /// When to greet the controller again, and how long after that: the reason may be gone by then,
    /// such as another host with this one's address.
    again: Time,
    pause: Duration,
}

/// Pauses before a controller is greeted again: the first, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

impl LiveAgent {
    /// Handles a controller's refusal. It is logged where it is news.
    pub(super) fn refused(&mut self, controller: usize, why: String) {
        let (now, before) = (clock::now(), self.refused.remove(&controller));
        if before.as_ref().is_none_or(|b| b.why != why) {
            self.troubles.say(now, |more| {
                tracing::error!("controller {controller} refuses this host: {why}{more}");
            });
        }
        let pause = before.map_or(PAUSES[0], |b| (b.pause * 2).min(PAUSES[1]));
        self.refused.insert(controller, Refused { why, again: now.saturating_add(pause), pause });
    }

    /// Greets controllers again that have refused this host a while ago.
    pub(super) fn greet_again(&mut self) {
        let now = clock::now();
        let due: Vec<usize> = self.refused.iter().filter(|(_, r)| r.again <= now).map(|(c, _)| *c).collect();
        for controller in due {
            // The answer sets the next time.
            if let Some(refused) = self.refused.get_mut(&controller) {
                refused.again = now.saturating_add(PAUSES[1]);
            }
            self.greet(controller);
        }
    }

    /// Tells a controller who this host is.
    pub(super) fn greet(&self, controller: usize) {
        let GateConfig { mac, key, .. } = &self.config.gate;
        let (host, epoch) = (self.config.host.0, self.config.epoch);
        let secret = Self::streams(&self.shared).config().secret.map(|secret| digits_of(&secret.0));
        let (mac, key, ip) = (mac.to_string(), digits_of(&key.0), self.config.ip);
        let hello = Hello { host, epoch, mac, ip, key, secret, mtu: Some(self.interface.mtu()) };
        if let Ok(note) = serde_json::to_value(Note::Hello(hello)) {
            // If the controller has left already, the agent greets it again when it is back.
            let _ = self.controllers[controller].send(Record::Note(note));
        }
    }

    /// Handles a controller's list of joined hosts and its configuration of agents.
    pub(super) fn welcome(&mut self, controller: usize, welcome: Welcome) {
        {
            let mut streams = Self::streams(&self.shared);
            let seals = streams.config().secret.is_some();
            for joined in &welcome.joined {
                let (number, epoch) = (joined.host, joined.epoch);
                let Some(peer) = joined.peer().filter(|peer| peer.key.is_some() == seals) else {
                    self.counters.malformed.fetch_add(1, Relaxed);
                    self.troubles.say(clock::now(), |more| {
                        tracing::error!(
                            "controller {controller} describes host {number} without a valid address and key{more}"
                        );
                    });
                    continue;
                };
                if let Some(known) = streams.set_peer(HostId(number), peer) {
                    self.troubles.say(clock::now(), |more| {
                        tracing::warn!(
                            "controller {controller} reports epoch {epoch} of host {number}: keeping epoch {known}{more}"
                        );
                    });
                }
            }
        }
        if let Some(told) = &mut self.on_joined {
            told(welcome.joined.len());
        }
        let same = self.welcome.as_ref().is_some_and(|w| {
            Welcome { joined: Vec::new(), ..w.clone() } == Welcome { joined: Vec::new(), ..welcome.clone() }
        });
        if !same {
            let now = clock::now();
            let config = HostConfig {
                host: self.config.host,
                epoch: self.config.epoch,
                start: now,
                fallback: Duration::from_ps(welcome.fallback_ps),
                reporting: Reporting {
                    // Sockets do not know coflows.
                    detail: if welcome.bursts { Detail::Bursts } else { Detail::Destinations },
                    on_change: welcome.on_change,
                    after_idle: welcome.after_idle_ps.map(Duration::from_ps),
                    after_grants: welcome.after_grants,
                },
                signals: welcome.signals,
            };
            if let Late::ByPlan = self.config.late {
                self.config.gate.late_after = welcome.late_after_ps.map(Duration::from_ps);
                if let Err(e) = self.gate.configure(&self.config.gate) {
                    self.troubles.say(now, |more| tracing::error!("{e}{more}"));
                }
            }
            self.link = Pace::new(now, Rate::bps(welcome.rate_bps));
            self.agent = Some(HostAgent::new(config));
        }
        self.welcome = Some(welcome);
    }
}
