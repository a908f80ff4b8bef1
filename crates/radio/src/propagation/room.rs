//! Rays in a room: the direct one, and one reflection at each surface.
//!
//! Boxes in the room reflect rays and stop them.

use super::blocker::Blocker;
use super::budget::free_space_loss;
use crate::angle::Direction;
use crate::antenna::Antenna;
use crate::decibel::{Db, Dbm, Milliwatts};
use crate::space::{Cuboid, Frequency, Meters, Point};

/// Reflection losses by surface.
///
/// The default is a data center at 60 GHz, with the means of NIST's measurements (`mu_RL` of its
/// material library; see `data/README.md`). The measured floor absorbs everything; here it has the
/// loss of the ceiling.
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

/// The surface of a reflection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// One of the four walls.
    Wall,
    /// Top of the room.
    Ceiling,
    /// Bottom of the room.
    Floor,
    /// The top or the bottom of a box.
    BoxTop,
    /// One of the four vertical faces of a box.
    BoxSide,
}

/// A path of a ray from one point to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Start of the path.
    pub from: Point,
    /// Point and surface of the reflection; `None` for the direct path.
    pub bounce: Option<(Point, Surface)>,
    /// End of the path.
    pub to: Point,
    /// Total length.
    pub length: Meters,
    /// Loss of the reflection.
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

    /// Direction in which the ray leaves the sender.
    pub fn departure(&self) -> Direction {
        Direction::between(self.from, self.bounce.map_or(self.to, |b| b.0))
    }

    /// Direction from which the ray reaches the receiver.
    pub fn arrival(&self) -> Direction {
        Direction::between(self.to, self.bounce.map_or(self.from, |b| b.0))
    }

    /// Total loss: free space, the reflection, and bodies in the path (losses of several bodies add
    /// up).
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

/// Why a room, or a point in it, is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RoomError {
    /// A box is not entirely in the room.
    #[error("box {0} is not inside the room")]
    BoxOutside(usize),
    /// Two boxes overlap.
    #[error("boxes {0} and {1} overlap")]
    Overlap(usize, usize),
    /// A reflection has a negative loss.
    #[error("a reflection loses {0}: at least 0 dB")]
    Gain(Db),
    /// An antenna is outside the room.
    #[error("the point ({}, {}, {}) is not inside the room", .0.x, .0.y, .0.z)]
    PointOutside(Point),
    /// An antenna is inside a box.
    #[error("the point ({}, {}, {}) is inside box {in_box}", point.x, point.y, point.z)]
    PointInBox {
        /// Position of the antenna.
        point: Point,
        /// Index of the box.
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

/// Overlaps below this length are rounding errors.
const TOUCH: f64 = 1e-6;

/// A rectangle that reflects on one side.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mirror {
    /// Axis perpendicular to the mirror.
    axis: usize,
    at: f64,
    /// Whether the mirror faces larger coordinates.
    up: bool,
    /// Extent along the other axes; the extent along `axis` is ignored.
    reach: Cuboid,
    surface: Surface,
    loss: Db,
}

impl Room {
    /// A room from corner to corner, with its floor at the lower one.
    ///
    /// # Errors
    /// If a box is not inside, if boxes overlap (touching is allowed), or if a reflection
    /// amplifies.
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

    /// Checks that an antenna can be at a point.
    ///
    /// # Errors
    /// If the point is outside the room or inside a box.
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

    /// All paths with at most one reflection that no box stops: the direct one first, then by
    /// surface (walls, floor, ceiling, then the boxes in their order).
    ///
    /// Reflections use image sources: the ray seems to come from the sender's mirror image, and is
    /// reflected where it meets the mirror.
    ///
    /// # Errors
    /// If a point is outside the room or inside a box.
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
    /// Point at which a ray between two points is reflected; `None` if a point is behind the mirror
    /// or the ray misses it.
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

/// Power received over all paths, given both antennas and their pointing. Powers add: over a
/// bandwidth of gigahertz, paths that differ by more than a few centimeters do not fade against
/// each other.
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
