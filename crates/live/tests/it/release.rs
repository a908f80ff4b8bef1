//! Gates of ended agents are released together, in all network namespaces.

use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::path::Path;
use timeplane_live::gate::{Gate, GateConfig};
use timeplane_live::netns::{Namespace, veth};
use timeplane_live::packet_socket::{PacketSocket, Stop};
use timeplane_live::release::release_all;
use timeplane_model::HostId;
use timeplane_protocol::wire::{DataHeader, DataKind, MacAddress, SignalKey};

const HOST: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const OTHER: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

/// A host whose agent is gone, and has left a gate.
struct Gated {
    data: PacketSocket,
    _namespaces: [Namespace; 2],
}

impl Gated {
    fn new(name: &str, pins: &Path, pin: &str) -> Self {
        let [host, other] =
            ["h", "o"].map(|end| Namespace::create(&format!("{name}{}{end}", std::process::id())).unwrap());
        veth((&host, "eth0", "02:00:00:00:00:01"), (&other, "eth0", "02:00:00:00:00:02")).unwrap();
        let pin = Some((pins.to_owned(), pin.to_owned()));
        let config = GateConfig { pin, ..GateConfig::new("eth0", HOST, SignalKey([7; 16])) };
        drop(host.enter(|| Gate::attach(&config)).unwrap().unwrap());
        let data = host.enter(|| PacketSocket::open("eth0", 0x88b6)).unwrap().unwrap();
        Self { data, _namespaces: [host, other] }
    }

    /// Whether a frame that waits for slots leaves.
    fn passes(&self) -> bool {
        let header = DataHeader {
            destination: OTHER,
            source: HOST,
            kind: DataKind::Stream,
            class: 3,
            payload: 100,
            host: HostId(1),
            epoch: 1,
            stream: 1,
            port: 0,
            sealed: false,
            offset: 0,
            length: None,
        };
        self.data.send(&[&header.encode()[..], &[0; 100]].concat()).unwrap() != Some(Stop::Refused)
    }
}

#[test]
fn all_gates_of_ended_agents_are_released() {
    let root = std::path::PathBuf::from(format!("/tmp/tprelease{}", std::process::id()));
    let (pins, locks) = (root.join("bpf"), root.join("locks"));
    std::fs::create_dir_all(&locks).unwrap();
    assert!(release_all(&pins, &locks).unwrap().is_empty(), "nothing was ever pinned");
    let gated: Vec<Gated> =
        ["1-2-eth0", "2-2-eth0"].iter().map(|pin| Gated::new(&format!("tpr{}", &pin[..1]), &pins, pin)).collect();
    assert!(gated.iter().all(|host| !host.passes()), "gates outlive their agents, and are closed");
    std::fs::create_dir(pins.join("circuits")).unwrap();

    // A running agent keeps its gate, and does not keep others from being released.
    let held = Flock::lock(File::create(locks.join("1-eth0")).unwrap(), FlockArg::LockExclusive).unwrap();
    let message = release_all(&pins, &locks).unwrap_err().to_string();
    assert!(message.contains("1-2-eth0: its agent runs") && message.contains("stop it first"), "{message}");
    assert_eq!(gated.iter().map(Gated::passes).collect::<Vec<_>>(), [false, true]);

    drop(held);
    assert_eq!(release_all(&pins, &locks).unwrap(), ["1-2-eth0"]);
    assert!(gated.iter().all(Gated::passes));
    assert!(pins.join("circuits").is_dir(), "a circuit switch is not a gate");
    nix::mount::umount(&pins).unwrap();
    std::fs::remove_dir_all(&root).unwrap();
}
