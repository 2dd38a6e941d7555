// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every pattern makes a whole trace: it passes the check, every message has its receive, and the
//! same plan makes the same bytes.

use crate::common;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use common::Scratch;
use common::expand_done::one_done_per_request;
use mb_core::Picos;
use mb_trace::generate::{
    Halo3dParameters, ManyToOneParameters, PATTERNS, PatternParameters, Plan, RandomParameters, TransposeParameters,
};
use mb_trace::{Flags, Kind, Trace};

/// As the command line makes it, from settings that are words.
fn plan(pattern: &str, ranks: u32, settings: &[(&str, &str)]) -> Plan {
    let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Plan::new(pattern, ranks, 1, &settings).unwrap()
}

/// (source, destination, tag, bytes) in world ranks, sorted: messages sent, and messages received.
type Messages = Vec<(u32, u32, i32, u64)>;

fn messages(trace: &Trace) -> (Messages, Messages) {
    let comms = trace.check(|_| ControlFlow::Continue(())).unwrap();
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    for rank in 0..trace.ranks() {
        let mut begun = BTreeMap::new();
        for record in one_done_per_request(trace.rank(rank)) {
            match record.kind().unwrap() {
                Kind::Send => {
                    let to = comms.world_rank(comms.view(rank, record.comm).remote, record.peer as u32);
                    sent.push((rank, to, record.tag, record.bytes));
                }
                Kind::Recv => {
                    begun.insert(record.request, record.comm);
                }
                Kind::Done if !record.has(Flags::CANCELLED) => {
                    if let Some(&comm) = begun.get(&record.request) {
                        let from = comms.world_rank(comms.view(rank, comm).remote, record.peer as u32);
                        received.push((from, rank, record.tag, record.bytes));
                    }
                }
                _ => {}
            }
        }
    }
    sent.sort_unstable();
    received.sort_unstable();
    (sent, received)
}

#[test]
fn every_pattern_receives_what_it_sends() {
    for pattern in PATTERNS {
        for ranks in [1, 2, 3, 6, 8, 13].into_iter().filter(|&ranks| ranks >= pattern.least_ranks) {
            let small: Vec<(&str, &str)> = pattern
                .parameters
                .iter()
                .filter_map(|parameter| match parameter.key {
                    key @ ("iterations" | "messages") => Some((key, "4")),
                    key @ ("ahead" | "all_to_all_every") => Some((key, "3")),
                    _ => None,
                })
                .collect();
            let trace = plan(pattern.name, ranks, &small).in_memory();
            let (sent, received) = messages(&trace);
            assert_eq!(sent, received, "{} on {ranks} ranks", pattern.name);
            assert!(!sent.is_empty() || ranks == 1, "{} on {ranks} ranks", pattern.name);
        }
    }
}

#[test]
fn every_choice_of_every_pattern_receives_what_it_sends() {
    for pattern in PATTERNS {
        for parameter in pattern.parameters {
            let mb_core::parameters::Domain::Choice(words) = parameter.domain else { continue };
            for &word in words {
                let mut settings = vec![(parameter.key, word)];
                if let Some(steps) = pattern.parameters.iter().find(|p| matches!(p.key, "iterations" | "messages")) {
                    settings.push((steps.key, "3"));
                }
                let (sent, received) = messages(&plan(pattern.name, 6, &settings).in_memory());
                assert_eq!(sent, received, "{} with {}={word}", pattern.name, parameter.key);
            }
        }
    }
}

