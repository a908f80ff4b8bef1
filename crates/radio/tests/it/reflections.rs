//! Tests rays in a room against NIST's ray tracer, against brute force, and in scenes with people.

use proptest::prelude::*;
use timeplane_model::Duration;
use timeplane_radio::{
    Angle, Antenna, Blocker, Cuboid, Db, Dbm, Direction, Frequency, Horn, Losses, Meters, PatchArray, Path, Point,
    QdTrace, Room, RoomError, Scene, Surface, bundled, free_space_loss, parse_positions, received_by_paths,
    received_by_rays,
};

const CARRIER: Frequency = Frequency::mhz(60_000);

fn cuboid(low: (f64, f64, f64), high: (f64, f64, f64)) -> Cuboid {
    Cuboid::new(Point::new(low.0, low.1, low.2), Point::new(high.0, high.1, high.2)).unwrap()
}

/// The hall of NIST's data center with the column and the row of racks that reflect towards its
/// first receiver, and the curtain that hides a wall from it.
fn nist_room() -> Room {
    let hall = cuboid((0.000064, -0.0026, 0.0), (18.0001, 18.0, 2.56));
    let column = cuboid((5.3909, 8.58331, 0.0), (6.5399, 9.28934, 2.56));
    let racks = cuboid((7.8091, 8.6952, 0.0), (8.8386, 15.345, 1.99));
    let curtain = cuboid((6.5262, 11.135, 0.0), (6.5444, 14.041, 2.3));
    Room::new(hall, vec![column, racks, curtain], Losses::default()).unwrap()
}

#[test]
fn first_reflections_are_those_of_nists_ray_tracer() {
    let trace = QdTrace::parse("qdOutput.json", bundled::NIST_RAYS).unwrap();
    let rays = &trace.between(0, 1).unwrap().steps[0];
    assert_eq!(rays.len(), 314);
    let from = parse_positions("0", bundled::NIST_SENDER).unwrap()[0];
    let to = parse_positions("1", bundled::NIST_RECEIVERS).unwrap()[0];
    let paths = nist_room().paths(from, to).unwrap();
    let find = |surface: Option<Surface>, near: (f64, f64, f64)| -> &Path {
        let near = Point::new(near.0, near.1, near.2);
        let here = |p: &&Path| match p.bounce {
            None => surface.is_none(),
            Some((at, s)) => Some(s) == surface && at.distance(near) < Meters::new(0.001),
        };
        paths.iter().find(here).unwrap_or_else(|| panic!("{near:?} in {paths:?}"))
    };
    // Points of reflection from the trace's own file of rays (Mpc.json).
    for (surface, near) in [
        (None, (0.0, 0.0, 0.0)),
        (Some(Surface::BoxSide), (6.5399, 9.09974, 2.19)),
        (Some(Surface::Wall), (8.314568, 18.0, 2.19)),
        (Some(Surface::Wall), (18.0001, 10.031284, 2.19)),
        (Some(Surface::Wall), (8.024479, -0.0026, 2.19)),
        (Some(Surface::Ceiling), (8.155, 9.9, 2.56)),
        (Some(Surface::BoxTop), (8.155, 9.9, 1.99)),
    ] {
        let path = find(surface, near);
        let alike = |a: Direction, b: Direction| {
            (a.azimuth - b.azimuth).abs().as_degrees() < 2e-3 && (a.elevation - b.elevation).abs().as_degrees() < 2e-3
        };
        // The tracer uses a speed of light of 3e8 m/s.
        let ray = rays.iter().find(|r| {
            (r.delay.as_secs_f64() * 3e8 - path.length.get()).abs() < 1e-3
                && alike(r.departure, path.departure())
                && alike(r.arrival, path.arrival())
        });
        let ray = ray.unwrap_or_else(|| panic!("no ray like {path:?}"));
        // Its reflection losses are Rician draws; the direct ray has free-space loss only.
        let lost = -ray.gain - free_space_loss(path.length, CARRIER);
        assert!(if surface.is_none() { lost.get().abs() < 0.01 } else { lost.get() > 0.0 }, "{path:?} {lost}");
    }
    // The floor is hidden below the racks.
    assert!(!paths.iter().any(|p| p.bounce.is_some_and(|(at, _)| at.z < 0.1)));
    // A ray comes down from the ceiling as steeply as it goes up.
    for p in paths.iter().filter(|p| matches!(p.bounce, Some((_, Surface::Ceiling | Surface::BoxTop)))) {
        assert!((p.departure().elevation - p.arrival().elevation).abs().as_degrees() < 1e-9, "{p:?}");
    }
}

