//! Tests of antennas: tables as published, shapes against their definitions, conservation of power,
//! and invalid files.

use proptest::prelude::*;
use std::f64::consts::PI;
use timeplane_radio::{
    Angle, Antenna, AntennaError, AntennaName, Cone, Db, Direction, Horn, PatchArray, PatternTable, bundled,
};

fn deg(a: f64) -> Angle {
    Angle::degrees(a)
}

fn to(azimuth: f64, elevation: f64) -> Direction {
    Direction { azimuth: deg(azimuth), elevation: deg(elevation) }
}

/// The mean of the gain over the sphere: 1 for an antenna without losses.
fn mean_gain(antenna: &Antenna) -> f64 {
    let (step, mut sum) = (0.5f64, 0.0);
    for i in 0..(180.0 / step) as i32 {
        let elevation = -90.0 + (f64::from(i) + 0.5) * step;
        let area = elevation.to_radians().cos() * step.to_radians() * step.to_radians();
        for j in 0..(360.0 / step) as i32 {
            let azimuth = -180.0 + (f64::from(j) + 0.5) * step;
            sum += area * antenna.gain(to(azimuth, elevation)).ratio();
        }
    }
    sum / (4.0 * PI)
}

#[test]
fn bundled_tables_give_their_points_and_what_lies_between() {
    let narrow = AntennaName::NarrowBeam.antenna();
    let wide = AntennaName::WideBeam.antenna();
    let fence = AntennaName::Geofencing.antenna();
    for (table, at, gain) in [
        (&narrow, 0.0, 29.1),
        (&narrow, 7.5, 18.8),
        (&narrow, -150.0, -15.8),
        (&narrow, 180.0, -16.8),
        (&wide, 0.0, 9.5),
        (&wide, -15.0, 10.0),
        (&wide, 22.5, 7.5),
        (&wide, 165.0, -15.35),
        // Beyond the last angle the table continues with the first: halfway between -16.8 at 180°
        // and -15.5 at -150°.
        (&wide, -165.0, -16.15),
        (&fence, 0.0, 7.92),
        // The file goes from -85° to 270°, so that the circle closes between 270° and 275°.
        (&fence, -90.0, -16.08),
        (&fence, -87.5, -22.08),
        (&fence, -160.0, -25.08),
    ] {
        assert!((table.gain(to(at, 0.0)).get() - gain).abs() < 1e-12, "{at}: {}", table.gain(to(at, 0.0)));
    }
}

#[test]
fn a_cone_spends_all_its_power() {
    for (width, beside) in [(10.0, 0.0), (30.0, 0.1), (60.0, 0.5), (180.0, 0.01)] {
        let cone = Antenna::Cone(Cone::new(deg(width), beside).unwrap());
        assert!((mean_gain(&cone) - 1.0).abs() < 0.01, "{width} {beside}: {}", mean_gain(&cone));
        assert!(cone.gain(to(width / 2.0 - 0.1, 0.0)) > cone.gain(to(width / 2.0 + 0.1, 0.0)));
        assert_eq!(cone.gain(to(0.0, width / 2.0 - 0.1)), cone.ahead());
    }
    // A hemisphere is half of the sphere: 3 dB.
    assert!((Cone::new(deg(180.0), 0.0).unwrap().gain(to(0.0, 0.0)).ratio() - 2.0).abs() < 1e-12);
}

#[test]
fn horns_and_arrays_have_their_beamwidths_and_their_power() {
    let half = Db::from_ratio(0.5);
    for (azimuth, elevation) in [(15.0, 14.0), (10.0, 20.0), (40.0, 30.0), (6.0, 6.0)] {
        let horn = Antenna::Horn(Horn::new(deg(azimuth), deg(elevation), None).unwrap());
        let columns = (100.0 / azimuth).ceil() as u32;
        let rows = (100.0 / elevation).ceil() as u32;
        let patch = PatchArray::new((columns, deg(azimuth)), (rows, deg(elevation)), None).unwrap();
        for antenna in [horn, Antenna::PatchArray(patch)] {
            for edge in [to(azimuth / 2.0, 0.0), to(-azimuth / 2.0, 0.0), to(0.0, elevation / 2.0)] {
                assert!((antenna.gain(edge) - antenna.ahead() - half).get().abs() < 1e-9, "{antenna:?} {edge:?}");
            }
            // The formula of the directivity is for apertures of many wavelengths.
            let error = Db::from_ratio(mean_gain(&antenna)).get();
            assert!(error.abs() < 0.6, "{antenna:?}: {error} dB of its power");
        }
    }
}

