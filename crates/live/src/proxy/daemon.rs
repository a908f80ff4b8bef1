//! The command `timeplane live proxy`: the proxy of a real edge.
//!
//! It splits connections, and sets the windows of those towards the radio by an access point's
//! reports.

use super::actuator::Actuator;
use super::clock::Clock;
use super::sockets::set_transparent;
use super::split::{SplitConfig, SplitProxy, Target};
use super::steering::{Steering, SteeringConfig};
use crate::service::{self, Stop};
use clap::Args;
use serde_json::json;
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use timeplane_model::{Duration, LinkId, Rate};
use timeplane_protocol::{ProxyPolicy, RateLadder, WindowProxyConfig};

/// Arguments of the daemon.
#[derive(Clone, Debug, Args)]
pub struct ProxyArgs {
    /// Address to accept connections at
    #[arg(long, value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Send all connections to this address
    #[arg(
        long,
        value_name = "ADDRESS",
        required_unless_present = "original_destination",
        conflicts_with = "original_destination"
    )]
    to: Option<SocketAddr>,
    /// Send connections to their destination before netfilter redirected them
    #[arg(long)]
    original_destination: bool,
    /// Accept connections of TPROXY too
    #[arg(long, requires = "original_destination")]
    transparent: bool,
    /// Set windows by reports: reactive, proactive, predicted [default: leave windows to the
    /// kernel]
    #[arg(long, value_parser = policy_named, requires = "reports", requires = "access_point", requires = "rates")]
    policy: Option<ProxyPolicy>,
    /// UDP address to receive the access point's reports at
    #[arg(long, value_name = "ADDRESS", requires = "policy")]
    reports: Option<SocketAddr>,
    /// The access point's address; reports from elsewhere are ignored
    #[arg(long, value_name = "ADDRESS", requires = "policy")]
    access_point: Option<SocketAddr>,
    /// Rates of the radio link
    #[arg(long, value_name = "RATE,..", value_delimiter = ',', requires = "policy")]
    rates: Vec<Rate>,
    /// Number of the radio link in reports
    #[arg(long, default_value_t = 0)]
    link: u32,
    /// Round trip over the radio link until one has been measured
    #[arg(long, value_name = "TIME", default_value = "20 ms")]
    base_rtt: Duration,
    /// Seconds between lines of counters
    #[arg(long, default_value_t = 10)]
    every: u64,
}

fn policy_named(name: &str) -> Result<ProxyPolicy, String> {
    let all = ProxyPolicy::all();
    let known: Vec<&str> = all.iter().map(|p| p.name()).collect();
    all.into_iter().find(|p| p.name() == name).ok_or_else(|| format!("expected one of {}", known.join(", ")))
}

/// Runs it until it is told to end; a line of JSON now and then on stdout. Its exit code.
pub fn proxy(args: &ProxyArgs) -> u8 {
    let (actuator, why) = Actuator::best();
    if let Some(why) = why {
        eprintln!("{why}; using the send buffer's size instead");
    }
    match serve(args, Arc::new(actuator)) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("error: {e}");
            1
        }
    }
}

fn serve(args: &ProxyArgs, actuator: Arc<Actuator>) -> Result<u8, Box<dyn std::error::Error>> {
    let wrong = |what: &str| {
        eprintln!("error: {what}");
        Ok(2)
    };
    let listen = args.listen;
    let target = args.to.map_or(Target::Original, Target::Fixed);
    let steered = match (args.policy, args.reports, args.access_point) {
        (Some(policy), Some(reports), Some(access_point)) => {
            let Some(ladder) = RateLadder::new(args.rates.iter().copied()) else {
                return wrong("--rates: expected at least one rate above 0");
            };
            Some((policy, reports, access_point, ladder))
        }
        _ => None,
    };
    let stop = Stop::on_signals()?;
    let at = |what: String| move |e: io::Error| format!("{what}: {e}");
    let listener = listener(listen, args.transparent).map_err(at(format!("--listen {listen}")))?;
    let address = listener.local_addr()?;
    let split = SplitProxy::start(listener, SplitConfig::towards(target), Arc::clone(&actuator))?;
    let steering = match steered {
        None => None,
        Some((policy, reports, access_point, ladder)) => {
            let socket = UdpSocket::bind(reports).map_err(at(format!("--reports {reports}")))?;
            let proxy = WindowProxyConfig { policy, ladder, base_rtt: args.base_rtt, ..WindowProxyConfig::default() };
            let config = SteeringConfig {
                proxy,
                link: LinkId(args.link),
                access_point,
                hold: true,
                lease: Duration::from_secs(3),
                look: Duration::from_ms(2),
            };
            Some(Steering::start(socket, config, Arc::clone(&actuator), split.connections(), Clock::start())?)
        }
    };
    service::ready(&format!("splitting connections to {address}"));
    eprintln!("listening at {address}; windows by {}", if steering.is_some() { actuator.name() } else { "the kernel" });
    loop {
        let over = stop.wait(std::time::Duration::from_secs(args.every.max(1)));
        let c = split.counters();
        let mut line = json!({
            "open": split.connections().open().len(),
            "accepted": c.accepted,
            "too_many": c.too_many,
            "unreachable": c.unreachable,
            "broken": c.broken,
            "finished": c.finished,
            "bytes_to_radio": c.to_radio,
            "bytes_from_radio": c.from_radio,
        });
        if let Some(steering) = &steering {
            let s = steering.counters();
            line["reports"] = s.reports.into();
            line["reports_refused"] = (s.stale + s.foreign).into();
            line["orders"] = s.orders.into();
            line["orders_failed"] = s.failed.into();
            line["released"] = s.released.into();
        }
        println!("{line}");
        if over {
            service::stopping();
            return Ok(0);
        }
    }
}

fn listener(address: SocketAddr, transparent: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    if transparent {
        set_transparent(&socket)?;
    }
    socket.bind(&address.into())?;
    socket.listen(128)?;
    Ok(socket.into())
}
