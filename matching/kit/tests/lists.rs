// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The match lists have the outcomes, visits and lengths of the reference matcher, however deep
//! they get, and stay small.

use mb_core::random::Random;
use mb_core::{Envelope, Initiator, MsgId, Op, Pattern, ProbeId, RecvId};
use mb_kit::{MatchLists, PostedReceives, UnexpectedMessages};
use mb_oracle::Oracle;
use mb_testkit::streams;

fn compare(ops: impl Iterator<Item = Op>) -> Result<(), String> {
    let (mut lists, mut oracle) = (MatchLists::new(), Oracle::new());
    for (number, op) in (1..).zip(ops) {
        let (found, expected) = (lists.apply(op), oracle.apply(op));
        if found != expected {
            return Err(format!("operation {number}: {found:?}, the oracle {expected:?}"));
        }
        if lists.queue_lengths() != oracle.queue_lengths() {
            return Err(format!("operation {number}: lengths {:?}", lists.queue_lengths()));
        }
    }
    Ok(())
}

#[test]
fn outcomes_and_visits_are_the_oracles_at_any_depth() {
    for length in [100, 4000] {
        let verdict = streams::check(length, |offers| compare(offers.iter().map(|offer| offer.op)));
        assert_eq!(verdict, Ok(()));
    }
}

#[test]
fn lists_that_fill_and_drain_for_long_stay_right() {
    let (mut recvs, mut random) = (0, Random::of(1, &[]));
    let ops = (0..60_000_u64).map(|step| {
        let number = random.next();
        let envelope = Envelope { bits: number >> 8 & 0x3f, initiator: Initiator((number >> 16 & 7) as u32) };
        let exact = Pattern::exactly(envelope);
        let pattern = match number >> 24 & 15 {
            0 => Pattern { ignore: 0x3f, ..exact },
            1 => Pattern { initiator: None, ..exact },
            2 => Pattern { ignore: 1 << (number >> 32 & 15), ..exact },
            _ => exact,
        };
        // Every 8000 operations the lists change between growing and shrinking.
        let (post, arrive) = if step / 8000 % 2 == 0 { (60, 90) } else { (30, 90) };
        match number % 100 {
            kind if kind < post => {
                recvs += 1;
                Op::Post { recv: RecvId(recvs), pattern }
            }
            kind if kind < arrive => Op::Arrive { msg: MsgId(step), envelope },
            90..94 => Op::Cancel { recv: RecvId(recvs.saturating_sub(number >> 40 & 0xfff)) },
            94..97 => Op::Probe { probe: ProbeId(step), pattern },
            _ => Op::MatchedProbe { probe: ProbeId(step), pattern },
        }
    });
    compare(ops).unwrap();
}

#[test]
fn an_old_receive_that_stays_does_not_stop_the_others() {
    let old = Op::Post { recv: RecvId(0), pattern: Pattern { bits: 1 << 40, ignore: 0, initiator: None } };
    let pairs = (1..20_000).flat_map(|number| {
        let envelope = Envelope { bits: number % 50, initiator: Initiator(1) };
        let post = Op::Post { recv: RecvId(number), pattern: Pattern::exactly(envelope) };
        // Arrivals lag forty posts behind.
        let lag = number.saturating_sub(40);
        let arrive = Op::Arrive { msg: MsgId(number), envelope: Envelope { bits: lag % 50, initiator: Initiator(1) } };
        [post, arrive]
    });
    compare(std::iter::once(old).chain(pairs)).unwrap();
}

#[test]
fn empty_lists_are_small() {
    let bytes = size_of::<MatchLists>();
    assert!(bytes <= 128, "{bytes} bytes");
    assert_eq!(bytes, size_of::<PostedReceives>() + size_of::<UnexpectedMessages>());
}
