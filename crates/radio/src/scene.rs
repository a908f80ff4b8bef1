//! A link in a room with moving people and things, as a trace of beam matrices.
//!
//! A matrix holds the received power of every pair of beams.

use crate::angle::{Angle, Direction};
use crate::antenna::Antenna;
use crate::decibel::Dbm;
use crate::propagation::{Blocker, Path, Room, RoomError, received_by_paths};
use crate::space::{Frequency, Point};
use crate::trace::{BeamTrace, MatrixError};
use timeplane_model::Duration;

/// Two antennas in a room, each with beams at angles to the straight line to the other, tilted like
/// that line.
#[derive(Clone, Debug)]
pub struct Scene {
    paths: Vec<Path>,
    sender: (Antenna, Vec<Direction>),
    receiver: (Antenna, Vec<Direction>),
    angles: (Vec<Angle>, Vec<Angle>),
    carrier: Frequency,
    power: Dbm,
}

impl Scene {
    /// A scene with the power into the antenna and two lists of beams (azimuth relative to the
    /// direct line).
    ///
    /// # Errors
    /// If an antenna is outside the room or inside a box.
    pub fn new(
        room: &Room,
        (from, sends, tx): (Point, Antenna, &[Angle]),
        (to, listens, rx): (Point, Antenna, &[Angle]),
        power: Dbm,
        carrier: Frequency,
    ) -> Result<Self, RoomError> {
        let beams = |from, to, angles: &[Angle]| {
            let ahead = Direction::between(from, to);
            angles.iter().map(|&a| Direction { azimuth: ahead.azimuth + a, ..ahead }).collect()
        };
        Ok(Self {
            paths: room.paths(from, to)?,
            sender: (sends, beams(from, to, tx)),
            receiver: (listens, beams(to, from, rx)),
            angles: (tx.to_vec(), rx.to_vec()),
            carrier,
            power,
        })
    }

    /// All paths between the antennas.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// Received power by transmit beam, then receive beam, with these bodies in the room. Powers
    /// below -200 dBm are -200 dBm, the minimum of traces.
    pub fn matrix(&self, blockers: &[Blocker]) -> Vec<Dbm> {
        let mut levels = Vec::new();
        for &aim in &self.sender.1 {
            for &ear in &self.receiver.1 {
                let sender = (&self.sender.0, aim);
                let receiver = (&self.receiver.0, ear);
                let power = received_by_paths(&self.paths, self.power, sender, receiver, blockers, self.carrier);
                levels.push(power.dbm().max(Dbm::new(*BeamTrace::LEVELS_DBM.start())));
            }
        }
        levels
    }

    /// The scene with its power set so that the best pair of beams receives this level without a
    /// blockage.
    ///
    /// Use it if the link budget is unknown. A scene without beams stays unchanged.
    pub fn calibrated(mut self, level: Dbm) -> Self {
        if let Some(best) = self.matrix(&[]).into_iter().reduce(Dbm::max) {
            self.power = self.power + (level - best);
        }
        self
    }

    /// Trace of moving bodies: matrices every `step` from 0 to the first time at or after `length`.
    ///
    /// # Errors
    /// If there are no beams, a level is above 60 dBm, or the step is not above 0.
    pub fn trace(
        &self,
        step: Duration,
        length: Duration,
        blockers: impl Fn(Duration) -> Vec<Blocker>,
    ) -> Result<BeamTrace, MatrixError> {
        let (tx, rx) = self.angles.clone();
        let mut trace = BeamTrace::new(tx, rx, &self.matrix(&blockers(Duration::ZERO)))?;
        let mut at = Duration::ZERO;
        while at < length {
            at += step;
            trace.push(at, &self.matrix(&blockers(at)))?;
        }
        Ok(trace)
    }
}
