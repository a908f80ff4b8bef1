//! How hosts join and leave: their greetings, and what all hosts are told then.
//!
//! A greeting makes work for everybody, because each joined host gets a new list. So a host may
//! greet only now and then, however often it connects, and hosts are told once of all that has
//! changed together. A MAC address belongs to the host that joined with it first. Otherwise a host
//! could take the frames of another one, and an observer would accuse that one of what it sends.

use super::{COUNTS_EVERY_MS, Controller, Host};
use crate::channel::PeerId;
use crate::clock;
use crate::notes::{Hello, JoinedHost, Note, Welcome, bytes_of, digits_of};
use crate::tokens::{Allowance, Tokens};
use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use timeplane_model::{Backlog, HostId, LinkId, Time};
use timeplane_protocol::wire::{HostSecret, MacAddress, SignalEncoding, SignalKey};
use timeplane_protocol::{Address, BacklogReport, Input, Message};

/// How often a host may greet. One that restarts again and again, or whose connection breaks, does
/// so once each time.
const HELLOS: Allowance = Allowance { per_second: 2, burst: 20 };
/// Number of greetings beyond that after which a host's connection ends.
const PATIENCE: u32 = 50;

/// Greetings of hosts, counted by host and not by connection, so that a new connection is no new
/// start.
#[derive(Debug, Default)]
pub(super) struct Hellos(BTreeMap<HostId, Heard>);

#[derive(Debug)]
struct Heard {
    tokens: Tokens,
    /// Greetings in a row that were too many.
    excess: u32,
}

/// What becomes of a greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Taken,
    Excess,
    /// It goes on for too long.
    Flood,
}

impl Hellos {
    /// Judges one more greeting of a host.
    pub(super) fn judge(&mut self, host: HostId, now: Time) -> Verdict {
        let new = || Heard { tokens: Tokens::new(HELLOS), excess: 0 };
        let heard = self.0.entry(host).or_insert_with(new);
        if heard.tokens.is_full(now) {
            heard.excess = 0;
        }
        if heard.tokens.take(now) {
            return Verdict::Taken;
        }
        heard.excess = heard.excess.saturating_add(1);
        if heard.excess > PATIENCE { Verdict::Flood } else { Verdict::Excess }
    }
}

impl Controller {
    /// Handles the greeting of a host. An error is for its log.
    pub(super) fn hello(&mut self, peer: PeerId, hello: Hello) -> Result<(), String> {
        let name = self.names.get(&peer).cloned().unwrap_or_default();
        let host = HostId(hello.host);
        // A certificate is valid for its own host only.
        if name != format!("host-{}", hello.host) {
            return Err(format!("the certificate of `{name}` is not valid for host {}", hello.host));
        }
        if hello.host >= self.host_plan.hosts {
            return Err(format!("unknown host {}: expected 0 to {}", hello.host, self.host_plan.hosts - 1));
        }
        self.limit_hellos(peer, host)?;
        let mac: MacAddress = hello.mac.parse().map_err(|e| format!("{e}"))?;
        self.check_mac(host, mac)?;
        let key = bytes_of(&hello.key).map(SignalKey).ok_or("invalid key: expected 32 hexadecimal digits")?;
        let secret = match (&hello.secret, self.config.seals) {
            (Some(digits), true) => {
                Some(bytes_of(digits).map(HostSecret).ok_or("invalid secret: expected 64 hexadecimal digits")?)
            }
            (None, false) => None,
            (found, expected) => {
                let name = |seals| if seals { "siphash" } else { "none" };
                let (found, expected) = (name(found.is_some()), name(expected));
                return Err(format!("`seal` of host {} is \"{found}\": expected \"{expected}\"", hello.host));
            }
        };
        if self.epochs.is_impossible(hello.epoch) {
            return Err(format!("epoch {} of host {} is impossible", hello.epoch, hello.host));
        }
        if let Some(&known) = self.newest.get(&host).filter(|known| **known > hello.epoch) {
            if !self.hosts.contains_key(&host) {
                // Its epoch file was lost, and its clock was ahead before.
                self.note_to(peer, &Note::Epoch(known));
            }
            return Err(format!("host {} has joined with a newer agent, of epoch {known}", hello.host));
        }
        if self.config.encoding == SignalEncoding::Udp && hello.ip.is_none() {
            return Err(format!("host {} has no IPv4 address, which signals in datagrams need", hello.host));
        }
        let Hello { ip, epoch, mtu, .. } = hello;
        let of = Host { peer, mac, ip, key, secret, epoch, mtu, sequence: 0 };
        self.newest.insert(host, epoch);
        let before = self.hosts.insert(host, of);
        if before.is_some_and(|before| Host { mtu, sequence: 0, ..before } == of) {
            // The same agent, which tells another MTU. Its reports go on.
            self.hosts.entry(host).and_modify(|h| h.sequence = before.map_or(0, |b| b.sequence));
        } else {
            self.counters.joined.fetch_add(1, Relaxed);
            self.arrivals.say(clock::now(), |more| tracing::info!("host {} joined from {mac}{more}", host.0));
        }
        self.hosts_changed = true;
        Ok(())
    }

