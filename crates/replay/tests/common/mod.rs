// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the replay's tests share.
#![allow(dead_code, reason = "each test file uses its part")]

use std::ops::ControlFlow;

use mb_catalog::EngineChoice;
use mb_replay::{Network, ReplayConfig, Report, replay};
use mb_trace::{Record, Trace};

/// `MPI_ANY_SOURCE`.
pub(crate) const ANY: i32 = mb_core::mpi::ANY_SOURCE;
/// `MPI_ANY_TAG`.
pub(crate) const ANY_TAG: i32 = mb_core::mpi::ANY_TAG;

/// An engine as `name:preset key=value ...`.
pub(crate) fn engine(spec: &str) -> EngineChoice {
    let mut words = spec.split_whitespace();
    let mut choice = mb_catalog::find(words.next().expect("an engine")).expect("a known engine");
    for word in words {
        choice.set(word).expect("a known setting");
    }
    choice
}

/// A configuration with these times in ns: latency, send, receive overhead, gap, per byte, copy per byte; and the eager limit.
pub(crate) fn network(values: [u64; 7]) -> ReplayConfig {
    let mut network = Network::preset("slingshot").expect("the default network");
    let keys = ["latency", "send_overhead", "recv_overhead", "gap", "per_byte", "copy_per_byte", "eager_limit"];
    for (key, value) in keys.iter().zip(values) {
        network.set(key, &value.to_string()).expect("in range");
    }
    ReplayConfig::new(network)
}

/// Checks and replays these ranks' records.
pub(crate) fn replayed(ranks: Vec<Vec<Record>>, choice: &EngineChoice, config: &ReplayConfig) -> Report {
    let trace = Trace::in_memory(ranks);
    replayed_trace(&trace, choice, config)
}

/// Checks and replays a trace.
pub(crate) fn replayed_trace(trace: &Trace, choice: &EngineChoice, config: &ReplayConfig) -> Report {
    let communicators = trace.check(|_| ControlFlow::Continue(())).expect("a trace without defects");
    let mut build = || choice.build().expect("settings without contradiction");
    let go_on = &mut |_, _| ControlFlow::Continue(());
    let report = replay(trace, &communicators, &mut build, choice.placement(), config, go_on).expect("not interrupted");
    let total = &report.total;
    assert_eq!(total.sent, total.received + total.never_received, "every message is received once or reported");
    report
}
