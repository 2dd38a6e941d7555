// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the replay's tests share.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::VecDeque;
use std::ops::ControlFlow;

use mb_catalog::EngineChoice;
use mb_core::Source;
use mb_core::engine::{Accepted, Completion, Engine, Measurable, QueueLengths, ReplayEngine, Shortcuts};
use mb_core::matching::Op;
use mb_core::time::Picos;
use mb_linear::LinearParameters;
use mb_replay::network::NetworkParameters;
use mb_replay::{Network, ReplayConfig, Report, replay};
use mb_trace::{Record, Trace};

/// `MPI_ANY_SOURCE`.
pub(crate) const ANY: i32 = mb_core::mpi::ANY_SOURCE;
/// `MPI_ANY_TAG`.
pub(crate) const ANY_TAG: i32 = mb_core::mpi::ANY_TAG;

/// An engine as `name:preset`.
pub(crate) fn engine(spec: &str) -> EngineChoice {
    mb_catalog::find(spec).expect("a known engine")
}

/// The list walk of QsNET-II with other parameters.
pub(crate) fn linear(change: impl FnOnce(&mut LinearParameters)) -> EngineChoice {
    let mut choice = engine("linear:qsnet2");
    choice.change(change).expect("in range");
    choice
}

/// A network on which every cost shows.
pub(crate) const PLAIN: NetworkParameters = NetworkParameters {
    latency: Picos::from_ns(1000),
    send_overhead: Picos::from_ns(100),
    recv_overhead: Picos::from_ns(50),
    gap: Picos::from_ns(20),
    per_byte: Picos::from_ns(1),
    copy_per_byte: Picos::from_ns(1),
    eager_limit: 1000,
};

/// A configuration with this network.
pub(crate) fn network(parameters: NetworkParameters) -> ReplayConfig {
    let mut network = Network::preset("slingshot").expect("the default network");
    network.parameters.change(&Source::User, |typed| *typed = parameters).expect("in range");
    ReplayConfig::new(network)
}

/// The configuration of tests in which the network does not matter.
pub(crate) fn plain() -> ReplayConfig {
    network(PLAIN)
}

/// Checks and replays these ranks' records.
pub(crate) fn replayed(ranks: Vec<Vec<Record>>, choice: &EngineChoice, config: &ReplayConfig) -> Report {
    let trace = Trace::in_memory(ranks);
    replayed_trace(&trace, choice, config)
}

/// Checks and replays a trace.
pub(crate) fn replayed_trace(trace: &Trace, choice: &EngineChoice, config: &ReplayConfig) -> Report {
    let communicators = trace.check(|_| ControlFlow::Continue(())).expect("a trace without defects");
    let mut build = || choice.build().expect("parameters without contradiction");
    let go_on = &mut |_, _| ControlFlow::Continue(());
    let report = replay(trace, &communicators, &mut build, choice.placement(), config, go_on).expect("not interrupted");
    let total = &report.total;
    assert_eq!(total.sent, total.received + total.never_received, "every message is received once or reported");
    report
}

/// Passes everything on, but returns nothing ahead of time and holds at most `room` operations at
/// once.
pub(crate) struct Narrow {
    inner: Box<dyn ReplayEngine>,
    pending: VecDeque<Completion>,
    room: usize,
}

impl Narrow {
    pub(crate) fn new(inner: Box<dyn ReplayEngine>, room: usize) -> Self {
        Self { inner, pending: VecDeque::new(), room }
    }
}

impl Engine for Narrow {
    fn offer(&mut self, now: Picos, op: Op) -> Accepted {
        let open = self.pending.iter().filter(|completion| completion.at > now).count();
        if open >= self.room {
            return Accepted::Busy { retry_at: self.pending[self.pending.len() - open].at };
        }
        let taken = self.inner.offer(now, op);
        let mut done = Vec::new();
        self.inner.settle(&mut done);
        self.pending.extend(done);
        taken
    }

    fn next_event(&self) -> Option<Picos> {
        self.pending.front().map(|completion| completion.at)
    }

    fn run_until(&mut self, until: Picos, done: &mut Vec<Completion>) {
        while self.pending.front().is_some_and(|completion| completion.at <= until) {
            done.extend(self.pending.pop_front());
        }
    }

    fn queue_lengths(&self) -> QueueLengths {
        self.inner.queue_lengths()
    }

    fn busy(&self) -> Picos {
        self.inner.busy()
    }
}

impl Shortcuts for Narrow {}

impl Measurable for Narrow {}
