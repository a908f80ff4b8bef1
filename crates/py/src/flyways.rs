//! The flyway controller, antennas and link rates as functions over numpy arrays;
//! `timeplane.algorithms` documents them.

use crate::algorithms::{Value, invalid};
use numpy::ndarray::ArrayView2;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;
use timeplane_model::{Duration, Named, Rate, UnknownName};
use timeplane_protocol::{Pointing, RadioLinks};
use timeplane_radio::{
    Angle, Antenna, AntennaName, Direction, Field, FlywayRules, Layout, LinkBudget, MacName, Mcs, Meters, Rack, Rows,
    bundled,
};
use timeplane_schedule::flyways::{
    Duplex, Either, FlywayError, FlywayPlan, FlywayPlanner, FlywayPolicy, Phase, Phases, Ports, Request, Traffic, Wired,
};

/// Links (a, b, channel), rates, setup times, routes (from, to, link), shares, then CTD, wired,
/// unsubscribed in seconds.
type Planned<'py> = (
    Bound<'py, PyArray2<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray2<i64>>,
    Bound<'py, PyArray1<f64>>,
    (f64, f64, f64),
);

/// The plan of a phase, and the numbers of links that were kept, added and removed.
type PlannedPhase<'py> = (Planned<'py>, (usize, usize, usize));

fn planned<'py>(py: Python<'py>, plan: &FlywayPlan) -> Planned<'py> {
    let seconds = |d: Duration| d.as_ps() as f64 / 1e12;
    let links = plan.links.iter().flat_map(|(l, _)| [l.a as i64, l.b as i64, l.channel as i64]).collect();
    let routes = plan.routes.iter().flat_map(|r| [r.from as i64, r.to as i64, r.link as i64]).collect();
    let rows = |flat: Vec<i64>| {
        let shape = (flat.len() / 3, 3);
        PyArray2::from_owned_array(py, numpy::ndarray::Array2::from_shape_vec(shape, flat).expect("threes"))
    };
    (
        rows(links),
        PyArray1::from_iter(py, plan.links.iter().map(|(l, _)| l.rate.as_bps() as f64)),
        PyArray1::from_iter(py, plan.links.iter().map(|(_, setup)| seconds(*setup))),
        rows(routes),
        PyArray1::from_iter(py, plan.routes.iter().map(|r| r.share)),
        (seconds(plan.ctd), seconds(plan.wired), seconds(plan.unsubscribed)),
    )
}

fn traffic(bytes: ArrayView2<'_, u64>) -> PyResult<Traffic> {
    let (n, columns) = bytes.dim();
    if n != columns {
        return Err(invalid(format_args!("a {n} x {columns} matrix: as many rows as columns")));
    }
    Traffic::new(n, bytes.iter().copied().collect()).map_err(invalid)
}

fn antenna(name: &str) -> PyResult<Antenna> {
    if name == "isotropic" {
        return Ok(Antenna::Isotropic);
    }
    let known = || AntennaName::all().iter().map(|a| a.name()).chain(["isotropic"]);
    let found = AntennaName::named(name).map_err(|_| UnknownName::new(AntennaName::KIND, name, known()));
    found.map(AntennaName::antenna).map_err(invalid)
}

/// Everything that a plan needs except its demand.
struct PlanInputs {
    controller: FlywayPlanner,
    wired: Wired,
    field: Field,
    rules: FlywayRules,
    circuits: Ports,
}

#[allow(clippy::too_many_arguments)] // As Python's keywords are.
fn setting(
    racks: usize,
    positions: Option<PyReadonlyArray2<'_, f64>>,
    antenna_name: Option<&str>,
    radios: usize,
    channels: usize,
    policy: &str,
    oversubscription: u32,
    core: bool,
    circuits: Option<(usize, Value)>,
) -> PyResult<PlanInputs> {
    let wired = if core { Wired::oversubscribed } else { Wired::oversubscribed_racks };
    let wired = wired(racks, oversubscription).map_err(invalid)?;
    let controller = FlywayPlanner::new(FlywayPolicy::named(policy).map_err(invalid)?.build());
    if channels > 64 || radios > 64 {
        return Err(invalid(format_args!("{radios} radios on {channels} channels: 64 at most")));
    }
    let layout = layout(racks, positions)?;
    // Without an antenna there are no radios, and without circuits no ports, so one kind of link
    // set covers both.
    let field = Field::new(&layout, antenna(antenna_name.unwrap_or("isotropic"))?, &LinkBudget::default());
    let radios = if antenna_name.is_some() { radios } else { 0 };
    let (ports, rate) = match circuits {
        Some((ports, rate)) => (ports, rate.rate("circuits")?),
        None => (0, Rate::gbps(1)),
    };
    let circuits = Ports::new(racks, ports, rate, Duplex::Full).map_err(invalid)?;
    Ok(PlanInputs {
        controller,
        wired,
        field,
        rules: FlywayRules { radios, channels, ..FlywayRules::default() },
        circuits,
    })
}

