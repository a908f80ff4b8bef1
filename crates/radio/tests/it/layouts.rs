//! Tests of the positions of racks.

use proptest::prelude::*;
use timeplane_radio::{Layout, Losses, Meters, Point, Rack, Room, bundled};

fn racks_160() -> Layout {
    Layout::parse("racks_160.csv", bundled::RACKS_160, Rack::default()).unwrap()
}

#[test]
fn the_bundled_layout() {
    let layout = racks_160();
    assert_eq!(layout.racks(), 160);
    // Side by side in a clump: 2 ft. Across an aisle: 10 ft.
    assert!((layout.distance(0, 1).get() - 0.6096).abs() < 1e-12);
    assert!((layout.distance(0, 10).get() - 3.048).abs() < 1e-12);
    assert!((layout.azimuth(0, 10).as_degrees() - 90.0).abs() < 1e-12);
    assert_eq!(layout.azimuth(1, 0).as_degrees(), 180.0);
    assert!((layout.angle(0, 1, 10).as_degrees() - 90.0).abs() < 1e-12);
    assert_eq!(layout.angle(0, 1, 9).as_degrees(), 0.0);
    assert!((layout.angle(5, 0, 9).as_degrees() - 180.0).abs() < 1e-12);
    // All of them are boxes in a hall, and every antenna is on top of its own.
    let boxes = layout.boxes();
    let hall = timeplane_radio::Cuboid::new(Point::new(-5.0, -5.0, 0.0), Point::new(40.0, 40.0, 4.0)).unwrap();
    let room = Room::new(hall, boxes, Losses::default()).unwrap();
    assert!(layout.antennas().iter().all(|&p| room.check(p).is_ok()));
}

#[test]
fn a_rack_inside_another_is_refused() {
    let parse =
        |text: &str| Layout::parse("l.csv", text, Rack::default()).map(|l| l.racks()).map_err(|e| e.to_string());
    assert_eq!(parse("rack,x_m,y_m\n0,0,0\n1,0.6096,0\n2,0,1.2192\n"), Ok(3));
    // Numbers are those of the file's lines: a comment shifts them.
    assert_eq!(
        parse("rack,x_m,y_m\n0,0,0\n# an aisle\n1,5,5\n2,0.5,1.1\n").unwrap_err(),
        "l.csv:5: rack 2 stands inside rack 0: racks that touch at most (rack 0 is in line 2)"
    );
    for (text, message) in [
        ("rack,x_m,y_m\n0,0,0\n2,1,1\n", "l.csv:3: column `rack` is `2`: 1: racks are numbered in order from 0"),
        ("rack,x_m,y_m\n0,0,\n", "l.csv:2: column `y_m` is ``: a length of at most 10 km"),
        ("rack,x_m,y_m\n0,0,2e4\n", "l.csv:2: column `y_m` is `2e4`: a length of at most 10 km"),
        ("rack,x_m,y_m\n-1,0,0\n", "l.csv:2: column `rack` is `-1`: a number"),
        ("rack,x,y\n0,0,0\n", "l.csv:1: the columns are `rack,x,y`: one of them must be `x_m`"),
        ("rack,x_m,y_m\n", "l.csv: there are no rows: a header line and at least one row"),
    ] {
        assert_eq!(parse(text).unwrap_err(), message);
    }
}

proptest! {
    #[test]
    fn whatever_a_layout_holds_it_ends(text in any::<String>(), header in any::<bool>()) {
        let text = if header { format!("rack,x_m,y_m\n{text}") } else { text };
        let _ = Layout::parse("l", &text, Rack::default());
    }

    #[test]
    fn overlaps_are_found(places in prop::collection::vec((0.0..6.0f64, 0.0..6.0f64), 1..12)) {
        let (w, d) = (0.6096, 1.2192);
        let overlap = (0..places.len()).any(|i| (0..i).any(|j| {
            (places[i].0 - places[j].0).abs() < w - 1e-3 && (places[i].1 - places[j].1).abs() < d - 1e-3
        }));
        let layout = Layout::new(Rack::default(), &places);
        prop_assert_eq!(layout.is_err(), overlap);
        if let Ok(layout) = layout {
            let n = layout.racks();
            for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
                prop_assert_eq!(layout.distance(a, b), layout.distance(b, a));
                if a != b {
                    prop_assert!(layout.distance(a, b) > Meters::new(0.6));
                    prop_assert!(((layout.azimuth(a, b) - layout.azimuth(b, a)).abs().as_degrees() - 180.0).abs() < 1e-9);
                }
            }
        }
    }
}
