//! Schedules over time: slots and circuits by sending host, rates by pair, and the states of air
//! links.

use crate::ReportError;
use crate::pack::{Column, Packed, pack};
use crate::tables::Book;
use serde_json::{Value, json};
use timeplane_model::Duration;
use timeplane_results::{AirRow, RateRow, SlotRow};

/// Rows of the table `slots`, column by column, in the order of the table. A row is a planned
/// transmission.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    /// Number of the round.
    pub round: Vec<i64>,
    /// Number of the slot in its round.
    pub slot: Vec<i64>,
    /// Start of the slot, in ps.
    pub start: Vec<i64>,
    /// Time for which the slot is open, in ps.
    pub open: Vec<i64>,
    /// Guard or dark time after the slot, in ps.
    pub gap: Vec<i64>,
    /// Sending host.
    pub source: Vec<i64>,
    /// Receiving host.
    pub destination: Vec<i64>,
    /// Granted wire bytes.
    pub granted: Vec<i64>,
    /// Wire bytes sent in the slot, if known.
    pub sent: Vec<Option<i64>>,
}

/// Packs a schedule as two tables: slots, each with its times and its number of pairs, and pairs.
///
/// Slots are sorted by time, and the pairs of a slot by source, whatever the order of the rows.
/// `dark` is the longest time for which circuits are dark when they change ([`Duration::ZERO`]
/// without circuits). If a configuration does not directly follow the previous one, the column
/// `dark_ps` has the time between them, at most `dark`.
pub fn pack_slots(slots: &Slots, dark: Duration) -> [Packed; 2] {
    let mut order: Vec<usize> = (0..slots.start.len()).collect();
    let of = |i: usize| (slots.start[i], slots.round[i], slots.slot[i], slots.open[i], slots.gap[i]);
    order.sort_by_key(|&i| (of(i), slots.source[i], slots.destination[i]));
    let groups: Vec<&[usize]> = order.chunk_by(|&a, &b| of(a) == of(b)).collect();
    let first = |column: &[i64]| groups.iter().map(|g| column[g[0]]).collect::<Vec<_>>();
    let (start, open, gap) = (first(&slots.start), first(&slots.open), first(&slots.gap));
    let mut until = 0;
    // A damaged table may hold any times.
    let darks = (0..groups.len()).map(|i| {
        let before = start[i].saturating_sub(until);
        until = until.max(start[i].saturating_add(open[i]).saturating_add(gap[i]));
        before.clamp(0, dark.as_ps())
    });
    let darks: Vec<i64> = darks.collect();
    let pairs = groups.iter().map(|g| g.len() as i64);
    let group = pack(&[
        Column::new("round", first(&slots.round)),
        Column::new("slot", first(&slots.slot)),
        Column::new("start_ps", start.iter().copied()),
        Column::new("open_ps", open.iter().copied()),
        Column::new("gap_ps", gap.iter().copied()),
        Column::new("dark_ps", darks),
        Column::new("pairs", pairs),
    ]);
    let by_pair = |column: &[i64]| order.iter().map(|&i| column[i]).collect::<Vec<_>>();
    let rows = pack(&[
        Column::new("source", by_pair(&slots.source)),
        Column::new("destination", by_pair(&slots.destination)),
        Column::new("granted_bytes", by_pair(&slots.granted)),
        Column::nullable("sent_bytes", order.iter().map(|&i| slots.sent[i])),
    ]);
    [group, rows]
}

