//! The queue of a plain interface: flows that hold bytes, first come, first served.
//!
//! A flow stays at the front until it has handed over its last byte.

use crate::engine::time::SimTime;
use crate::hosts::flow::FlowKey;
use std::collections::VecDeque;

/// Flows that hold bytes at one host, with the times at which they came.
#[derive(Debug, Default)]
pub struct FlowQueue {
    waiting: VecDeque<(FlowKey, SimTime)>,
}

impl FlowQueue {
    /// Adds a flow.
    pub fn push(&mut self, key: FlowKey, since: SimTime) {
        self.waiting.push_back((key, since));
    }
    /// The flow that sends now, and when it came.
    pub fn front(&self) -> Option<(FlowKey, SimTime)> {
        self.waiting.front().copied()
    }
    /// Removes the flow that sends now.
    pub fn pop(&mut self) {
        self.waiting.pop_front();
    }
    /// Adds the flows of another queue behind its own.
    pub fn append(&mut self, mut others: Self) {
        self.waiting.append(&mut others.waiting);
    }
    /// All flows, first to last.
    pub fn iter(&self) -> impl Iterator<Item = FlowKey> + '_ {
        self.waiting.iter().map(|w| w.0)
    }
}
