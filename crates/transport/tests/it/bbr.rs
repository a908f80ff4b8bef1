//! Tests that BBR on a bottleneck finds the rate, keeps the queue short, and tolerates losses.

use crate::path::{Path, PathConfig};
use timeplane_model::{Bytes, Duration, Rate};
use timeplane_transport::congestion::{BbrMode, Congestion};
use timeplane_transport::{CongestionKind, HEADER_BYTES, TcpConfig};

pub(super) const MSS: u64 = 1_460;
/// Share of a link's rate that is payload.
pub(super) const PAYLOAD: f64 = MSS as f64 / (MSS + HEADER_BYTES as u64) as f64;
const RATE: Rate = Rate::mbps(100);

/// 100 Mb/s, 40 ms, and a buffer of four bandwidth-delay products.
fn bottleneck() -> PathConfig {
    let product = RATE.bytes_in(Duration::from_ms(40)).get();
    PathConfig {
        rate: Some(RATE),
        propagation: Duration::from_ms(20),
        queue_limit: 4 * product,
        ..PathConfig::default()
    }
}

pub(super) fn tcp(congestion: CongestionKind) -> TcpConfig {
    TcpConfig { congestion, ..TcpConfig::default() }
}

/// Runs for so long; returns the rate of acknowledged payload in bits per second.
pub(super) fn run(path: &mut Path, seconds: f64) -> f64 {
    let begin = (path.now, path.flows.iter().map(|f| f.sender.acknowledged()).sum::<u64>());
    let until = path.now + Duration::from_secs_f64(seconds) - timeplane_model::Time::ZERO;
    path.queue_seen = (0, 0, 0);
    path.run_logged(until, |_, _, _, _| {});
    let acked = path.flows.iter().map(|f| f.sender.acknowledged()).sum::<u64>() - begin.1;
    acked as f64 * 8.0 / (path.now - begin.0).as_secs_f64()
}

/// Mean queueing delay that packets have found.
fn mean_queue(path: &Path) -> Duration {
    mean_queue_at(RATE, path)
}

/// Mean queueing delay at a rate.
pub(super) fn mean_queue_at(rate: Rate, path: &Path) -> Duration {
    let (sum, count, _) = path.queue_seen;
    rate.time_for(Bytes::new((sum / u128::from(count.max(1))) as u64))
}

/// Runs for so long; returns the rate and each flow's share of it.
pub(super) fn shares(path: &mut Path, seconds: f64) -> (f64, Vec<f64>) {
    let before: Vec<_> = path.flows.iter().map(|f| f.sender.acknowledged()).collect();
    let rate = run(path, seconds);
    let shares: Vec<_> = path.flows.iter().zip(before).map(|(f, b)| (f.sender.acknowledged() - b) as f64).collect();
    let sum = shares.iter().sum::<f64>();
    (rate, shares.iter().map(|share| share / sum).collect())
}

/// Jain's index.
pub(super) fn fairness(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>().powi(2) / (shares.len() as f64 * shares.iter().map(|s| s * s).sum::<f64>())
}

fn mode(path: &Path) -> BbrMode {
    let Congestion::Bbr(bbr) = path.flows[0].sender.congestion() else { unreachable!("BBR was asked for") };
    bbr.mode()
}

fn bandwidth(path: &Path) -> f64 {
    let Congestion::Bbr(bbr) = path.flows[0].sender.congestion() else { unreachable!("BBR was asked for") };
    bbr.bandwidth().as_bps() as f64
}

#[test]
fn fills_the_link_and_leaves_the_queue_empty() {
    let mut path = Path::with_flow(bottleneck(), &tcp(CongestionKind::Bbr), u64::MAX);
    run(&mut path, 2.0);
    assert_eq!(mode(&path), BbrMode::ProbeBw);
    let rate = run(&mut path, 30.0);
    println!("BBR: {:.2} Mb/s, mean queue {:?}, most {} B", rate / 1e6, mean_queue(&path), path.queue_seen.2);
    assert!(rate > 0.9 * 100e6 * PAYLOAD, "{rate}");
    assert!((bandwidth(&path) / (100e6 * PAYLOAD) - 1.0).abs() < 0.02, "{}", bandwidth(&path));
    // The buffer is 160 ms, the bandwidth-delay product 40 ms.
    assert!(mean_queue(&path) < Duration::from_ms(10));
    assert!(path.queue_seen.2 < RATE.bytes_in(Duration::from_ms(20)).get());
    assert_eq!(path.dropped, 0);

    let mut cubic = Path::with_flow(bottleneck(), &tcp(CongestionKind::Cubic), u64::MAX);
    run(&mut cubic, 2.0);
    run(&mut cubic, 30.0);
    assert!(mean_queue(&cubic) > mean_queue(&path) * 5, "{:?}", mean_queue(&cubic));
}

