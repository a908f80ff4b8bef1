//! Flow list and completion times of the comparison with other simulators.
use std::sync::Arc;
use timeplane_model::Duration;
use timeplane_sim::bench;
use timeplane_sim::endpoints::Carrier;
fn main() {
    let ms: i64 = std::env::args().nth(1).map_or(1000, |a| a.parse().unwrap());
    let fabric = Arc::new(bench::leaf_spine(4, 30, 3).unwrap());
    let source = bench::uniform(&fabric, 0.6).unwrap();
    let arrivals = bench::first(&source, 1, Duration::from_ms(ms));
    if let Some(path) = std::env::args().nth(2) {
        timeplane_workload::write_flow_list(std::path::Path::new(&path), arrivals.iter().copied()).unwrap();
    }
    for (name, c) in [("open", Carrier::Datagrams), ("tcp", bench::tcp()), ("open", Carrier::Datagrams), ("tcp", bench::tcp())] {
        let m = bench::carry(name, &fabric, &arrivals, c, 0);
        println!("{} {:.1} M/s {:.1} events M/s {} kB", m.name, m.packet_hops_per_cpu_s/1e6, m.events as f64/m.cpu_s/1e6, m.peak_rss_kb);
    }
}
