// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The threaded firmware under random schedules: which thread executes the next instructions is decided by chance, so that no
//! timing model hides an order that a program must not depend on.

use std::collections::{BTreeMap, BTreeSet};

use mb_core::random::Random;
use mb_core::{Op, Outcome};
use mb_guest::{Answered, Guest, Nic, service};
use mb_oracle::Oracle;
use mb_processor::{Answer, Call, Hart, Host, Machine, Memory, Ppc32, Rv64, Service, Step};
use mb_testkit::streams;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const THREADS: usize = 12;
const SLOTS: usize = 16;
const STACK: usize = 1024;
/// Turns after which threads are said to wait for each other; a stream takes some ten thousand.
const PATIENCE: usize = 300_000;

/// The host, and what a machine with threads serves itself.
struct Around {
    nic: Nic,
    locked: BTreeSet<u64>,
    /// Entry and argument of a thread that is to be started.
    start: Option<(u64, u64)>,
    ended: bool,
    alone: bool,
    full: bool,
}

impl Host for Around {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Call, memory: &mut Memory) -> Answer {
        let [first, second, ..] = call.arguments;
        match call.service {
            Service::Own(service::ACQUIRE) if !self.locked.insert(first) => Answer::Wait,
            Service::Own(service::RELEASE) => {
                assert!(self.locked.remove(&first), "a lock that nobody has is freed");
                Answer::Value(0)
            }
            Service::Own(service::THREAD) if self.full => Answer::Wait,
            Service::Own(service::THREAD) => {
                self.start = Some((first, second));
                Answer::Value(0)
            }
            Service::Own(service::END) => {
                self.ended = true;
                Answer::Exit(0)
            }
            Service::Own(service::JOIN) if !self.alone => Answer::Wait,
            Service::Own(service::ACQUIRE | service::JOIN) => Answer::Value(0),
            _ => self.nic.call(call, memory),
        }
    }
}

/// Answers in the order in which they came, each with its visits.
fn run<H: Hart>(machine: Machine, guest: Guest, harts: Vec<H>, ops: &[Op], seed: u64) -> Vec<(Answered, u32)> {
    let mut memory = guest.program(machine).memory(0);
    let stacks = memory.range().end.next_multiple_of(64);
    memory.grow(64 + harts.len() * STACK);
    let nic = Nic::new(machine, &mut memory, SLOTS);
    let mut around = Around { nic, locked: BTreeSet::new(), start: None, ended: false, alone: true, full: false };
    // Each with its stack; the first thread sets its own.
    let mut free: Vec<(u64, H)> = (stacks..).step_by(STACK).zip(harts).collect();
    let mut live = vec![free.remove(0)];
    // The operation that each thread performs, and its visits.
    let mut work: BTreeMap<u64, Op> = BTreeMap::new();
    let mut busy: Vec<(Option<Op>, u32)> = vec![(None, 0)];
    let mut chance = Random::of(seed, &[]);
    let (mut done, mut waiting) = (Vec::new(), ops.iter());
    let mut next = waiting.next();
    for turn in 0.. {
        if done.len() == ops.len() {
            break;
        }
        assert!(turn < PATIENCE, "{} of {} operations answered: threads wait for each other", done.len(), ops.len());
        if let Some(op) = next
            && let Some(address) = around.nic.deliver(op, &mut memory)
        {
            work.insert(address, *op);
            next = waiting.next();
        }
        let who = chance.below(live.len() as u64) as usize;
        for _ in 0..=chance.below(8) {
            around.alone = live.len() == 1;
            around.full = free.is_empty();
            match live[who].1.step(&mut memory, &mut around).unwrap() {
                Step::Waiting => break,
                Step::Retired(retired) => {
                    if let (Some(op), visits) = &mut busy[who] {
                        *visits += u32::from(around.nic.is_visit(op, &retired));
                    }
                }
                Step::Exited(_) => {
                    assert!(std::mem::take(&mut around.ended), "only threads end");
                    free.push(live.swap_remove(who));
                    busy.swap_remove(who);
                    break;
                }
            }
            if let Some(answered) = around.nic.answered() {
                done.push((answered, busy[who].1));
            }
            if let Some((entry, argument)) = around.start.take() {
                let (stack, mut hart) = free.pop().expect("there is room");
                hart.jump(entry);
                hart.set_argument(0, argument);
                hart.set_stack(stack + STACK as u64);
                live.push((stack, hart));
                busy.push((work.get(&argument).copied(), 0));
            }
        }
    }
    done
}

/// Every operation's outcome and visits, in a fixed order.
fn sorted(mut outcomes: Vec<(Outcome, u32)>) -> Vec<(Outcome, u32)> {
    outcomes.sort_unstable();
    outcomes
}

#[test]
fn operations_in_many_threads_have_the_outcomes_of_one() {
    const GUESTS: [Guest; 4] = [Guest::QueueMt, Guest::QueueMtSpin, Guest::QueuePortalsMt, Guest::QueuePortalsMtSpin];
    let config = Config { cases: 48, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    runner
        .run(&(streams::streams(80), proptest::prelude::any::<u64>()), |(offers, seed)| {
            let ops: Vec<Op> = offers.iter().map(|offer| offer.op).collect();
            let mut oracle = Oracle::new();
            let expected = sorted(ops.iter().map(|&op| oracle.apply(op)).collect());
            for guest in GUESTS {
                for machine in [Machine::Ppc32, Machine::Rv64] {
                    let program = guest.program(machine);
                    let done = match machine {
                        Machine::Ppc32 => {
                            let harts = Ppc32::load(&program, THREADS as u32).unwrap();
                            run(machine, guest, harts, &ops, seed)
                        }
                        Machine::Rv64 => {
                            let harts = Rv64::load(&program, THREADS as u32).unwrap();
                            run(machine, guest, harts, &ops, seed)
                        }
                    };
                    let found = done.iter().map(|(answered, visits)| (answered.outcome, *visits)).collect();
                    proptest::prop_assert_eq!(sorted(found), expected.clone(), "{} on {}", guest.name(), machine);
                }
            }
            Ok(())
        })
        .unwrap();
}
