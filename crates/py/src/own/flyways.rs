//! Flyway policies written in Python: for a busy wire, the racks to which its rack should get a
//! link.
//!
//! The planner tries the links, measures their help, and moves traffic.

use super::{Callable, Own, integers, invalid};
use numpy::ndarray::Array2;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use std::sync::Arc;
use timeplane_schedule::flyways::{Bottleneck, Candidate, Fluid, LinkSet, Offer, Policy, Wired};
use timeplane_schedule::{OwnError, Registry};

/// The wired network between racks; the constructor of a policy class gets it.
#[pyclass(frozen, get_all, module = "timeplane")]
pub(crate) struct FlywayParameters {
    /// Number of racks.
    racks: usize,
    /// Rate in bit/s at which all hosts of a rack together send, and receive.
    hosts: u64,
    /// Rate in bit/s from a rack to other racks, and back.
    uplink: u64,
}

#[pymethods]
impl FlywayParameters {
    fn __repr__(&self) -> String {
        format!("FlywayParameters(racks={}, hosts={}, uplink={})", self.racks, self.hosts, self.uplink)
    }
}

/// A busy wire between a rack and the other racks, and the links that may relieve it.
#[pyclass(frozen, module = "timeplane")]
pub(crate) struct BusyWire {
    /// The rack of the wire.
    #[pyo3(get)]
    rack: usize,
    /// Whether the wire carries what the rack sends; otherwise what it receives.
    #[pyo3(get)]
    is_uplink: bool,
    /// Bit/s of the link that the rack could get to each other rack now; 0 where no link is
    /// feasible beside those that are up.
    #[pyo3(get)]
    rates: Py<PyArray1<f64>>,
    /// ``traffic[i, j]`` are rack ``i``'s bytes for rack ``j`` that use wires only.
    #[pyo3(get)]
    traffic: Py<PyArray2<f64>>,
    /// Seconds that the wire from each rack takes for its traffic.
    #[pyo3(get)]
    up_seconds: Py<PyArray1<f64>>,
    /// Seconds that the wire to each rack takes for its traffic.
    #[pyo3(get)]
    down_seconds: Py<PyArray1<f64>>,
}

pub(super) fn register(all: &mut Registry<Wired, Arc<dyn Policy>>, name: &str, own: Own) {
    all.register(name, move |wired, values| {
        let (hosts, uplink) = (wired.hosts.as_bps(), wired.uplink.as_bps());
        let call = own.make(FlywayParameters { racks: wired.racks, hosts, uplink }, values)?;
        let transit = call.flag("transit")?;
        Ok(Arc::new(PythonPolicy { call, transit }))
    });
}

struct PythonPolicy {
    call: Callable,
    transit: bool,
}

impl Policy for PythonPolicy {
    fn transit(&self) -> bool {
        self.transit
    }

    fn candidates(
        &self,
        fluid: &Fluid,
        links: &dyn LinkSet,
        bottleneck: Bottleneck,
    ) -> Result<Vec<Candidate>, OwnError> {
        let (rack, is_uplink) = match bottleneck {
            Bottleneck::Uplink(rack) => (rack, true),
            Bottleneck::Downlink(rack) => (rack, false),
            // Plans of scenarios have no such wires.
            Bottleneck::ToCore(_) | Bottleneck::FromCore(_) => return Ok(Vec::new()),
        };
        let ends = |other: usize| if is_uplink { (rack, other) } else { (other, rack) };
        let offer = |other: usize| (other != rack).then(|| links.offer(ends(other).0, ends(other).1)).flatten();
        let offers: Vec<Option<Offer>> = (0..fluid.racks()).map(offer).collect();
        self.call.ask(|call| {
            let py = call.py();
            let n = fluid.racks();
            let mut traffic = Array2::zeros((n, n));
            fluid.by_wire().for_each(|(from, to, bytes)| traffic[[from, to]] = bytes);
            let rate = |offer: &Option<Offer>| offer.map_or(0.0, |offer| offer.rate.as_bps() as f64);
            let seconds = |wire: fn(usize) -> Bottleneck| {
                PyArray1::from_iter(py, (0..n).map(|rack| fluid.seconds(wire(rack)))).unbind()
            };
            let wire = BusyWire {
                rack,
                is_uplink,
                rates: PyArray1::from_iter(py, offers.iter().map(rate)).unbind(),
                traffic: PyArray2::from_owned_array(py, traffic).unbind(),
                up_seconds: seconds(Bottleneck::Uplink),
                down_seconds: seconds(Bottleneck::Downlink),
            };
            let answer = integers(&call.call1((wire,))?, "a choice of racks")?;
            let mut chosen = Vec::new();
            for &other in answer.as_array() {
                let found = usize::try_from(other).ok().filter(|&other| other < n);
                let other = found.ok_or_else(|| invalid(format!("rack {other}: the racks are 0 to {}", n - 1)))?;
                let offer = offers[other].ok_or_else(|| {
                    invalid(format!("no link from rack {rack} to rack {other} is feasible: `rates` is 0 there"))
                })?;
                let (a, b) = ends(other);
                if chosen.iter().any(|c: &Candidate| (c.a, c.b) == (a, b)) {
                    return Err(invalid(format!("rack {other} is chosen twice")));
                }
                chosen.push(Candidate { a, b, offer });
            }
            Ok(chosen)
        })
    }
}
