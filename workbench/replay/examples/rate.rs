// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Replays a generated workload again and again: `rate PATTERN RANKS ENGINE REPEATS
//! [key=value...]`. Run it under `time` or a profiler: messages per CPU second are what is printed
//! divided by its user time.
#![allow(clippy::print_stdout, reason = "this is a program")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use mb_replay::{Network, ReplayConfig, replay};
use mb_trace::generate::Plan;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let settings: BTreeMap<String, String> = words[5..]
        .iter()
        .filter_map(|word| word.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let ranks = words[2].parse().expect("a number of ranks");
    let trace = Plan::new(&words[1], ranks, 1, &settings).expect("a pattern").in_memory();
    let communicators = trace.check(|_| ControlFlow::Continue(())).expect("no defects");
    let choice = mb_catalog::find(&words[3]).expect("an engine");
    let config = ReplayConfig::new(Network::preset("slingshot").expect("the default network"));
    let mut messages = 0;
    for _ in 0..words[4].parse().expect("a number of repeats") {
        let mut build = || choice.build().expect("a preset");
        let go_on = &mut |_, _| ControlFlow::Continue(());
        let report = replay(&trace, &communicators, &mut build, choice.placement(), &config, go_on).expect("done");
        messages += report.total.sent;
    }
    println!("{messages} messages, {} records", trace.records());
}
