//! Slots work with every encoding of signals, from the controller to the hosts' kernels.

use crate::common::{HOSTS, Lab};
use std::time::Duration as Wait;
use timeplane_protocol::wire::SignalEncoding;

#[test]
fn every_encoding_carries_slots() {
    let _turn = crate::turn();
    for (short, encoding) in ["x", "m", "p", "u", "i"].into_iter().zip(SignalEncoding::ALL) {
        let mut lab = Lab::start(&format!("e{short}"), 1, |p| p.encoding = encoding);
        lab.exchange(1, Wait::from_secs(30));
        for host in 0..HOSTS as usize {
            let shown = lab.settled(host);
            let gate = shown.gate;
            assert!(gate.obeyed > 0 && gate.passed > 0 && gate.unscheduled == 0, "{encoding:?} {gate:?}");
            assert_eq!((gate.forged, gate.malformed, gate.unwanted), (0, 0, 0), "{encoding:?}");
            assert_eq!(shown.agent["refused_signals"], 0, "{encoding:?}");
        }
        // The observer reads extended frames, under either EtherType.
        if matches!(encoding, SignalEncoding::Experimental | SignalEncoding::MacControl) {
            assert_eq!(lab.violations(), 0, "{encoding:?}");
        }
    }
}