fn layout(racks: usize, positions: Option<PyReadonlyArray2<'_, f64>>) -> PyResult<Layout> {
    let middles: Vec<(f64, f64)> = match positions {
        Some(given) => {
            let given = given.as_array();
            if given.dim() != (racks, 2) {
                let (rows, columns) = given.dim();
                return Err(invalid(format_args!("a layout of {rows} x {columns} numbers: x and y of {racks} racks")));
            }
            given.rows().into_iter().map(|row| (row[0], row[1])).collect()
        }
        None => {
            let all = Layout::parse("racks_160.csv", bundled::RACKS_160, Rack::default()).map_err(invalid)?;
            if racks > all.racks() {
                return Err(invalid(format_args!("{racks} racks: the bundled layout has {}", all.racks())));
            }
            all.antennas()[..racks].iter().map(|p| (p.x, p.y)).collect()
        }
    };
    if racks > Layout::MOST_RACKS {
        return Err(invalid(format_args!("{racks} racks: at most {}", Layout::MOST_RACKS)));
    }
    if middles.iter().any(|(x, y)| !(x.abs() <= Layout::FARTHEST_M && y.abs() <= Layout::FARTHEST_M)) {
        return Err(invalid(format_args!("racks stand within {} m", Layout::FARTHEST_M)));
    }
    Layout::new(Rack::default(), &middles).map_err(invalid)
}

impl PlanInputs {
    fn links(&self) -> Either<RadioLinks<&Field>, Ports> {
        let radios = RadioLinks::new(&self.field, self.rules.clone());
        Either::new(radios, self.circuits.clone()).expect("both are of the same racks, and empty")
    }
}

/// Plans links and shares for one demand matrix.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // They are keywords in Python.
pub(crate) fn flyways<'py>(
    py: Python<'py>,
    demand: PyReadonlyArray2<'py, u64>,
    positions: Option<PyReadonlyArray2<'py, f64>>,
    antenna: Option<&str>,
    radios: usize,
    channels: usize,
    policy: &str,
    oversubscription: u32,
    core: bool,
    circuits: Option<(usize, Value)>,
) -> PyResult<Planned<'py>> {
    let traffic = traffic(demand.as_array())?;
    let n = traffic.racks();
    let setting = setting(n, positions, antenna, radios, channels, policy, oversubscription, core, circuits)?;
    let plan = py
        .detach(|| setting.controller.plan(&Request::new(&traffic, &setting.wired), &mut setting.links()))
        .map_err(invalid)?;
    Ok(planned(py, &plan))
}

/// Plans consecutive phases; each plan comes with the numbers of links that were kept, added and
/// removed.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // They are keywords in Python.
pub(crate) fn flyway_phases<'py>(
    py: Python<'py>,
    demands: PyReadonlyArray3<'py, u64>,
    setup: Value,
    positions: Option<PyReadonlyArray2<'py, f64>>,
    antenna: Option<&str>,
    radios: usize,
    channels: usize,
    policy: &str,
    oversubscription: u32,
    core: bool,
    circuits: Option<(usize, Value)>,
) -> PyResult<Vec<PlannedPhase<'py>>> {
    let setup = setup.duration("setup")?;
    let demands = demands.as_array();
    let all = demands.outer_iter().map(traffic).collect::<PyResult<Vec<_>>>()?;
    let n = demands.dim().1;
    let setting = setting(n, positions, antenna, radios, channels, policy, oversubscription, core, circuits)?;
    let phases = py
        .detach(|| {
            let (controller, wired) = (setting.controller.clone(), setting.wired.clone());
            let mut phases = Phases::new(controller, wired, setting.links(), setup);
            all.iter().map(|traffic| phases.next(traffic)).collect::<Result<Vec<Phase>, FlywayError>>()
        })
        .map_err(invalid)?;
    Ok(phases.iter().map(|p| (planned(py, &p.plan), (p.kept, p.begun, p.ended))).collect())
}

