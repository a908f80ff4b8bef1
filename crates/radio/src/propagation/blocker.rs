//! Bodies between two antennas, as screens with knife edges.
//!
//! Each of a screen's four edges diffracts.

use crate::decibel::Db;
use crate::math::{atan, log10};
use crate::space::{Frequency, Meters, Point};
use core::f64::consts::{FRAC_PI_2, PI};

/// A body that stands on the floor, modeled as a flat screen that always turns its width to the ray
/// (3GPP TR 38.901, section 7.6.4.2, model B, after METIS D1.4).
///
/// Each of the four edges contributes `F = ± atan(π/2 sqrt(π/λ (D1 + D2 - r))) / π`. D1 + D2 is the
/// path over the edge and r the direct path, in top view for the sides and in side view for top and
/// bottom. The sign is that of an edge that shades. The loss is `-20 log10(1 - (F_top +
/// F_bottom)(F_left + F_right))`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocker {
    /// Point on the floor where the body stands.
    pub at: Point,
    /// Width of the screen.
    pub width: Meters,
    /// Height above `at`.
    pub height: Meters,
    /// Additional loss of a ray through the middle of the shadow, a free parameter. Two edges alone
    /// give 16 to 20 dB for a body, while measurements have 15 dB (a hand) to 35 dB (a body). It
    /// fades in from the shadow's boundary: the share that counts is `2 (F_top + F_bottom)(F_left +
    /// F_right) - 1`, at least 0.
    pub extra: Db,
}

impl Blocker {
    /// A person: 0.3 m x 1.7 m.
    pub fn person(at: Point, extra: Db) -> Self {
        Self { at, width: Meters::new(0.3), height: Meters::new(1.7), extra }
    }

    /// Loss of a straight ray from one point to another, at least 0 dB; zero if the body is not
    /// between them.
    pub fn loss(&self, from: Point, to: Point, carrier: Frequency) -> Db {
        // Top view: the body's position along the ray and across it.
        let (dx, dy) = (to.x - from.x, to.y - from.y);
        let ground = (dx * dx + dy * dy).sqrt();
        if ground == 0.0 {
            return Db::ZERO;
        }
        let (bx, by) = (self.at.x - from.x, self.at.y - from.y);
        let along = (bx * dx + by * dy) / ground;
        if along <= 0.0 || along >= ground {
            return Db::ZERO;
        }
        let beside = (bx * dy - by * dx) / ground;
        let half = self.width.get() / 2.0;
        let wavelength = carrier.wavelength().get();
        // Additional length of a path over an edge at this distance from the ray.
        let knife = |edge: f64, over: f64, direct: f64| {
            let detour = (over - direct).max(0.0);
            edge.signum() * atan(FRAC_PI_2 * (PI / wavelength * detour).sqrt()) / PI
        };
        let side = |edge: f64| {
            let over = hypot(along, edge) + hypot(ground - along, edge);
            knife(edge, over, ground)
        };
        let sides = side(half - beside) + side(half + beside);
        // Side view: the plane of the ray, along the ground and upwards.
        let direct = hypot(ground, to.z - from.z);
        let ray = from.z + (to.z - from.z) * along / ground;
        let level = |z: f64, edge: f64| knife(edge, hypot(along, z - from.z) + hypot(ground - along, z - to.z), direct);
        let (low, high) = (self.at.z, self.at.z + self.height.get());
        let shade = sides * (level(high, high - ray) + level(low, ray - low));
        if shade <= 0.0 {
            return Db::ZERO;
        }
        Db::new(-20.0 * log10(1.0 - shade) + self.extra.get() * (2.0 * shade - 1.0).max(0.0))
    }
}