/// The schedules of the shown runs. The lanes of a chart depend on `kind`: sending hosts for
/// `slots` and `circuits`, pairs for `rates`, links for `air`.
pub fn schedules(book: &mut Book<'_>) -> Result<Value, ReportError> {
    let mut all = Vec::new();
    let names =
        ["round", "slot", "start_ps", "open_ps", "gap_ps", "source", "destination", "granted_bytes", "sent_bytes"];
    for (run, columns, of) in book.columns::<SlotRow>(&names)? {
        let [round, slot, start, open, gap, source, destination, granted] =
            std::array::from_fn(|i| columns.numbers(names[i]));
        let sent = columns.nullable("sent_bytes");
        let rows = start.len();
        let slots = Slots { round, slot, start, open, gap, source, destination, granted, sent };
        let circuits = book.circuits(run);
        let [group, pairs] = pack_slots(&slots, circuits.as_ref().map_or(Duration::ZERO, |c| c.dark));
        let tables = [book.push(group), book.push(pairs)];
        all.push(json!({
            "run": run,
            "kind": if circuits.is_some() { "circuits" } else { "slots" },
            "dark_ps": circuits.as_ref().map(|c| c.dark.as_ps()),
            "moved_only": circuits.is_some_and(|c| c.moved_only),
            "tables": tables,
            "rows": rows,
            "of": of,
        }));
    }
    let names = ["time_ps", "source", "destination", "rate_bps"];
    for (run, columns, of) in book.columns::<RateRow>(&names)? {
        let table = book.add(&names.map(|name| Column::new(name, columns.numbers(name))));
        all.push(json!({ "run": run, "kind": "rates", "tables": [table], "rows": columns.rows(), "of": of }));
    }
    let whole = ["time_ps", "link", "from", "rate_bps", "airtime_ps", "carried_bytes"];
    let nullable = ["to", "mcs", "lost_ppm"];
    for (run, columns, of) in book.columns::<AirRow>(&[&whole[..], &nullable, &["state"]].concat())? {
        let [time, link, from, rate, airtime, carried] = whole.map(|name| Column::new(name, columns.numbers(name)));
        let [to, mcs, lost] = nullable.map(|name| Column::nullable(name, columns.nullable(name)));
        let state = Column::words("state", &columns.words("state"));
        let table = book.add(&[time, link, from, to, state, mcs, rate, lost, airtime, carried]);
        all.push(json!({ "run": run, "kind": "air", "tables": [table], "rows": columns.rows(), "of": of }));
    }
    Ok(all.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::unpack;

    fn slots(rows: &[(i64, i64, i64, i64)]) -> Slots {
        let column = |of: fn(&(i64, i64, i64, i64)) -> i64| rows.iter().map(of).collect::<Vec<_>>();
        Slots {
            round: column(|_| 0),
            slot: column(|r| r.0),
            start: column(|r| r.1),
            open: column(|r| r.2),
            gap: column(|_| 0),
            source: column(|r| r.3),
            destination: column(|r| r.3 + 1),
            granted: column(|r| r.2.saturating_mul(10)),
            sent: rows.iter().map(|r| Some(r.2)).collect(),
        }
    }

    #[test]
    fn pairs_of_a_slot_share_its_times() {
        let slots = slots(&[(1, 500, 100, 4), (0, 0, 100, 2), (1, 500, 100, 3), (0, 0, 100, 7)]);
        let [group, pairs] = pack_slots(&slots, Duration::ZERO).map(|p| unpack(&p).unwrap());
        let values = |columns: &[Column], i: usize| columns[i].values.iter().map(|v| v.unwrap()).collect::<Vec<_>>();
        assert_eq!([2, 5, 6].map(|i| values(&group, i)), [vec![0, 500], vec![0, 0], vec![2, 2]]);
        assert_eq!(values(&pairs, 0), [2, 7, 3, 4]);
    }

    #[test]
    fn times_of_a_damaged_table_do_not_overflow() {
        let mut slots = slots(&[(0, i64::MIN, 100, 0), (1, i64::MAX, i64::MAX, 1), (2, i64::MAX, 5, 1)]);
        slots.gap = vec![i64::MAX; 3];
        let [group, _] = pack_slots(&slots, Duration::from_ps(30)).map(|p| unpack(&p).unwrap());
        let dark: Vec<i64> = group[5].values.iter().map(|v| v.unwrap()).collect();
        assert_eq!(dark, [0, 30, 0]);
    }

    #[test]
    fn circuits_are_dark_before_a_configuration_that_had_to_be_set() {
        // The first is set in 20 ps, the second in 30 ps; the third follows at once; before the
        // fourth nothing was planned for a while.
        let slots = slots(&[(0, 20, 100, 0), (1, 150, 50, 1), (2, 200, 100, 1), (3, 1000, 100, 0)]);
        let [group, _] = pack_slots(&slots, Duration::from_ps(30)).map(|p| unpack(&p).unwrap());
        let dark: Vec<i64> = group[5].values.iter().map(|v| v.unwrap()).collect();
        assert_eq!(dark, [20, 30, 0, 30]);
    }
}
