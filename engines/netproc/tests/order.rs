// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The order of operations under many interleavings, and what it rests on.

use mb_core::random::Random;
use mb_core::{Cycles, Envelope, Initiator, MsgId, Op, Pattern, ProbeId, RecvId};
use mb_netproc::contract::OsThread;
use mb_netproc::receive::Receive;
use mb_netproc_engine::ENTRY;
use mb_netproc_engine::machine::FirmwareProcessor;
use mb_netproc_engine::parameters::NetprocParameters;
use mb_oracle::Oracle;
use mb_testkit::preset;
use mb_testkit::streams::in_proportion;

/// Operations of a stream.
const LENGTH: u64 = 150;

/// Few envelopes, so that many entries match; runs of one kind, as threads overlap within one.
fn stream(random: &mut Random) -> Vec<Op> {
    let mut ops = Vec::new();
    let (mut kind, mut run) = (0, 0);
    for number in 0..LENGTH {
        if run == 0 {
            (kind, run) = (random.below(8), random.within(1, 12));
        }
        run -= 1;
        let envelope = Envelope { bits: random.below(3), initiator: Initiator(random.below(2) as u32) };
        let initiator = (random.below(4) > 0).then_some(envelope.initiator);
        let ignore = if random.below(4) > 0 { 0 } else { u64::MAX };
        let pattern = Pattern { ignore, initiator, ..Pattern::exactly(envelope) };
        ops.push(match kind {
            0..3 => Op::Arrive { msg: MsgId(number), envelope },
            3..6 => Op::Post { recv: RecvId(number), pattern },
            6 => Op::Cancel { recv: RecvId(random.below(number + 1)) },
            _ => Op::Probe { probe: ProbeId(number), pattern },
        });
    }
    ops
}

/// A processor whose latencies are drawn.
fn processor(random: &mut Random) -> NetprocParameters {
    let name = random.pick(&["smt8", "cmp8", "cmp2_4", "cmp2_8", "inorder8"]);
    let mut parameters: NetprocParameters = preset(&ENTRY, name);
    parameters.caches.l2_hit = random.within(1, 60);
    parameters.caches.memory = random.within(0, 300);
    parameters.caches.device = random.within(0, 100);
    parameters.caches.write_buffer = random.within(1, 9) as usize;
    parameters.caches.l2_interval = random.within(1, 9);
    parameters.processor.latencies.synchronisation = random.within(1, 20);
    parameters.processor.latencies.branch = random.within(1, 8);
    parameters.caches = parameters.caches.with_l1_bytes(1 << random.within(10, 15));
    parameters.os = random.pick(&[OsThread::Pinned, OsThread::Spread]);
    parameters
}

/// How streams end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Verdicts {
    right: u32,
    wrong: u32,
    /// Harts wait for one another.
    stuck: u32,
}

/// Offers a stream for each seed as fast as it is accepted, and compares outcomes and visits with the oracle's; ends
/// with the first that are wrong.
fn judge(firmware: Receive, seeds: u64) -> Verdicts {
    let mut verdicts = Verdicts::default();
    for seed in 0..seeds {
        if verdicts.wrong > 0 {
            break;
        }
        let mut random = Random::of(seed, &[]);
        let ops = stream(&mut random);
        let mut machine = FirmwareProcessor::new(&processor(&mut random).parts(), firmware.file()).unwrap();
        let mut oracle = Oracle::new();
        let mut expected: Vec<_> = ops.iter().map(|op| oracle.apply(*op)).collect();
        let mut found = Vec::new();
        let mut waiting = ops.iter().peekable();
        let mut now = Cycles::ZERO;
        while found.len() < ops.len() {
            while let Some(op) = waiting.peek()
                && machine.deliver(op, now, ops.len())
            {
                waiting.next();
            }
            let Some(next) = machine.next_event() else { break };
            // The next operations are offered after a random time.
            now = next + Cycles(random.within(1, 400));
            machine.run_until(now);
            found.extend(std::iter::from_fn(|| machine.answered()).map(|served| (served.outcome, served.visits)));
        }
        expected.sort_unstable();
        found.sort_unstable();
        if found.len() < ops.len() {
            verdicts.stuck += 1;
        } else if found == expected {
            verdicts.right += 1;
        } else {
            verdicts.wrong += 1;
        }
    }
    verdicts
}

#[test]
fn interleavings_of_many_latencies_have_the_outcomes_and_visits_of_the_oracle() {
    let seeds = in_proportion(15);
    for firmware in [Receive::Mpi, Receive::Portals] {
        assert_eq!(judge(firmware, seeds), Verdicts { right: seeds as u32, ..Verdicts::default() }, "{firmware:?}");
    }
}

#[test]
fn the_order_needs_turns_and_kinds() {
    // Operations that enter the lists in any order.
    let without_turns = judge(Receive::WithoutTurns, 20);
    assert!(without_turns.wrong > 0, "{without_turns:?}");
    // Operations that walk one list while others walk the other list.
    let without_kinds = judge(Receive::WithoutKinds, 20);
    assert!(without_kinds.wrong > 0, "{without_kinds:?}");
}
