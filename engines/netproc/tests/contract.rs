// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Overlapping handlers keep the contract, whatever the processor: outcomes and visits are those of a walk in order of
//! acceptance.

use mb_core::ReplayEngine;
use mb_netproc::contract::OsThread;
use mb_netproc_engine::parameters::{MatchFunction, NetprocParameters};
use mb_netproc_engine::{ENTRY, Netproc};
use mb_processor::chip::FetchPolicy;
use mb_processor::shared_l2::SharedL2Config;
use mb_testkit::drive::{Fetch, Visits, judge};
use mb_testkit::streams::Amount;
use mb_testkit::{cases, preset};

/// What a test changes of a preset.
type Change = fn(&mut NetprocParameters);

fn parameters(name: &str, change: Change) -> NetprocParameters {
    let mut parameters = preset(&ENTRY, name);
    change(&mut parameters);
    parameters
}

/// Presets with changes that handlers could be thrown by: who waits, what is slow, who receives.
const VARIANTS: [(&str, Change); 5] = [
    ("cmp8", |p| {
        (p.program, p.caches.l2_hit, p.caches.l2_mshrs, p.caches.device) = (MatchFunction::Mpi, 37, 2, 0);
    }),
    // Every hart receives its own packets; a short ring, so that buffers are used again soon.
    ("cmp2_4", |p| (p.os, p.ring_slots, p.buffers, p.caches.memory) = (OsThread::Spread, 2, 5, 3)),
    // One hart does everything; more operations than slots.
    ("cmp8", |p| (p.processor.cores, p.ring_slots, p.buffers, p.program) = (1, 4, 6, MatchFunction::Mpi)),
    // Small caches: entries are evicted between visits.
    ("smt8", |p| {
        p.caches = SharedL2Config { l2: 8192, ..p.caches.with_l1_bytes(1024) };
        (p.processor.fetch_policy, p.os) = (FetchPolicy::RoundRobin, OsThread::Spread);
    }),
    ("inorder8", |p| (p.caches.write_buffer, p.processor.latencies.synchronisation, p.operations) = (1, 23, 9)),
];

fn every_variant(judge: impl Fn(&dyn Fn() -> Box<dyn ReplayEngine>) -> Result<(), String>) {
    for (place, (name, change)) in VARIANTS.into_iter().enumerate() {
        let parameters = parameters(name, change);
        let make = || Box::new(Netproc::new(&parameters).unwrap()) as Box<dyn ReplayEngine>;
        if let Err(objection) = judge(&make) {
            panic!("variant {place}, {name}: {objection}");
        }
    }
}

#[test]
fn the_corpus_passes_with_the_visits_of_a_walk() {
    let corpus = cases::corpus().unwrap();
    every_variant(|make| cases::run(&corpus, make, Visits::OfAWalk));
}

#[test]
fn random_streams_have_the_outcomes_and_visits_of_the_oracle() {
    // The presets are judged on longer streams with all engines of the catalog.
    every_variant(|make| {
        Amount::Eighth.check(100, |offers| {
            let by_events = judge(make().as_mut(), offers, Fetch::RunUntil, Visits::OfAWalk)?;
            let at_once = judge(make().as_mut(), offers, Fetch::RunToCompletion, Visits::OfAWalk)?;
            if by_events == at_once {
                Ok(())
            } else {
                Err(format!("{by_events:?}, and {at_once:?} by run_to_completion"))
            }
        })
    });
}

#[test]
fn parameters_that_contradict_each_other_are_refused() {
    let cases: [(Change, &str); 5] = [
        (|p| p.ring_slots = 48, "ring_slots is 48; expected a power of two"),
        (|p| p.buffers = 64, "buffers is 64 and ring_slots 64; expected more buffers"),
        (
            |p| (p.processor.cores, p.processor.contexts) = (32, 8),
            "network processor: found 256 harts; expected 1 to 64",
        ),
        (
            |p| p.caches = p.caches.with_l1_bytes(3000),
            "shared L2: instruction_bytes is 3000 with 2 ways of 64-byte lines; expected a power of two of sets",
        ),
        (|p| p.processor.fetch_block = 48, "fetch_block is 48 bytes; expected a power of two, 4 to 64"),
    ];
    for (change, expected) in cases {
        let error = Netproc::new(&parameters("cmp8", change)).expect_err("a contradiction");
        assert!(error.to_string().contains(expected), "{error}");
    }
}