#[test]
fn losses_are_nists() {
    let named = [
        ("Ceiling", Losses::default().ceiling),
        ("Racktop", Losses::default().box_top),
        ("WallandColumn", Losses::default().wall),
        ("Rackside", Losses::default().box_side),
    ];
    for (name, loss) in named {
        let line = bundled::NIST_MATERIALS.lines().find(|l| l.starts_with(name)).unwrap();
        assert_eq!(line.rsplit(',').next().unwrap().trim().parse::<f64>().unwrap(), loss.get(), "{name}");
    }
}

#[test]
fn an_empty_room_has_seven_ways() {
    let room = Room::new(cuboid((0.0, 0.0, 0.0), (4.0, 3.0, 2.5)), vec![], Losses::default()).unwrap();
    let (from, to) = (Point::new(1.0, 1.0, 1.0), Point::new(3.0, 1.0, 1.0));
    let paths = room.paths(from, to).unwrap();
    let lengths: Vec<f64> = paths.iter().map(|p| p.length.get()).collect();
    // Direct 2 m; along x 1 + 3 and 3 + 1 m; mirrored over walls 1 and 2 m beside, floor 1 m below,
    // ceiling 1.5 m above.
    let slant = |h: f64| (4.0 + 4.0 * h * h).sqrt();
    let expected = [2.0, 4.0, 4.0, slant(1.0), slant(2.0), slant(1.0), slant(1.5)];
    assert_eq!(lengths.len(), 7);
    assert!(lengths.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{lengths:?}");
    assert_eq!(paths[5].bounce.unwrap().1, Surface::Floor);
    // Isotropic antennas, by hand: all losses add up in milliwatts.
    let iso = Antenna::Isotropic;
    let ahead = Direction::default();
    let sum = received_by_paths(&paths, Dbm::new(10.0), (&iso, ahead), (&iso, ahead), &[], CARRIER).get();
    let hand: f64 = expected
        .iter()
        .zip([0.0, 7.53, 7.53, 7.53, 7.53, 10.0, 10.0])
        .map(|(&m, loss)| 10f64.powf((10.0 - loss - free_space_loss(Meters::new(m), CARRIER).get()) / 10.0))
        .sum();
    assert!((sum / hand - 1.0).abs() < 1e-12);
}

#[test]
fn rooms_that_cannot_be() {
    let hall = cuboid((0.0, 0.0, 0.0), (4.0, 3.0, 2.5));
    let rack = cuboid((1.0, 1.0, 0.0), (2.0, 2.0, 2.0));
    let new = |boxes: Vec<Cuboid>| Room::new(hall, boxes, Losses::default());
    assert_eq!(new(vec![cuboid((3.0, 1.0, 0.0), (5.0, 2.0, 2.0))]).unwrap_err(), RoomError::BoxOutside(0));
    let inside = cuboid((1.2, 1.2, 0.0), (1.8, 1.8, 1.0));
    assert_eq!(new(vec![rack, inside]).unwrap_err().to_string(), "boxes 0 and 1 overlap");
    assert!(new(vec![rack, cuboid((2.0, 1.0, 0.0), (3.0, 2.0, 2.0))]).is_ok());
    let amplifies = Losses { wall: Db::new(-1.0), ..Losses::default() };
    assert!(Room::new(hall, vec![], amplifies).is_err());
    let room = new(vec![rack]).unwrap();
    let error = |p: Point| room.paths(p, Point::new(0.5, 0.5, 1.0)).unwrap_err().to_string();
    assert_eq!(error(Point::new(1.5, 1.5, 1.0)), "the point (1.5, 1.5, 1) is inside box 0");
    assert_eq!(error(Point::new(4.5, 1.5, 1.0)), "the point (4.5, 1.5, 1) is not inside the room");
    assert!(room.paths(Point::new(f64::NAN, 1.0, 1.0), Point::new(0.5, 0.5, 1.0)).is_err());
}

#[test]
fn rays_and_antennas_of_a_trace() {
    let trace = QdTrace::parse("qdOutput.json", bundled::NIST_RAYS).unwrap();
    let rays = &trace.between(0, 1).unwrap().steps[0];
    let line = rays[0];
    let horn = Antenna::Horn(Horn::new(Angle::degrees(15.0), Angle::degrees(14.0), Some(Db::new(20.0))).unwrap());
    let power = Dbm::new(10.0);
    let aimed = received_by_rays(rays, power, (&horn, line.departure), (&horn, line.arrival)).dbm();
    // The direct ray with both antennas' gain. Other rays add less than a decibel, mostly over the
    // rack tops and the ceiling.
    let direct = power + line.gain + Db::new(40.0);
    assert!(aimed >= direct && aimed < direct + Db::new(1.5), "{aimed} {direct}");
    let away = Direction { azimuth: line.departure.azimuth + Angle::degrees(180.0), ..line.departure };
    assert!(received_by_rays(rays, power, (&horn, away), (&horn, line.arrival)).dbm() < direct - Db::new(10.0));
    // The reverse direction is the same channel.
    let back = &trace.between(1, 0).unwrap().steps[0];
    let reverse = received_by_rays(back, power, (&horn, line.arrival), (&horn, line.departure)).dbm();
    assert!((reverse - aimed).get().abs() < 1e-6);
}

/// The antennas of the proxy's testbed in a cubicle aisle, 3.5 m apart.
fn aisle() -> Scene {
    let deg = Angle::degrees;
    let beams: Vec<Angle> = (-3..=3).map(|i| deg(f64::from(i) * 10.0)).collect();
    let horn = Antenna::Horn(Horn::new(deg(15.0), deg(14.0), Some(Db::new(20.0))).unwrap());
    let patch = PatchArray::new((8, deg(11.0)), (4, deg(24.0)), Some(Db::new(17.0))).unwrap();
    let room = Room::new(cuboid((0.0, 0.0, 0.0), (5.0, 1.6, 2.7)), vec![], Losses::default()).unwrap();
    let (from, to) = (Point::new(0.8, 0.9, 1.6), Point::new(4.3, 0.9, 1.0));
    Scene::new(&room, (from, horn, &beams), (to, Antenna::PatchArray(patch), &beams), Dbm::new(10.0), CARRIER)
        .unwrap()
        .calibrated(Dbm::new(-66.0))
}

#[test]
fn a_manikin_walks_through_an_aisle() {
    let scene = aisle();
    let walks = |at: Duration| {
        let y = 0.05 + 0.1 * at.as_secs_f64();
        vec![Blocker { height: Meters::new(1.9), ..Blocker::person(Point::new(2.0, y, 0.0), Db::new(18.0)) }]
    };
    let trace = scene.trace(Duration::from_ms(100), Duration::from_secs(15), walks).unwrap();
    assert_eq!((trace.sends().len(), trace.listens().len(), trace.times().len()), (7, 7, 151));
    let best: Vec<_> = trace.times().iter().map(|&t| trace.best(t)).collect();
    // Unobstructed at the start: both beams point at each other.
    assert_eq!((best[0].tx, best[0].rx), (3, 3));
    assert!((best[0].level.get() + 66.0).abs() < 0.5, "{:?}", best[0]);
    // In the shadow only reflections from the walls remain, and other beams are better.
    let worst = best.iter().min_by(|a, b| a.level.get().total_cmp(&b.level.get())).unwrap();
    assert!(worst.level < Dbm::new(-73.0) && worst.level > Dbm::new(-100.0), "{worst:?}");
    assert!(best.iter().any(|b| (b.tx, b.rx) != (3, 3)));
    // At this speed the shadow comes within a second, and goes again.
    assert!((best[150].level.get() + 66.0).abs() < 0.5, "{:?}", best[150]);
    // No step exceeds the change at the shadow's edge within a centimeter.
    for pair in trace.times().windows(2) {
        let step = trace.best(pair[1]).level - trace.best(pair[0]).level;
        assert!(step.get().abs() < 6.0, "{pair:?} {step}");
    }
    // The same inputs give the same trace, to the last digit.
    assert_eq!(aisle().trace(Duration::from_ms(100), Duration::from_secs(15), walks).unwrap(), trace);
    assert!(scene.trace(Duration::ZERO, Duration::from_secs(1), walks).is_err());
}

#[test]
fn beams_turn_counter_clockwise() {
    let deg = Angle::degrees;
    let beams = [deg(-20.0), deg(20.0)];
    let horn = Antenna::Horn(Horn::new(deg(15.0), deg(14.0), None).unwrap());
    // An antenna that points along x has the near wall on the left, 0.65 m away: 20° for 3.5 m. One
    // that points back has it on the right.
    let room = Room::new(cuboid((0.0, -20.0, 0.0), (5.0, 1.6, 2.7)), vec![], Losses::default()).unwrap();
    let (from, to) = (Point::new(0.8, 0.95, 1.2), Point::new(4.3, 0.95, 1.2));
    let scene = Scene::new(&room, (from, horn.clone(), &beams), (to, horn, &beams), Dbm::new(10.0), CARRIER).unwrap();
    let [right_right, right_left, left_right, left_left] = scene.matrix(&[])[..] else { panic!("four pairs") };
    let others = right_right.max(right_left).max(left_left);
    assert!(left_right > others + Db::new(10.0), "{left_right} {others}");
}

fn place() -> impl Strategy<Value = Point> {
    (0.05..5.95f64, 0.05..3.95f64, 0.05..2.95f64).prop_map(|(x, y, z)| Point::new(x, y, z))
}

proptest! {
    /// Reflections obey the law of reflection, are the shortest paths over their surface, and are
    /// the same from the other end.
    #[test]
    fn reflections_are_shortest_ways(from in place(), to in place(), low in place(), x in 0.0..1.0f64, y in 0.0..1.0f64) {
        let hall = cuboid((0.0, 0.0, 0.0), (6.0, 4.0, 3.0));
        let high = Point::new((low.x + 0.8).min(6.0), (low.y + 0.8).min(4.0), (low.z + 0.8).min(3.0));
        let rack = Cuboid::new(low, high).unwrap();
        let room = Room::new(hall, vec![rack], Losses::default()).unwrap();
        let (Ok(paths), Ok(back)) = (room.paths(from, to), room.paths(to, from)) else { return Ok(()) };
        prop_assert_eq!(paths.len(), back.len());
        for (path, reverse) in paths.iter().zip(&back) {
            prop_assert!((path.length.get() - reverse.length.get()).abs() < 1e-9);
            let Some((via, surface)) = path.bounce else { continue };
            prop_assert!(hall.contains(via));
            prop_assert!(!rack.stops(from, via) && !rack.stops(via, to));
            // Any other point of the surface makes the path longer.
            let other = match surface {
                Surface::Floor | Surface::Ceiling => Point { x: 6.0 * x, y: 4.0 * y, z: via.z },
                Surface::Wall if via.x == 0.0 || via.x == 6.0 => Point { y: 4.0 * x, z: 3.0 * y, ..via },
                Surface::Wall => Point { x: 6.0 * x, z: 3.0 * y, ..via },
                Surface::BoxTop | Surface::BoxSide => continue,
            };
            let longer = from.distance(other).get() + other.distance(to).get();
            prop_assert!(longer >= path.length.get() - 1e-9);
        }
        // Without the box, all seven paths are open.
        prop_assert_eq!(Room::new(hall, vec![], Losses::default()).unwrap().paths(from, to).unwrap().len(), 7);
    }
}
