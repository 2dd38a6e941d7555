// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The threaded firmware under random schedules: the next thread is chosen at random, so that no
//! timing model hides an ordering on which the program must not depend.

use std::collections::{BTreeMap, BTreeSet};

use mb_core::random::Random;
use mb_core::{Op, Outcome};
use mb_firmware::{FirmwareAnswer, Guest, Nic, service};
use mb_oracle::Oracle;
use mb_processor::{Hart, Isa, Memory, Ppc32, Rv64, Service, Step, Syscall, SyscallHandler, SyscallResult};
use mb_testkit::streams;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const THREADS: usize = 12;
const SLOTS: usize = 16;
const STACK: usize = 1024;
/// Turns after which the test reports a deadlock; a stream takes about ten thousand.
const TURN_LIMIT: usize = 300_000;

/// A handler that also serves the calls for threads and locks.
struct ThreadedHost {
    nic: Nic,
    locked: BTreeSet<u64>,
    /// Entry and argument of a thread to start.
    start: Option<(u64, u64)>,
    ended: bool,
    alone: bool,
    full: bool,
}

impl SyscallHandler for ThreadedHost {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        let [first, second, ..] = call.arguments;
        match call.service {
            Service::Custom(service::ACQUIRE) if !self.locked.insert(first) => SyscallResult::Wait,
            Service::Custom(service::RELEASE) => {
                assert!(self.locked.remove(&first), "release of a free lock");
                SyscallResult::Value(0)
            }
            Service::Custom(service::THREAD) if self.full => SyscallResult::Wait,
            Service::Custom(service::THREAD) => {
                self.start = Some((first, second));
                SyscallResult::Value(0)
            }
            Service::Custom(service::END) => {
                self.ended = true;
                SyscallResult::Exit(0)
            }
            Service::Custom(service::JOIN) if !self.alone => SyscallResult::Wait,
            Service::Custom(service::ACQUIRE | service::JOIN) => SyscallResult::Value(0),
            _ => self.nic.call(call, memory),
        }
    }
}

/// Runs the operations; returns the answers in order of time, each with its visits.
fn run<H: Hart>(isa: Isa, guest: Guest, harts: Vec<H>, ops: &[Op], seed: u64) -> Vec<(FirmwareAnswer, u32)> {
    let mut memory = guest.program(isa).memory(0);
    let stacks = memory.range().end.next_multiple_of(64);
    memory.grow(64 + harts.len() * STACK);
    let nic = Nic::new(isa, &mut memory, SLOTS);
    let mut host = ThreadedHost { nic, locked: BTreeSet::new(), start: None, ended: false, alone: true, full: false };
    // Each thread with its stack; the first thread sets its own stack pointer.
    let mut free: Vec<(u64, H)> = (stacks..).step_by(STACK).zip(harts).collect();
    let mut live = vec![free.remove(0)];
    // The operation that each thread performs, and its visits.
    let mut work: BTreeMap<u64, Op> = BTreeMap::new();
    let mut busy: Vec<(Option<Op>, u32)> = vec![(None, 0)];
    let mut random = Random::of(seed, &[]);
    let (mut done, mut waiting) = (Vec::new(), ops.iter());
    let mut next = waiting.next();
    for turn in 0.. {
        if done.len() == ops.len() {
            break;
        }
        assert!(turn < TURN_LIMIT, "deadlock: {} of {} operations answered", done.len(), ops.len());
        if let Some(op) = next
            && let Some(address) = host.nic.deliver(op, &mut memory)
        {
            work.insert(address, *op);
            next = waiting.next();
        }
        let who = random.below(live.len() as u64) as usize;
        for _ in 0..=random.below(8) {
            host.alone = live.len() == 1;
            host.full = free.is_empty();
            match live[who].1.step(&mut memory, &mut host).unwrap() {
                Step::Waiting => break,
                Step::Retired(retired) => {
                    if let (Some(op), visits) = &mut busy[who] {
                        *visits += u32::from(host.nic.is_visit(op, &retired));
                    }
                }
                Step::Exited(_) => {
                    assert!(std::mem::take(&mut host.ended), "the program must not exit");
                    free.push(live.swap_remove(who));
                    busy.swap_remove(who);
                    break;
                }
            }
            if let Some(answered) = host.nic.answered() {
                done.push((answered, busy[who].1));
            }
            if let Some((entry, argument)) = host.start.take() {
                let (stack, mut hart) = free.pop().expect("a free thread");
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

/// The outcome and the visits of every operation, sorted.
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
                for isa in [Isa::Ppc32, Isa::Rv64] {
                    let program = guest.program(isa);
                    let done = match isa {
                        Isa::Ppc32 => {
                            let harts = Ppc32::load(&program, THREADS as u32).unwrap();
                            run(isa, guest, harts, &ops, seed)
                        }
                        Isa::Rv64 => {
                            let harts = Rv64::load(&program, THREADS as u32).unwrap();
                            run(isa, guest, harts, &ops, seed)
                        }
                    };
                    let found = done.iter().map(|(answered, visits)| (answered.outcome, *visits)).collect();
                    proptest::prop_assert_eq!(sorted(found), expected.clone(), "{} on {}", guest.name(), isa);
                }
            }
            Ok(())
        })
        .unwrap();
}