    fn limit_hellos(&mut self, peer: PeerId, host: HostId) -> Result<(), String> {
        let verdict = self.hellos.judge(host, clock::now());
        if verdict == Verdict::Taken {
            return Ok(());
        }
        self.counters.hellos_too_often.fetch_add(1, Relaxed);
        // A host that has not joined by this connection only greets again if it connects again.
        let joined = self.hosts.get(&host).is_some_and(|h| h.peer == peer);
        if !joined || verdict == Verdict::Flood {
            self.server.close(peer);
            if joined {
                // Now, as more may have arrived already.
                self.leave(host);
            }
        }
        let Allowance { per_second, .. } = HELLOS;
        Err(format!("host {} says hello too often: expected up to {per_second} times a second", host.0))
    }

    /// Whether a host may have this address.
    fn check_mac(&self, host: HostId, mac: MacAddress) -> Result<(), String> {
        if mac.0[0] & 1 != 0 || mac.0 == [0; 6] {
            return Err(format!("host {} claims {mac}: expected the address of an interface", host.0));
        }
        if self.config.interfaces.iter().any(|interface| interface.mac == mac) {
            return Err(format!("host {} claims {mac}, which is this controller's address", host.0));
        }
        match self.hosts.iter().find(|(other, of)| **other != host && of.mac == mac) {
            Some((holder, _)) => {
                Err(format!("host {} claims {mac}, the address of host {}, which is connected", host.0, holder.0))
            }
            None => Ok(()),
        }
    }

    /// Handles a host that has left: its backlog is dropped, and no host sends to it.
    pub(super) fn leave(&mut self, host: HostId) {
        let Some(left) = self.hosts.remove(&host) else { return };
        self.counters.left.fetch_add(1, Relaxed);
        self.arrivals.say(clock::now(), |more| tracing::warn!("host {} left{more}", host.0));
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner).left.insert(host.0, clock::now());
        let now = self.clock.read(clock::now());
        // Newer than all of its reports. If its agent lives and only the connection was lost, its
        // second next report is newer than this.
        let sequence = left.sequence.saturating_add(1);
        let (epoch, backlog) = (left.epoch, Backlog::default());
        let report = BacklogReport { epoch, sequence, taken_at: now, obeys: 0, heard: 0, backlog };
        self.tell(now, Input::Message { from: Address::Host(host), message: Message::Report(Box::new(report)) });
        self.hosts_changed = true;
    }

    /// Tells the plan and all hosts who is there, if that has changed.
    pub(super) fn tell_hosts(&mut self) {
        if std::mem::take(&mut self.hosts_changed) {
            self.tell_links();
            self.welcome();
        }
    }

    /// Reports the links of hosts that have not joined as down.
    pub(super) fn tell_links(&mut self) {
        let fabric = self.plan.fabric();
        let missing: Vec<HostId> = (0..fabric.hosts()).map(HostId).filter(|h| !self.hosts.contains_key(h)).collect();
        let dead = |node| missing.iter().any(|h| h.node() == node);
        let links = fabric.links().iter().enumerate();
        let links = links.filter(|(_, l)| dead(l.from) || dead(l.to)).map(|(i, _)| LinkId(i as u32)).collect();
        let now = self.clock.read(clock::now());
        self.tell(now, Input::Down(links));
    }

    fn welcome(&mut self) {
        {
            let mut state = self.state.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.joined = self.hosts.iter().map(|(h, of)| (h.0, of.mac.to_string())).collect();
            state.left.retain(|host, _| !self.hosts.contains_key(&HostId(*host)));
        }
        let counts_every_ms = if self.watch.is_some() { COUNTS_EVERY_MS } else { 0 };
        for (&to, host) in &self.hosts {
            let welcome = Welcome::new(&self.host_plan, self.joined_for(to), counts_every_ms);
            self.note_to(host.peer, &Note::Welcome(welcome));
        }
    }

    /// The joined hosts as one of them gets to know them: with the keys of its own frames only.
    fn joined_for(&self, reader: HostId) -> Vec<JoinedHost> {
        let joined = |(&owner, of): (&HostId, &Host)| JoinedHost {
            host: owner.0,
            mac: of.mac.to_string(),
            epoch: of.epoch,
            key: of.secret.map(|secret| digits_of(&secret.key_of(reader, owner).0)),
            mtu: of.mtu,
        };
        self.hosts.iter().map(joined).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::Duration;

    #[test]
    fn a_flood_of_hellos_is_cut_off_and_a_host_that_restarts_is_not() {
        let mut hellos = Hellos::default();
        let begin = Time::ZERO + Duration::from_secs(100);
        // 20,000 a second for ten seconds.
        let flood: Vec<Verdict> =
            (0..200_000).map(|i| hellos.judge(HostId(1), begin + Duration::from_us(50 * i))).collect();
        let taken = flood.iter().filter(|v| **v == Verdict::Taken).count();
        assert_eq!(taken, 20 + 2 * 10 - 1);
        let first = flood.iter().position(|v| *v == Verdict::Flood);
        assert_eq!(first, Some(20 + PATIENCE as usize));
        // Others are not limited by it, and restart once a second without end.
        let mut restart = |second| hellos.judge(HostId(2), begin + Duration::from_secs(second));
        assert!((0..1000).all(|second| restart(second) == Verdict::Taken));
        // Later it may greet again.
        assert_eq!(hellos.judge(HostId(1), begin + Duration::from_secs(60)), Verdict::Taken);
    }
}