#[test]
fn side_lobes_are_where_theory_has_them() {
    let horn = Horn::new(deg(10.0), deg(10.0), None).unwrap();
    let side = |cut: &dyn Fn(f64) -> Direction, from: f64| {
        (0..3000).map(|i| horn.gain(cut(from + f64::from(i) * 0.01))).fold(Db::new(-99.0), Db::max)
            - horn.gain(to(0.0, 0.0))
    };
    // First side lobe of an even aperture: -13.26 dB; of a half cosine: -23.0 dB. Both start behind
    // the first null.
    assert!((side(&|x| to(0.0, x), 12.0).get() + 13.26).abs() < 0.05);
    assert!((side(&|x| to(x, 0.0), 14.0).get() + 23.0).abs() < 0.1);
    assert!((horn.gain(to(180.0, 0.0)).get() + 15.0).abs() < 1e-9);
}

#[test]
fn a_horn_is_continuous_where_its_formula_divides_by_zero() {
    let horn = Horn::new(deg(20.0), deg(20.0), None).unwrap();
    // u = π/2, where cos(u) / (1 - (2u/π)²) is π/4; u is 1.8676 at the beam's edge.
    let pole = (10f64.to_radians().sin() * (PI / 2.0) / 1.867_621_510_577_968).asin().to_degrees();
    for off in [0.0, 1e-9, 1e-6, 1e-4] {
        let below = horn.gain(to(pole + off, 0.0)) - horn.gain(to(0.0, 0.0));
        assert!((below.get() - 20.0 * (PI / 4.0).log10()).abs() < 1e-3, "{off} {below}");
    }
}

#[test]
fn the_antennas_of_the_proxys_testbed() {
    // 20 dBi, 14° in the E and 15° in the H plane; 17 dBi, 32 elements, 24° and 11°.
    let horn = Horn::new(deg(15.0), deg(14.0), Some(Db::new(20.0))).unwrap();
    assert_eq!(horn.gain(to(0.0, 0.0)), Db::new(20.0));
    let patch = PatchArray::new((8, deg(11.0)), (4, deg(24.0)), Some(Db::new(17.0))).unwrap();
    assert_eq!(patch.gain(to(0.0, 0.0)), Db::new(17.0));
    // Spacings of real arrays.
    let (columns, rows) = patch.spacing();
    assert!((0.45..0.65).contains(&columns) && (0.45..0.65).contains(&rows), "{columns} {rows}");
    // A gain above the lossless one is invalid, and so is one far below.
    assert!(matches!(Horn::new(deg(15.0), deg(14.0), Some(Db::new(24.0))), Err(AntennaError::Gain { .. })));
    assert!(matches!(Horn::new(deg(15.0), deg(14.0), Some(Db::new(-20.0))), Err(AntennaError::Gain { .. })));
}

#[test]
fn antennas_that_cannot_be_are_refused() {
    assert!(Cone::new(deg(0.0), 0.0).is_err());
    assert!(Cone::new(deg(-10.0), 0.0).is_err());
    assert!(Cone::new(deg(10.0), 1.0).is_err());
    assert!(Cone::new(deg(10.0), f64::NAN).is_err());
    assert!(Horn::new(deg(0.0), deg(10.0), None).is_err());
    assert!(Horn::new(deg(10.0), deg(100.0), None).is_err());
    assert!(PatchArray::new((1, deg(10.0)), (4, deg(24.0)), None).is_err());
    assert!(PatchArray::new((2, deg(5.0)), (4, deg(24.0)), None).is_err());
}

