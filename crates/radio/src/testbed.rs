//! The two rooms of the proxy's measurements (Drago et al., MASS 2019, section V).
//!
//! Values that the paper omits are ours.

use crate::angle::Angle;
use crate::antenna::{Antenna, Horn, PatchArray};
use crate::decibel::{Db, Dbm};
use crate::propagation::{Blocker, Losses, Room, free_space_loss};
use crate::scene::Scene;
use crate::space::{Cuboid, Frequency, Meters, Point};
use crate::trace::{BeamTrace, MatrixError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

/// Line-of-sight power in room B, which the paper omits: -66 dBm.
///
/// At 10 mW with these antennas it would be -32 dBm, and no body could matter. Sweep it from -62 to
/// -70 dBm.
pub const TESTBED_LEVEL: Dbm = Dbm::new(-66.0);

/// Room of the proxy's measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoomName {
    /// A laboratory with many reflectors, crossed by a trolley.
    A,
    /// An aisle between partitions without a way around, crossed by a manikin.
    B,
}

impl RoomName {
    /// Makes the room, in which an unobstructed continuous wave arrives at `level` in room B.
    pub fn testbed(self, level: Dbm) -> Testbed {
        match self {
            Self::A => Testbed::a(level),
            Self::B => Testbed::b(level),
        }
    }
}

/// A straight walk at `angle` to the line from sender to receiver, which it crosses at a share
/// `along` of the line.
///
/// Radio models draw no random numbers: ten link traces need ten walks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walk {
    /// Crossing of the line: 0 at the sender, 1 at the receiver.
    pub along: f64,
    /// Distance before the line at the start, meters.
    pub before: f64,
    /// Meters per second.
    pub speed: f64,
    /// Angle between the walk and the line.
    pub angle: Angle,
    /// Whether it turns back at the same distance beyond the line, repeatedly.
    pub returns: bool,
}

impl Walk {
    /// Distance beyond the line along the walk; negative before the line.
    pub fn beyond(&self, at: Duration) -> f64 {
        let gone = self.speed * at.as_secs_f64();
        let way = 2.0 * self.before;
        if !self.returns || way <= 0.0 {
            return gone - self.before;
        }
        let phase = gone % (2.0 * way);
        if phase <= way { phase - self.before } else { way + self.before - phase }
    }
}

/// A room with two antennas, and a body that moves between them.
///
/// Both rooms use 60 GHz and seven beams from -30° to 30° at each end. A horn of 20 dBi (14° E, 15°
/// H) sends, and an array of 32 patches of 17 dBi (24° E, 11° H) receives. The paper omits the
/// rooms' sizes, the reflections, and the interval between matrices in B; these values are this
/// project's own.
///
/// | | A | B |
/// | --- | --- | --- |
/// | heights, distance | 1 m and 1 m, 3 m | 1.6 m and 1 m, 3.5 m along the ray |
/// | room | laboratory, 8 m x 6 m x 3 m, the link along its length | aisle of 1.6 m x 3.25 m between partitions, 2.7 m high, from corner to corner, 0.1 m off the partitions |
/// | reflectors | two metal cabinets of 1.2 m x 0.4 m x 2 m along the link, 0.8 m and 0.9 m off it | the partitions only |
/// | reflection losses | cabinets 3 dB, walls 7.53, ceiling and floor 10 | partitions 20 dB, ceiling 15, floor 20 |
/// | moving body | trolley, 0.5 m x 1.2 m | manikin, 0.3 m x 1.9 m |
/// | extra loss in its shadow | 15 dB | 27 dB: with its edges, 34 dB in the middle; the paper cites 15 (a hand) to 35 |
/// | speed, crossing | 0.5 m/s, at 0.25 of the link | 0.1 m/s, at 0.5 of the link |
/// | start before the line | 1.2 m | 0.5 m |
/// | distance between matrices | 0.2 m | 0.02 m |
/// | unobstructed level | as B's sender has it at 3 m: -64.7 dBm | -66 dBm |
#[derive(Clone, Debug, PartialEq)]
pub struct Testbed {
    /// Name of the room: `A` or `B`.
    pub name: &'static str,
    room: Room,
    from: Point,
    to: Point,
    /// Unobstructed level of the best pair of beams.
    pub level: Dbm,
    /// Width and height of the body.
    pub size: (Meters, Meters),
    /// Additional loss in the shadow, see [`Blocker::extra`].
    pub extra: Db,
    /// Walk of the body.
    pub walk: Walk,
    /// Distance walked between two matrices, meters.
    pub step: f64,
}

/// Carrier of the testbed.
const CARRIER: Frequency = Frequency::mhz(60_000);

