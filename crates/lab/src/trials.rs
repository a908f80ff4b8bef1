//! Trials of `timeplane live doctor` for features that only labs need.
//!
//! The doctor tries them out on this machine, in temporary namespaces.

use crate::circuit_switch::CircuitSwitch;
use timeplane_live::doctor::{self, OLD_KERNEL, Trial, optional, trial, unexpected};
use timeplane_live::netns::Namespace;
use timeplane_live::tuner::Darkens;
use timeplane_model::Duration;

/// Tries the features that daemons and labs need, and removes all traces. Takes a second or two.
pub fn examine() -> Vec<Trial> {
    doctor::examine_with(&|a, b| vec![circuit_switch(a), port_limits(b)])
}

fn circuit_switch(at: &Namespace) -> Trial {
    let attach = || CircuitSwitch::attach(&["eth0", "eth1"], Duration::from_us(10), Darkens::default()).map(drop);
    let attached = match at.enter(attach) {
        Ok(attached) => attached,
        Err(e) => return unexpected(&e),
    };
    trial("circuit switch (XDP)", "plans of circuits in labs", OLD_KERNEL, attached, |()| String::new())
}

fn port_limits(at: &Namespace) -> Trial {
    let limits = [
        "qdisc add dev eth0 root handle 1: htb default 2",
        "class add dev eth0 parent 1: classid 1:2 htb rate 10mbit",
        "qdisc add dev eth0 parent 1:2 handle 2: bfifo limit 100000",
        "filter add dev eth0 parent 1: protocol 0x88b5 prio 1 u32 match u32 0 0 flowid 1:2",
    ];
    let limited = limits.iter().try_for_each(|line| at.tc(line).map(drop));
    let remedy = "load the kernel modules sch_htb, sch_fifo and cls_u32";
    optional(trial("port limits (htb)", "slow switch ports in labs", remedy, limited, |()| String::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_labs_need_works_here() {
        let trials = examine();
        for what in ["circuit switch (XDP)", "port limits (htb)"] {
            let trial = trials.iter().find(|t| t.what == what).unwrap();
            assert!(trial.works && trial.remedy.is_empty(), "{trial:?}");
        }
    }
}
