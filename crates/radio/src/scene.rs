//! A link in a room that people and things move through, as a trace of beam matrices.

use crate::angle::{Angle, Direction};
use crate::antenna::Antenna;
use crate::decibel::Dbm;
use crate::propagation::{Blocker, Path, Room, RoomError, received_by_paths};
use crate::space::{Frequency, Point};
use crate::trace::{BeamTrace, MatrixError};
use timeplane_model::Duration;

/// Two antennas in a room. Each has beams at angles beside the straight line to the other; all are tilted as that line is.
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
    /// A scene with the power into the antenna; both lists of beams are angles of azimuth beside the direct line.
    ///
    /// # Errors
    /// Where an antenna is outside of the room or inside of a box.
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

    /// All ways between the antennas.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// Power received by pair of beams, by transmit beam and then receive beam, with these bodies in the room.
    ///
    /// What is below -200 dBm counts as that, as traces have no less.
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

    /// The same scene with its power such that the best pair of beams receives this level while nobody is in the way: the one number
    /// that a scene needs whose link budget is not known.
    ///
    /// Where there are no beams it is left as it is.
    pub fn calibrated(mut self, level: Dbm) -> Self {
        if let Some(best) = self.matrix(&[]).into_iter().reduce(Dbm::max) {
            self.power = self.power + (level - best);
        }
        self
    }

    /// The trace of bodies that move: matrices every `step` from 0 to the first time that is not before `length`.
    ///
    /// # Errors
    /// Where there are no beams, a level is above 60 dBm, or the step is not above 0.
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