#[test]
fn tables_that_are_refused_say_where() {
    let good = "azimuth_deg,a_dBi\n-160,1\n-120,2\n-80,3\n-40,4\n0,5\n40,4\n80,3\n120,2\n160,1\n";
    assert!(PatternTable::parse("t.csv", good, None).is_ok());
    let with = |from: &str, to: &str| {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good);
        PatternTable::parse("t.csv", &text, None).unwrap_err().to_string()
    };
    for (from, to, message) in [
        ("-80,3\n", "", "t.csv:4: no gain from -120° to -40°: neighbors at most 45° apart, all round"),
        ("\n160,1\n", "\n", "t.csv:9: no gain from 120° to 200°: neighbors at most 45° apart, all round"),
        ("\n40,4", "\n400,4", "t.csv:7: column `azimuth_deg` is `400`: degrees from -180 to 360"),
        ("\n40,4", "\n-30,4", "t.csv:7: column `azimuth_deg` is `-30`: above that of the line before (0)"),
        ("\n40,4", "\n40,", "t.csv:7: column `a_dBi` is ``: a gain in dBi from -100 to 80"),
        ("\n40,4", "\n40,NaN", "t.csv:7: column `a_dBi` is `NaN`: a gain in dBi from -100 to 80"),
        ("\n40,4", "\n40,1e9", "t.csv:7: column `a_dBi` is `1e9`: a gain in dBi from -100 to 80"),
        ("\n40,4", "\n40", "t.csv:7: 1 cells: 2, as in the header"),
        ("a_dBi", "a", "t.csv:1: no column has gains: at least one `NAME_dBi`"),
        ("azimuth_deg", "azimuth", "t.csv:1: the columns are `azimuth,a_dBi`: one of them must be `azimuth_deg`"),
        (
            "\n160,1",
            "\n160,1\n190,1\n230,1",
            "t.csv:12: column `azimuth_deg` is `230`: within a circle from the first (-160)",
        ),
        ("\n160,1", "\n160,1\n190,1\n200,2", "t.csv:12: column `a_dBi` is `2`: as at -160°, the same angle (1)"),
    ] {
        assert_eq!(with(from, to), message);
    }
    let empty = PatternTable::parse("t.csv", "", None).unwrap_err().to_string();
    assert_eq!(empty, "t.csv: there are no rows: a header line and at least one row");
    let two = PatternTable::parse("t.csv", bundled::ANTENNA_MEASURED, None).unwrap_err().to_string();
    assert_eq!(two, "t.csv:1: there are 2 antennas: name one of narrow_beam, wide_beam");
}

proptest! {
    #[test]
    fn whatever_a_table_holds_it_ends(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = PatternTable::parse("t", &String::from_utf8_lossy(&bytes), None);
    }

    #[test]
    fn nearly_tables_end_in_a_table_or_a_short_message(
        cells in prop::collection::vec((prop_oneof![
            (-20..40i32).prop_map(|a| (a * 10).to_string()), any::<f64>().prop_map(|x| x.to_string()),
        ], prop_oneof![(-30..30i32).prop_map(|a| a.to_string()), any::<f64>().prop_map(|x| x.to_string())]), 1..40),
        sorted in any::<bool>(),
    ) {
        let mut cells = cells;
        if sorted { cells.sort_by(|a, b| a.0.parse::<f64>().unwrap().total_cmp(&b.0.parse::<f64>().unwrap())); }
        let text: String = cells.iter().map(|(a, g)| format!("{a},{g}\n")).collect();
        match PatternTable::parse("t", &format!("azimuth_deg,x_dBi\n{text}"), None) {
            Ok(table) => for a in -180..=180 { prop_assert!(PatternTable::GAINS_DBI.contains(&table.gain(deg(f64::from(a))).get())); },
            Err(e) => prop_assert!(e.to_string().len() < 300),
        }
    }

    /// Between its points, a table stays between their gains.
    #[test]
    fn tables_interpolate(gains in prop::collection::vec(-40.0..30.0f64, 36), at in -180.0..180.0f64) {
        let text: String = gains.iter().enumerate().map(|(i, g)| format!("{},{g}\n", i * 10)).collect();
        let table = PatternTable::parse("t", &format!("azimuth_deg,x_dBi\n{text}"), None).unwrap();
        let turn = at.rem_euclid(360.0) / 10.0;
        let (before, after) = (gains[turn.floor() as usize % 36], gains[(turn.floor() as usize + 1) % 36]);
        let expected = before + (turn - turn.floor()) * (after - before);
        prop_assert!((table.gain(deg(at)).get() - expected).abs() < 1e-9);
    }
}
