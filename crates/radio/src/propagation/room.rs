//! Rays in a room: the direct one, and one reflection at every surface.

use super::blocker::Blocker;
use super::budget::free_space_loss;
use crate::angle::Direction;
use crate::antenna::Antenna;
use crate::decibel::{Db, Dbm, Milliwatts};
use crate::space::{Cuboid, Frequency, Meters, Point};

/// What a reflection loses, by surface.
///
/// The default is a data center at 60 GHz, the means of NIST's measurements (`mu_RL` of its
/// material library; see `data/README.md`); the floor there absorbs all, and is taken for a ceiling
/// here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// The four walls: 7.53 dB.
    pub wall: Db,
    /// The ceiling: 10 dB.
    pub ceiling: Db,
    /// The floor: 10 dB.
    pub floor: Db,
    /// The top (and bottom) of a box: 7.77 dB.
    pub box_top: Db,
    /// The sides of a box: 15.82 dB.
    pub box_side: Db,
}

impl Default for Losses {
    fn default() -> Self {
        Self {
            wall: Db::new(7.53),
            ceiling: Db::new(10.0),
            floor: Db::new(10.0),
            box_top: Db::new(7.77),
            box_side: Db::new(15.82),
        }
    }
}

/// Where a ray was reflected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// One of the four walls.
    Wall,
    /// The ceiling.
    Ceiling,
    /// The floor.
    Floor,
    /// The top or the bottom of a box.
    BoxTop,
    /// A side of a box.
    BoxSide,
}

/// A way from one point to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Where it begins.
    pub from: Point,
    /// Where it is reflected, and by what; none for the direct way.
    pub bounce: Option<(Point, Surface)>,
    /// Where it ends.
    pub to: Point,
    /// From end to end.
    pub length: Meters,
    /// What the reflection loses.
    pub reflection: Db,
}

impl Path {
    fn new(from: Point, bounce: Option<(Point, Surface)>, to: Point, reflection: Db) -> Self {
        let length = match bounce {
            None => from.distance(to),
            Some((via, _)) => Meters::new(from.distance(via).get() + via.distance(to).get()),
        };
        Self { from, bounce, to, length, reflection }
    }

    /// Where the sender sees it leave.
    pub fn departure(&self) -> Direction {
        Direction::between(self.from, self.bounce.map_or(self.to, |b| b.0))
    }

    /// Where the receiver sees it come from.
    pub fn arrival(&self) -> Direction {
        Direction::between(self.to, self.bounce.map_or(self.from, |b| b.0))
    }

    /// What all of it loses: free space, the reflection, and what stands in its way (losses of
    /// several bodies add up).
    pub fn loss(&self, blockers: &[Blocker], carrier: Frequency) -> Db {
        let legs = match self.bounce {
            None => [Some((self.from, self.to)), None],
            Some((via, _)) => [Some((self.from, via)), Some((via, self.to))],
        };
        let legs = legs.into_iter().flatten();
        let blocked: f64 = legs.flat_map(|(a, b)| blockers.iter().map(move |k| k.loss(a, b, carrier).get())).sum();
        free_space_loss(self.length, carrier) + self.reflection + Db::new(blocked)
    }
}

/// Why a room cannot be, or a point in it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RoomError {
    /// A box is not wholly in the room.
    #[error("box {0} is not inside the room")]
    BoxOutside(usize),
    /// Two boxes have an inside in common.
    #[error("boxes {0} and {1} overlap")]
    Overlap(usize, usize),
    /// A surface amplifies.
    #[error("a reflection loses {0}: at least 0 dB")]
    Gain(Db),
    /// An antenna is not in the room.
    #[error("the point ({}, {}, {}) is not inside the room", .0.x, .0.y, .0.z)]
    PointOutside(Point),
    /// An antenna is in a box.
    #[error("the point ({}, {}, {}) is inside box {in_box}", point.x, point.y, point.z)]
    PointInBox {
        /// Where the antenna is.
        point: Point,
        /// Which box it is in.
        in_box: usize,
    },
}

/// A rectangular room along the axes with boxes in it: racks, columns, desks. Boxes stop rays; all
/// surfaces are smooth mirrors.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    inside: Cuboid,
    boxes: Vec<Cuboid>,
    mirrors: Vec<Mirror>,
}

/// Lengths below this are rounding, not overlap.
const TOUCH: f64 = 1e-6;

/// A rectangle that reflects on one side.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mirror {
    /// The axis it is perpendicular to.
    axis: usize,
    at: f64,
    /// Whether it faces larger coordinates.
    up: bool,
    /// Where it reaches on the other axes; of its own it is ignored.
    reach: Cuboid,
    surface: Surface,
    loss: Db,
}

