//! Tests that schedule files are read as OpenOptics does, and that errors name their place.

use proptest::prelude::*;
use timeplane_schedule::rotor::matchings::random_factorization;
use timeplane_schedule::rotor::{RotorSchedule, Stepping, parse_schedule};

/// A schedule as the rows of a file.
fn text(schedule: &RotorSchedule) -> String {
    let mut text = String::new();
    for slice in 0..schedule.slices() {
        for rack in 0..schedule.racks() {
            for uplink in 0..schedule.uplinks() {
                let to = schedule.destination(slice, rack, uplink).map_or(-1, i64::from);
                text += &format!("{to}\t");
            }
        }
        text.push('\n');
    }
    text
}

fn refused(text: &str, uplinks: u32) -> String {
    parse_schedule(text, uplinks).unwrap_err().to_string()
}

#[test]
fn a_small_file_is_read() {
    let schedule = parse_schedule("# four racks\n 1 0\t3 2\r\n\n2 3 0 1 # swap\n-1 1 3 2", 1).unwrap();
    assert_eq!((schedule.racks(), schedule.uplinks(), schedule.slices()), (4, 1, 3));
    let row = |slice| (0..4).map(|rack| schedule.destination(slice, rack, 0)).collect::<Vec<_>>();
    assert_eq!(row(0), [Some(1), Some(0), Some(3), Some(2)]);
    assert_eq!(row(1), [Some(2), Some(3), Some(0), Some(1)]);
    // A rack that lists itself has no circuit.
    assert_eq!(row(2), [None, None, Some(3), Some(2)]);
    let schedule = parse_schedule("1 2 0 -1 -1 0", 2).unwrap();
    assert_eq!(schedule.circuits(0, 0).collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    assert_eq!(schedule.circuits(0, 2).collect::<Vec<_>>(), [(1, 0)]);
}

#[test]
fn errors_name_line_and_column() {
    assert_eq!(refused("", 1), "no row with integers: expected one for each slice");
    assert_eq!(refused("# 1 0", 1), "no row with integers: expected one for each slice");
    assert_eq!(refused("1 0", 0), "0 uplinks: expected 1 to 255");
    assert_eq!(refused("1 0", 256), "256 uplinks: expected 1 to 255");
    assert_eq!(refused("\n1 0 -1", 2), "line 2: 3 entries: expected 2 for each rack");
    assert_eq!(refused("1 0\n1 0 2", 1), "line 2: 3 entries: expected 2 as in the first row");
    assert_eq!(refused("-1", 1), "line 1: 1 racks: expected 2 to 16384");
    let entry = "expected a rack from 0 to 1, or -1 for no circuit";
    assert_eq!(refused("1 0\n1  2", 1), format!("line 2, column 4: `2`: {entry}"));
    assert_eq!(refused("é 0", 1), format!("line 1, column 1: `é`: {entry}"));
    assert_eq!(refused("1 é", 1), format!("line 1, column 3: `é`: {entry}"));
    assert_eq!(refused("1 -2", 1), format!("line 1, column 3: `-2`: {entry}"));
    assert_eq!(refused("1 1.0", 1), format!("line 1, column 3: `1.0`: {entry}"));
    let long = "9".repeat(1000);
    assert_eq!(refused(&format!("1 {long}"), 1), format!("line 1, column 3: `{}`: {entry}", &long[..20]));
    assert_eq!(
        refused("1 -1 0 -1 -1 0\n1 2 0 -1 1 -1", 2),
        "line 2, column 10: racks 0 and 2 both lead to rack 1 by uplink 0: \
         expected one circuit on a port in a slice"
    );
    let rows = "1 0\n".repeat(65_536);
    assert_eq!(refused(&rows, 1), "line 65536: 65536 slices: expected 1 to 65535");
    assert_eq!(refused(&"-1 ".repeat(16_385), 1), "line 1: 16385 racks: expected 2 to 16384");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_written_is_read(vertices in 1u32..6, factor in 1u32..4, uplinks in 1u32..4, seed: u64, staggered: bool) {
        let racks = vertices * factor;
        prop_assume!(racks >= 2 && uplinks <= racks);
        let stepping = if staggered { Stepping::Staggered } else { Stepping::Together };
        let matchings = random_factorization(racks, factor, seed).unwrap();
        let schedule = RotorSchedule::spread(&matchings, uplinks, stepping).unwrap();
        prop_assert_eq!(parse_schedule(&text(&schedule), uplinks), Ok(schedule));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>(), uplinks in 0u32..5) {
        let _ = parse_schedule(&text, uplinks);
    }

    #[test]
    fn no_rows_of_integers_make_the_parser_panic(
        text in "([ \t\n#]|-?[0-9]{1,2}|[0-3]| |\n|\u{e9}){0,80}",
        uplinks in 1u32..4,
    ) {
        if let Ok(schedule) = parse_schedule(&text, uplinks) {
            prop_assert!(schedule.racks() >= 2 && schedule.uplinks() == uplinks);
            prop_assert!(schedule.circuits(0, 0).all(|(_, to)| to < schedule.racks() && to != 0));
        }
    }
}