fn hypot(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CARRIER: Frequency = Frequency::mhz(60_000);

    fn across(at: f64, beside: f64, extra: f64) -> f64 {
        let person = Blocker::person(Point::new(at, beside, 0.0), Db::new(extra));
        person.loss(Point::new(0.0, 0.0, 1.0), Point::new(5.0, 0.0, 1.0), CARRIER).get()
    }

    #[test]
    fn a_person_by_hand() {
        // One meter from one end: detours of 11.19 + 2.81 mm at the sides, 220.7 + 60.8 mm over the
        // head and 414.2 + 123.1 mm below the feet; F = 0.4328 twice, 0.4859 and 0.4898.
        let f = |detour: f64| (FRAC_PI_2 * (PI * detour / 0.004_996_540_97).sqrt()).atan() / PI;
        let way = |e: f64| (1.0f64 + e * e).sqrt() + (16.0f64 + e * e).sqrt() - 5.0;
        let shade = 2.0 * f(way(0.15)) * (f(way(0.7)) + f(way(1.0)));
        let loss = -20.0 * (1.0 - shade).log10();
        assert!((across(1.0, 0.0, 0.0) - loss).abs() < 1e-6, "{} {loss}", across(1.0, 0.0, 0.0));
        assert!((15.5..16.5).contains(&loss));
        // Two edges, as of a screen of infinite height: 17 dB.
        let tall = Blocker {
            height: Meters::new(1e6),
            at: Point::new(1.0, 0.0, -5e5),
            ..Blocker::person(Point::ORIGIN, Db::ZERO)
        };
        let loss = tall.loss(Point::new(0.0, 0.0, 1.0), Point::new(5.0, 0.0, 1.0), CARRIER).get();
        assert!(
            (loss + 20.0 * (1.0 - 2.0 * f(way(0.15))).log10()).abs() < 0.05 && (16.0..20.0).contains(&loss),
            "{loss}"
        );
    }

    #[test]
    fn who_is_not_between_takes_nothing() {
        for at in [-0.1, 0.0, 5.0, 7.0] {
            assert_eq!(across(at, 0.0, 20.0), 0.0);
        }
        // An edge far from the ray diffracts almost nothing.
        assert!(across(2.0, 3.0, 20.0) < 0.01);
        // The ray passes over the head of a person below.
        let person = Blocker::person(Point::new(2.0, 0.0, 0.0), Db::new(20.0));
        assert!(person.loss(Point::new(0.0, 0.0, 3.0), Point::new(5.0, 0.0, 3.0), CARRIER).get() < 0.1);
        assert_eq!(person.loss(Point::new(2.0, 0.0, 3.0), Point::new(2.0, 0.0, 1.0), CARRIER), Db::ZERO);
    }

    #[test]
    fn extra_loss_reaches_what_was_measured() {
        let plain = across(1.0, 0.0, 0.0);
        let deep = across(1.0, 0.0, 20.0) - plain;
        assert!(deep > 12.0 && deep <= 20.0, "{deep}");
        // At the shadow's boundary the additional loss is zero, and it never jumps.
        assert!((across(1.0, 0.15, 20.0) - across(1.0, 0.15, 0.0)).abs() < 0.6);
        for i in 0..400 {
            let y = f64::from(i) * 1e-3;
            assert!((across(1.0, y, 20.0) - across(1.0, y + 1e-3, 20.0)).abs() < 1.0, "{y}");
        }
    }

    proptest! {
        #[test]
        fn a_blocker_never_amplifies_and_both_ends_see_it_alike(
            c in prop::array::uniform6(-4.0..4.0f64), at in prop::array::uniform2(-4.0..4.0f64),
            width in 0.0..2.0f64, height in 0.0..3.0f64, extra in 0.0..30.0f64,
        ) {
            let (from, to) = (Point::new(c[0], c[1], c[2].abs()), Point::new(c[3], c[4], c[5].abs()));
            let at = Point::new(at[0], at[1], 0.0);
            let blocker = Blocker { at, width: Meters::new(width), height: Meters::new(height), extra: Db::new(extra) };
            let loss = blocker.loss(from, to, CARRIER).get();
            prop_assert!(loss >= 0.0 && loss.is_finite());
            prop_assert!((loss - blocker.loss(to, from, CARRIER).get()).abs() < 1e-6);
        }
    }
}