impl Room {
    /// A room from corner to corner, with its floor at the lower one.
    ///
    /// # Errors
    /// Where a box is not inside, boxes overlap (touching is allowed), or a reflection amplifies.
    pub fn new(inside: Cuboid, boxes: Vec<Cuboid>, losses: Losses) -> Result<Self, RoomError> {
        let all = [losses.wall, losses.ceiling, losses.floor, losses.box_top, losses.box_side];
        if let Some(&loss) = all.iter().find(|&&l| l < Db::ZERO) {
            return Err(RoomError::Gain(loss));
        }
        for (i, b) in boxes.iter().enumerate() {
            if !inside.contains(b.low()) || !inside.contains(b.high()) {
                return Err(RoomError::BoxOutside(i));
            }
            let overlap = |o: &Cuboid| {
                (0..3).all(|x| {
                    b.low().along(x) + TOUCH < o.high().along(x) && o.low().along(x) + TOUCH < b.high().along(x)
                })
            };
            if let Some(j) = boxes[..i].iter().position(overlap) {
                return Err(RoomError::Overlap(j, i));
            }
        }
        let mut mirrors = Vec::new();
        for axis in 0..3 {
            for up in [true, false] {
                let (surface, loss) = match (axis, up) {
                    (2, true) => (Surface::Floor, losses.floor),
                    (2, false) => (Surface::Ceiling, losses.ceiling),
                    _ => (Surface::Wall, losses.wall),
                };
                let at = if up { inside.low() } else { inside.high() }.along(axis);
                mirrors.push(Mirror { axis, at, up, reach: inside, surface, loss });
            }
        }
        for b in &boxes {
            for axis in 0..3 {
                for up in [false, true] {
                    let at = if up { b.high() } else { b.low() }.along(axis);
                    let (surface, loss) = match axis {
                        2 => (Surface::BoxTop, losses.box_top),
                        _ => (Surface::BoxSide, losses.box_side),
                    };
                    mirrors.push(Mirror { axis, at, up, reach: *b, surface, loss });
                }
            }
        }
        Ok(Self { inside, boxes, mirrors })
    }

    /// Whether an antenna can be at a point.
    ///
    /// # Errors
    /// Where it is outside of the room or inside of a box.
    pub fn check(&self, p: Point) -> Result<(), RoomError> {
        if !p.is_finite() || !self.inside.contains(p) {
            return Err(RoomError::PointOutside(p));
        }
        let inside = |b: &Cuboid| (0..3).all(|x| b.low().along(x) < p.along(x) && p.along(x) < b.high().along(x));
        match self.boxes.iter().position(inside) {
            Some(in_box) => Err(RoomError::PointInBox { point: p, in_box }),
            None => Ok(()),
        }
    }

    /// All ways with at most one reflection that no box stops: the direct one first, then by
    /// surface (walls, floor, ceiling, then the boxes in their order).
    ///
    /// Reflections by image sources: the ray that seems to come from the sender's mirror image,
    /// where it meets the mirror itself.
    ///
    /// # Errors
    /// Where a point is outside of the room or inside of a box.
    pub fn paths(&self, from: Point, to: Point) -> Result<Vec<Path>, RoomError> {
        self.check(from)?;
        self.check(to)?;
        let open = |a, b| !self.boxes.iter().any(|k| k.stops(a, b));
        let mut paths = Vec::new();
        if open(from, to) {
            paths.push(Path::new(from, None, to, Db::ZERO));
        }
        for m in &self.mirrors {
            if let Some(via) = m.bounce(from, to)
                && open(from, via)
                && open(via, to)
            {
                paths.push(Path::new(from, Some((via, m.surface)), to, m.loss));
            }
        }
        Ok(paths)
    }
}

impl Mirror {
    /// Where a ray between two points is reflected; none where one is behind the mirror or the ray
    /// misses it.
    fn bounce(&self, from: Point, to: Point) -> Option<Point> {
        let sign = if self.up { 1.0 } else { -1.0 };
        let (a, b) = (sign * (from.along(self.axis) - self.at), sign * (to.along(self.axis) - self.at));
        if a <= 0.0 || b <= 0.0 {
            return None;
        }
        let image = from.with(self.axis, 2.0 * self.at - from.along(self.axis));
        let via = image.towards(to, a / (a + b)).with(self.axis, self.at);
        let hit = (0..3)
            .filter(|&x| x != self.axis)
            .all(|x| (self.reach.low().along(x)..=self.reach.high().along(x)).contains(&via.along(x)));
        hit.then_some(via)
    }
}

/// Power received over all paths, by the antennas and where they point. Powers add: over a
/// bandwidth of gigahertz, ways that differ by more than a few centimeters do not fade against each
/// other.
pub fn received_by_paths(
    paths: &[Path],
    power: Dbm,
    (sender, aim): (&Antenna, Direction),
    (receiver, listens): (&Antenna, Direction),
    blockers: &[Blocker],
    carrier: Frequency,
) -> Milliwatts {
    let one = |p: &Path| {
        let gains = sender.gain(p.departure().seen_from(aim)) + receiver.gain(p.arrival().seen_from(listens));
        (power + gains - p.loss(blockers, carrier)).milliwatts()
    };
    paths.iter().map(one).sum()
}