/// The names of the policies with a line about each.
#[pyfunction]
pub(crate) fn flyway_policies() -> Vec<(&'static str, &'static str)> {
    FlywayPolicy::all().iter().map(|p| (p.name(), p.about())).collect()
}

/// Duration of a beam training in seconds, for two ends with `sectors` sectors each.
#[pyfunction]
pub(crate) fn beam_training(sectors: u32, mac: &str) -> PyResult<f64> {
    if sectors > 1024 {
        return Err(invalid(format_args!("{sectors} sectors: 1024 at most")));
    }
    let mac = MacName::named(mac).map_err(invalid)?.parameters();
    Ok(Pointing::Trained { mac, sectors }.takes().as_ps() as f64 / 1e12)
}

/// Gain of an antenna in dBi, by angle from its axis in degrees, in the horizontal plane.
#[pyfunction]
pub(crate) fn antenna_gain<'py>(
    py: Python<'py>,
    name: &str,
    degrees: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let antenna = antenna(name)?;
    let degrees = degrees.as_array();
    if degrees.iter().any(|d| d.is_nan() || d.abs() > 1e6) {
        return Err(invalid("angles are numbers of degrees"));
    }
    let gain = |&d: &f64| antenna.gain(Direction::level(Angle::degrees(d))).get();
    Ok(PyArray1::from_iter(py, degrees.iter().map(gain)))
}

/// OFDM rates in bit/s by distance in meters, for two antennas that point at each other without
/// interference; 0 if no rate is possible.
#[pyfunction]
pub(crate) fn link_rate<'py>(
    py: Python<'py>,
    name: &str,
    meters: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let ahead = antenna(name)?.ahead();
    let meters = meters.as_array();
    if meters.iter().any(|m| !(*m >= 0.0 && *m <= Layout::FARTHEST_M)) {
        return Err(invalid(format_args!("distances are from 0 to {} m", Layout::FARTHEST_M)));
    }
    let budget = LinkBudget::default();
    let rate = |&m: &f64| {
        let signal = budget.signal(Meters::new(m), ahead, ahead);
        let carries = |mcs: &Mcs| mcs.sensitivity().is_some_and(|level| signal >= level);
        Mcs::ofdm().filter(carries).map(|mcs| mcs.rate().as_bps()).max().map_or(0.0, |bps| bps as f64)
    };
    Ok(PyArray1::from_iter(py, meters.iter().map(rate)))
}

fn places<'py>(py: Python<'py>, middles: impl Iterator<Item = (f64, f64)>) -> Bound<'py, PyArray2<f64>> {
    let flat: Vec<f64> = middles.flat_map(|(x, y)| [x, y]).collect();
    let shape = (flat.len() / 2, 2);
    PyArray2::from_owned_array(py, numpy::ndarray::Array2::from_shape_vec(shape, flat).expect("x and y of each"))
}

/// The first places of the bundled layout.
#[pyfunction]
pub(crate) fn published_layout(py: Python<'_>, racks: usize) -> PyResult<Bound<'_, PyArray2<f64>>> {
    Ok(places(py, layout(racks, None)?.antennas().iter().map(|p| (p.x, p.y))))
}

/// Places of racks in rows.
#[pyfunction]
pub(crate) fn rack_rows<'py>(
    py: Python<'py>,
    racks: u32,
    row: u32,
    spacing_m: f64,
    rows: u32,
    row_spacing_m: f64,
    block_spacing_m: f64,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    if racks as usize > Layout::MOST_RACKS {
        return Err(invalid(format_args!("{racks} racks: at most {}", Layout::MOST_RACKS)));
    }
    let rows = Rows { racks: row, spacing_m, rows, row_spacing_m, block_spacing_m };
    Ok(places(py, rows.middles(racks).into_iter()))
}
