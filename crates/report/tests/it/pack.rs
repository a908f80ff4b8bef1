//! Unpacking a packed table gives the same table.

use crate::common::Numbers;
use timeplane_report::pack::{Column, pack, unpack};

/// Columns of every kind that tables have, and of some that they should not have.
fn column(numbers: &mut Numbers, rows: usize) -> Vec<Option<i64>> {
    let kind = numbers.next(6);
    let (base, step) = (numbers.next(1 << 40) as i64 - (1 << 39), 1 + numbers.next(1 << 30) as i64);
    let null = |numbers: &mut Numbers| numbers.next(10) == 0;
    let value = |row: usize| match kind {
        0 => Some(base + step * row as i64),
        1 => (!null(numbers)).then(|| numbers.next(600) as i64 - 300),
        2 => Some(numbers.next(1 << 50) as i64 * 1000),
        3 => (!null(numbers)).then(|| base.wrapping_mul(numbers.next(u64::MAX) as i64)),
        4 => Some(base),
        _ => (!null(numbers)).then(|| numbers.next(4) as i64 * step),
    };
    (0..rows).map(value).collect()
}

#[test]
fn any_column_comes_out_as_it_went_in() {
    let mut numbers = Numbers::new(7);
    for case in 0..2000 {
        let rows = numbers.next(if case % 10 == 0 { 2000 } else { 20 }) as usize;
        let columns: Vec<Column> = ["start_ps", "sent_bytes", "link"][..1 + case % 3]
            .iter()
            .map(|name| Column::nullable(name, column(&mut numbers, rows)))
            .collect();
        let packed = pack(&columns);
        assert_eq!(unpack(&packed).unwrap(), columns, "case {case}");
        assert_eq!(pack(&columns), packed, "the same table gives the same text");
    }
}

#[test]
fn ends_of_the_range_and_nothing_at_all() {
    for values in
        [vec![], vec![None], vec![Some(i64::MIN), Some(i64::MAX)], vec![Some(7); 3], vec![None, Some(0), None]]
    {
        let columns = [Column::nullable("n", values)];
        assert_eq!(unpack(&pack(&columns)).unwrap(), columns);
    }
}

#[test]
fn nullable_at_both_ends_of_the_range_comes_out_too() {
    let columns = [Column::nullable("n", [Some(i64::MIN), None, Some(i64::MAX), Some(i64::MAX - 1)])];
    assert_eq!(unpack(&pack(&columns)).unwrap(), columns);
}

#[test]
fn words_are_numbered_as_they_appear() {
    let states: Vec<String> = ["used", "outage", "used"].map(str::to_owned).into();
    let columns = [Column::words("state", &states)];
    assert_eq!(columns[0].values, [Some(0), Some(1), Some(0)]);
    assert_eq!(unpack(&pack(&columns)).unwrap(), columns);
}

#[test]
fn regular_times_take_next_to_nothing() {
    let times = Column::new("time_ps", (0..100_000).map(|i| 5_000_000 + i * 315_000_000));
    assert_eq!(times.unit(), "ps");
    let packed = pack(&[times]);
    assert!(packed.data.len() < 1000, "{} B", packed.data.len());
}

#[test]
fn what_is_cut_off_is_refused() {
    let mut packed = pack(&[Column::new("n", 0..1000)]);
    packed.data.truncate(packed.data.len() / 8 * 4);
    assert!(unpack(&packed).is_err());
}