#[test]
fn finds_another_rate() {
    let mut path = Path::with_flow(bottleneck(), &tcp(CongestionKind::Bbr), u64::MAX);
    run(&mut path, 3.0);
    for (mbps, within) in [(50, 3.0), (100, 3.0), (25, 3.0)] {
        path.set_rate(Rate::mbps(mbps));
        run(&mut path, within);
        let rate = run(&mut path, 3.0);
        let expected = mbps as f64 * 1e6 * PAYLOAD;
        println!("{mbps} Mb/s: {:.2}", rate / 1e6);
        assert!(rate > 0.9 * expected && rate < 1.01 * expected, "{mbps}: {rate}");
        assert!((bandwidth(&path) / expected - 1.0).abs() < 0.03, "{mbps}: {}", bandwidth(&path));
    }
}

#[test]
fn probes_the_round_trip_every_ten_seconds() {
    let mut path = Path::with_flow(bottleneck(), &tcp(CongestionKind::Bbr), u64::MAX);
    let (mut probes, mut least, mut was, mut low) = (0, u64::MAX, BbrMode::Startup, 0);
    path.run_logged(Duration::from_secs(35), |_, _, sender, _| {
        let Congestion::Bbr(bbr) = sender.congestion() else { unreachable!("BBR was asked for") };
        if bbr.mode() == BbrMode::ProbeRtt {
            probes += u64::from(was != BbrMode::ProbeRtt);
            least = least.min(sender.cwnd());
            low += u64::from(sender.in_flight() <= 4 * MSS);
        }
        was = bbr.mode();
    });
    assert_eq!((probes, least), (3, 4 * MSS));
    assert!(low > 0, "the pipe was empty");
    let Congestion::Bbr(bbr) = path.flows[0].sender.congestion() else { unreachable!("BBR was asked for") };
    let rtprop = bbr.rtprop().expect("a round trip");
    assert!(rtprop >= Duration::from_ms(40) && rtprop < Duration::from_us(40_500), "{rtprop:?}");
}

#[test]
fn random_losses_cost_little() {
    let measure = |congestion, loss| {
        let mut path = Path::with_flow(PathConfig { loss, ..bottleneck() }, &tcp(congestion), u64::MAX);
        run(&mut path, 5.0);
        (run(&mut path, 40.0) / (100e6 * PAYLOAD), path.flows[0].sender.timeouts())
    };
    for loss in [0.001, 0.01, 0.02] {
        let ((bbr, timeouts), (cubic, _)) = (measure(CongestionKind::Bbr, loss), measure(CongestionKind::Cubic, loss));
        println!("{loss}: BBR {bbr:.3} ({timeouts} timeouts), CUBIC {cubic:.3}");
        assert!(bbr > 0.85, "{loss}: {bbr}");
        assert!(loss < 0.01 || cubic < 0.5, "{loss}: {cubic}");
    }
}

/// Two flows with different starts share the link.
#[test]
fn two_flows_share() {
    let mut path = Path::new(bottleneck());
    path.add(&tcp(CongestionKind::Bbr), u64::MAX, timeplane_model::Time::ZERO);
    path.add(&tcp(CongestionKind::Bbr), u64::MAX, timeplane_model::Time::ZERO + Duration::from_ms(1_300));
    run(&mut path, 30.0);
    let (rate, shares) = shares(&mut path, 60.0);
    let jain = fairness(&shares);
    println!("{:.2} Mb/s, fairness {jain:.3}", rate / 1e6);
    assert!(rate > 0.9 * 100e6 * PAYLOAD && jain > 0.9, "{rate}, {shares:?}");
}