#[test]
fn a_bundle_holds_what_memory_holds_and_twice_the_same_bytes() {
    let (first, second) = (Scratch::new("generate-1"), Scratch::new("generate-2"));
    let plan = Plan::of(&RandomParameters { iterations: 600, ..Default::default() }, 5, 1).unwrap();
    plan.write(first.path(), |_| ControlFlow::Continue(())).unwrap();
    plan.write(second.path(), |_| ControlFlow::Continue(())).unwrap();
    for file in ["meta.json", "bundle.mbt"] {
        let read = |scratch: &Scratch| std::fs::read(scratch.path().join(file)).unwrap();
        assert_eq!(read(&first), read(&second), "{file}");
    }
    let (disk, memory) = (Trace::open(first.path()).unwrap(), plan.in_memory());
    for rank in 0..5 {
        assert_eq!(disk.rank(rank), memory.rank(rank));
    }
    assert_eq!(disk.meta().more["generator"]["settings"]["degree"], "8");
}

#[test]
fn another_seed_makes_another_trace() {
    let make = |seed| Plan::of(&RandomParameters::default(), 5, seed).unwrap().in_memory();
    assert_ne!(make(1).rank(0), make(2).rank(0));
}

/// The halo of the published comparison: neighbours in +x, -x, +y, -y, +z, -z, the direction as
/// tag.
#[test]
fn the_halo_sends_to_six_neighbours() {
    let trace = Plan::of(&Halo3dParameters { iterations: 1, ..Default::default() }, 64, 1).unwrap().in_memory();
    let (sent, _) = messages(&trace);
    let of_first: Vec<_> = sent.iter().filter(|message| message.0 == 0).map(|m| (m.1, m.2, m.3)).collect();
    assert_eq!(of_first, [(1, 0, 4096), (3, 1, 4096), (4, 2, 4096), (12, 3, 4096), (16, 4, 4096), (48, 5, 4096)]);
    assert_eq!(sent.len(), 64 * 6);
}

#[test]
fn what_cannot_be_made_is_refused_in_words() {
    fn refused(parameters: &impl PatternParameters, ranks: u32) -> String {
        Plan::of(parameters, ranks, 1).unwrap_err().to_string()
    }

    let unknown = Plan::new("halo", 8, 1, &BTreeMap::new()).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "unknown pattern `halo`; did you mean `halo3d`? expected one of: halo3d, sweep, transpose, many_to_one, random, depth, tanabe2013_table1, xiong2018_depths"
    );
    let settings = [("order".to_owned(), "sideways".to_owned())].into();
    assert_eq!(
        Plan::new("transpose", 8, 1, &settings).unwrap_err().to_string(),
        "parameter `order`: found `sideways`, expected one of: arrival, reverse, random"
    );
    let transpose = TransposeParameters::default();
    assert_eq!(refused(&transpose, 1), "pattern `transpose`: found 1 ranks, expected 2 to 2147483647");
    assert_eq!(
        refused(&TransposeParameters { iterations: 0, ..transpose }, 8),
        "parameter `iterations`: found `0`, expected a whole number from 1 to 1000000000 (count)"
    );
    assert_eq!(
        refused(&Halo3dParameters { grid_x: 3, grid_y: 1, grid_z: 1, ..Default::default() }, 8),
        "invalid parameters: grid 3 x 1 x 1: found 3 ranks, expected 8"
    );
    assert_eq!(
        refused(&TransposeParameters { compute: Picos(500), ..transpose }, 8),
        "invalid parameters: compute: found a fraction of a nanosecond, expected whole nanoseconds"
    );
    assert_eq!(
        refused(
            &TransposeParameters { compute: Picos::from_ns(1_000_000_000_000), iterations: 1_000_000_000, ..transpose },
            8
        ),
        "invalid parameters: compute: found 1000000000 steps of 1000000000000 ns, expected at most 2^53 ns in total"
    );
    assert_eq!(
        refused(&RandomParameters { bytes_min: 9, bytes_max: 8, ..Default::default() }, 8),
        "invalid parameters: bytes_min: found 9, expected at most bytes_max, 8"
    );
    assert_eq!(
        refused(&ManyToOneParameters { ahead: 1, compute: Picos::from_ns(10), ..Default::default() }, 100),
        "invalid parameters: compute: found 10 ns, expected at least 99000 ns for this number of receives"
    );
}