fn cuboid(low: [f64; 3], high: [f64; 3]) -> Cuboid {
    let point = |c: [f64; 3]| Point::new(c[0], c[1], c[2]);
    Cuboid::new(point(low), point(high)).expect("the testbeds' boxes have an inside")
}

impl Testbed {
    /// Room A: a trolley crosses a room with many reflectors, which offer alternative paths.
    /// `level` is that of room B.
    pub fn a(level: Dbm) -> Self {
        let losses = Losses { box_side: Db::new(3.0), box_top: Db::new(3.0), ..Losses::default() };
        let cabinets = vec![cuboid([3.4, 3.8, 0.0], [4.6, 4.2, 2.0]), cuboid([3.4, 1.7, 0.0], [4.6, 2.1, 2.0])];
        let room = Room::new(cuboid([0.0; 3], [8.0, 6.0, 3.0]), cabinets, losses);
        let nearer = free_space_loss(Meters::new(3.5), CARRIER) - free_space_loss(Meters::new(3.0), CARRIER);
        Self {
            name: "A",
            room: room.expect("the room of A is one"),
            from: Point::new(2.5, 3.0, 1.0),
            to: Point::new(5.5, 3.0, 1.0),
            level: level + nearer,
            size: (Meters::new(0.5), Meters::new(1.2)),
            extra: Db::new(15.0),
            walk: Walk { along: 0.25, before: 1.2, speed: 0.5, angle: Angle::degrees(90.0), returns: true },
            step: 0.2,
        }
    }

    /// Room B: a manikin crosses an aisle without alternative paths.
    pub fn b(level: Dbm) -> Self {
        let losses = Losses { wall: Db::new(20.0), ceiling: Db::new(15.0), floor: Db::new(20.0), ..Losses::default() };
        let room = Room::new(cuboid([0.0; 3], [3.25, 1.6, 2.7]), Vec::new(), losses);
        // 1.4 m across and 0.6 m down; the length makes the ray 3.5 m long.
        let along = (3.5f64 * 3.5 - 1.4 * 1.4 - 0.6 * 0.6).sqrt();
        Self {
            name: "B",
            room: room.expect("the room of B is one"),
            from: Point::new(0.05, 0.1, 1.6),
            to: Point::new(0.05 + along, 1.5, 1.0),
            level,
            size: (Meters::new(0.3), Meters::new(1.9)),
            extra: Db::new(27.0),
            walk: Walk { along: 0.5, before: 0.5, speed: 0.1, angle: Angle::degrees(90.0), returns: true },
            step: 0.02,
        }
    }

    /// Replaces the walk.
    pub fn walked(self, walk: Walk) -> Self {
        Self { walk, ..self }
    }

    /// Position and size of the body at a time.
    pub fn blocker(&self, at: Duration) -> Blocker {
        let (dx, dy) = (self.to.x - self.from.x, self.to.y - self.from.y);
        let ground = (dx * dx + dy * dy).sqrt();
        let (ux, uy) = (dx / ground, dy / ground);
        let (sin, cos) = self.walk.angle.sin_cos();
        let beyond = self.walk.beyond(at);
        // Along the walk: the link's direction turned by the angle.
        let (wx, wy) = (ux * cos - uy * sin, ux * sin + uy * cos);
        let (x, y) = (self.from.x + self.walk.along * dx, self.from.y + self.walk.along * dy);
        let (width, height) = self.size;
        Blocker { at: Point::new(x + wx * beyond, y + wy * beyond, 0.0), width, height, extra: self.extra }
    }

    /// The room with its antennas, at its level.
    pub fn scene(&self) -> Scene {
        let deg = Angle::degrees;
        let horn = Horn::new(deg(15.0), deg(14.0), Some(Db::new(20.0))).expect("the testbed's horn");
        let patch = PatchArray::new((8, deg(11.0)), (4, deg(24.0)), Some(Db::new(17.0))).expect("the testbed's array");
        let beams: Vec<Angle> = (-3..=3).map(|i| deg(f64::from(i) * 10.0)).collect();
        let sender = (self.from, Antenna::Horn(horn), &beams[..]);
        let receiver = (self.to, Antenna::PatchArray(patch), &beams[..]);
        let scene = Scene::new(&self.room, sender, receiver, Dbm::new(10.0), CARRIER);
        scene.expect("the testbeds' antennas are in their rooms").calibrated(self.level)
    }

    /// Matrices from 0 to the first time at or after `length`, one every [`step`](Self::step) of
    /// the walk.
    ///
    /// # Errors
    /// If speed or step is not above 0, or a level is above 60 dBm.
    pub fn trace(&self, length: Duration) -> Result<BeamTrace, MatrixError> {
        let every = Duration::from_secs_f64(self.step / self.walk.speed);
        self.scene().trace(every, length, |at| vec![self.blocker(at)])
    }
}
