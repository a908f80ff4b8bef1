//! Routings over rotor switches written in Python: the circuits of a cycle become a table of next
//! hops, which is checked once and then read for every packet.

use super::{Callable, Own, invalid};
use numpy::ndarray::Array3;
use numpy::{PyArray3, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use timeplane_schedule::OwnError;
use timeplane_schedule::rotor::RotorSchedule;
use timeplane_schedule::rotor::routing::{Hop, Position, Routing, Routings};

/// Times and rates of rotor switches; the constructor of a routing class gets them.
#[pyclass(frozen, module = "timeplane")]
pub(crate) struct RoutingParameters {
    /// Time from the start of a slice to the start of the next, in seconds.
    #[pyo3(get)]
    slice: f64,
    /// Rate of a circuit in bit/s.
    #[pyo3(get)]
    rate: u64,
}

#[pymethods]
impl RoutingParameters {
    fn __repr__(&self) -> String {
        format!("RoutingParameters(slice={}, rate={})", self.slice, self.rate)
    }
}

pub(super) fn register(all: &mut Routings, name: &str, own: Own) {
    all.register(name, move |of, parameters| {
        let given = RoutingParameters { slice: of.slice.as_secs_f64(), rate: of.rate.as_bps() };
        let table = HopTable::ask(&own.make(given, parameters)?, &of.schedule, of.whole)?;
        Ok(Box::new(table))
    });
}

/// The next hop of a packet.
#[derive(Clone, Copy)]
struct Entry {
    wait: u16,
    /// `None` without a path.
    uplink: Option<u8>,
    /// The rack at the other end.
    to: u16,
}

/// Next hops by way, slice, rack and destination.
struct HopTable {
    entries: Vec<Entry>,
    ways: usize,
    slices: usize,
    racks: usize,
    per_packet: bool,
}

impl HopTable {
    /// Asks for a table over these circuits. All racks have to be reached if they are `whole`.
    fn ask(call: &Callable, schedule: &RotorSchedule, whole: bool) -> Result<Self, OwnError> {
        let per_packet = call.flag("per_packet")?;
        call.ask(|object| {
            let answer = object.call1((circuits(object.py(), schedule),))?;
            let answer = answer.cast::<PyTuple>().ok().filter(|a| a.len() == 2);
            let answer = answer.ok_or_else(|| invalid("it has to return a tuple (waits, uplinks)"))?;
            let (waits, shape) = integers(&answer.get_item(0)?, "waits")?;
            let (uplinks, other) = integers(&answer.get_item(1)?, "uplinks")?;
            let (slices, racks) = (schedule.slices() as usize, schedule.racks() as usize);
            let ways = match shape[..] {
                [a, b, c] if [a, b, c] == [slices, racks, racks] => 1,
                [ways, a, b, c] if ways > 0 && [a, b, c] == [slices, racks, racks] => ways,
                _ => 0,
            };
            if ways == 0 || shape != other {
                return Err(invalid(format!(
                    "waits and uplinks have the shape ({slices}, {racks}, {racks}) of slices, racks and destinations, \
                     or one dimension before them; these have {shape:?} and {other:?}"
                )));
            }
            let mut table = Self { entries: Vec::with_capacity(waits.len()), ways, slices, racks, per_packet };
            for (i, (&wait, &uplink)) in waits.iter().zip(&uplinks).enumerate() {
                table.entries.push(table.entry(i, wait, uplink, schedule).map_err(invalid)?);
            }
            table.check_ends(whole).map_err(invalid)?;
            Ok(table)
        })
    }

    /// Slice, rack and destination of an entry.
    fn place(&self, i: usize) -> [usize; 3] {
        [i / (self.racks * self.racks) % self.slices, i / self.racks % self.racks, i % self.racks]
    }

    fn entry(&self, i: usize, wait: i64, uplink: i64, schedule: &RotorSchedule) -> Result<Entry, String> {
        let [slice, rack, destination] = self.place(i);
        if rack == destination || uplink == -1 {
            return Ok(Entry { wait: 0, uplink: None, to: rack as u16 });
        }
        let at = format!("at rack {rack} in slice {slice}, for rack {destination}");
        let slices = self.slices as i64;
        if !(0..slices).contains(&wait) {
            return Err(format!("{at}: it waits for {wait} slices, but a cycle has {slices}"));
        }
        let when = (slice as i64 + wait) % slices;
        let circuit = u32::try_from(uplink).ok().filter(|&u| u < schedule.uplinks());
        let to = circuit.and_then(|u| schedule.destination(when as u32, rack as u32, u));
        let to = to.ok_or_else(|| format!("{at}: uplink {uplink} has no circuit in slice {when}"))?;
        Ok(Entry { wait: wait as u16, uplink: Some(uplink as u8), to: to as u16 })
    }

    /// The entry after a hop; `None` at the destination or without a path.
    fn after(&self, i: usize) -> Option<usize> {
        let ([slice, _, destination], entry) = (self.place(i), self.entries[i]);
        entry.uplink?;
        let slice = (slice + usize::from(entry.wait)) % self.slices;
        let way = i / (self.slices * self.racks * self.racks);
        let next = ((way * self.slices + slice) * self.racks + usize::from(entry.to)) * self.racks + destination;
        (usize::from(entry.to) != destination).then_some(next)
    }

    /// Refuses tables in which a packet comes back to where it was, again and again, and those
    /// without a path if circuits are `whole`.
    fn check_ends(&self, whole: bool) -> Result<(), String> {
        // 0: not seen; otherwise the number of the walk that saw it.
        let mut seen = vec![0u32; self.entries.len()];
        for start in 0..self.entries.len() {
            let [slice, rack, destination] = self.place(start);
            if whole && rack != destination && self.entries[start].uplink.is_none() {
                return Err(format!("packets for rack {destination} at rack {rack} in slice {slice} have no path"));
            }
            let walk = start as u32 + 1;
            let mut at = Some(start);
            while let Some(i) = at.filter(|&i| seen[i] == 0) {
                seen[i] = walk;
                at = self.after(i);
            }
            if let Some(i) = at.filter(|&i| seen[i] == walk) {
                let [slice, rack, destination] = self.place(i);
                return Err(format!(
                    "packets for rack {destination} at rack {rack} in slice {slice} go round and come back"
                ));
            }
        }
        Ok(())
    }
}

impl Routing for HopTable {
    fn next_hop(&self, packet: &Position) -> Option<Hop> {
        let way = (packet.draw % self.ways as u64) as usize;
        let slice = packet.slice as usize % self.slices;
        let row = (way * self.slices + slice) * self.racks + packet.rack as usize;
        let entry = self.entries[row * self.racks + packet.destination as usize];
        let uplink = u32::from(entry.uplink?);
        Some(Hop { rack: entry.to.into(), uplink, wait: entry.wait.into(), progress: 0 })
    }

    fn table_bytes(&self) -> u64 {
        size_of_val(&self.entries[..]) as u64
    }

    fn draws_per_packet(&self) -> bool {
        self.per_packet
    }
}

/// The circuits of a cycle: by slice, rack and uplink the rack at the other end, or -1.
fn circuits<'py>(py: Python<'py>, schedule: &RotorSchedule) -> Bound<'py, PyArray3<i64>> {
    let shape = [schedule.slices(), schedule.racks(), schedule.uplinks()].map(|n| n as usize);
    let to = |(slice, rack, uplink): (usize, usize, usize)| {
        schedule.destination(slice as u32, rack as u32, uplink as u32).map_or(-1, i64::from)
    };
    PyArray3::from_owned_array(py, Array3::from_shape_fn(shape, to))
}

/// An array of integers as a list, and its shape.
fn integers(value: &Bound<'_, PyAny>, what: &str) -> PyResult<(Vec<i64>, Vec<usize>)> {
    let array = value.py().import("numpy")?.call_method1("asarray", (value,))?;
    let kind: char = array.getattr("dtype")?.getattr("kind")?.extract()?;
    if !matches!(kind, 'i' | 'u') {
        return Err(invalid(format!("{what} are an array of integers, not of {}", array.getattr("dtype")?)));
    }
    let shape = array.getattr("shape")?.extract()?;
    let flat: PyReadonlyArray1<'_, i64> = array.call_method1("astype", ("int64",))?.call_method0("ravel")?.extract()?;
    Ok((flat.as_array().to_vec(), shape))
}
