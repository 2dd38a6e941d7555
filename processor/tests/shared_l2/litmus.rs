// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Litmus tests of the memory order (The RISC-V Instruction Set Manual, Volume I, chapter RVWMO,
//! and its appendix), driven at the interface by harts that do only what a core may do.
//!
//! Each test runs many times with random delays, random copies in the caches, and harts on
//! different cores or in contexts of one core. It also runs on memories with planted faults, which
//! it must notice.

use std::collections::BTreeMap;

use mb_core::random::Random;
use mb_processor::Memory;
use mb_processor::rv64::AtomicKind;
use mb_processor::shared_l2::{L1Config, SharedL2, SharedL2Config};
use mb_processor::system::{CompletedRequest, MemoryAnswer, MemoryRequest, MemorySystem, NoDevice, RequestKind};

use super::BASE;
use super::faulty::{Fault, Faulty};

/// Two locations; a run decides whether they share a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    X,
    Y,
}

use Place::{X, Y};

/// An operation of a hart. Loads and atomics append their values to the result of the hart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Load(Place),
    Store(Place, u64),
    /// fence r, rw: orders loads with everything after them.
    FenceRead,
    /// fence rw, w: orders everything with the stores after it.
    FenceWrite,
    /// fence rw, rw.
    Fence,
    Swap(Place, u64),
}

use Step::{Fence, FenceRead, FenceWrite, Load, Store, Swap};

/// A hart that runs a list of steps. Loads may be on their way together, to different places.
struct Hart<'a> {
    core: usize,
    context: u8,
    steps: &'a [Step],
    next: usize,
    delay: u64,
    /// Steps on their way.
    pending: Vec<usize>,
    values: BTreeMap<usize, u64>,
}

impl Hart<'_> {
    fn done(&self) -> bool {
        self.next == self.steps.len() && self.pending.is_empty()
    }

    /// Does what it can in a cycle.
    fn cycle(
        &mut self,
        cycle: u64,
        memory: &mut impl MemorySystem,
        address: impl Fn(Place) -> u64,
        random: &mut Random,
    ) {
        if self.delay > 0 {
            self.delay -= 1;
            return;
        }
        // A fence takes no cycle of its own.
        while self.pending.is_empty() {
            match self.steps.get(self.next) {
                Some(FenceRead | FenceWrite) => {}
                Some(Fence) if memory.drained(self.core, self.context) => {}
                _ => break,
            }
            self.next += 1;
        }
        let Some(step) = self.steps.get(self.next) else { return };
        let waits = |place| self.pending.iter().any(|&step| self.steps[step] == Load(place));
        let (place, kind) = match *step {
            Load(place) if !waits(place) => (place, RequestKind::Load),
            Store(place, value) if self.pending.is_empty() => (place, RequestKind::Store { value }),
            Swap(place, operand) if self.pending.is_empty() => {
                (place, RequestKind::Atomic { kind: AtomicKind::Swap, operand })
            }
            _ => return,
        };
        // An atomic waits for its value.
        if self.pending.iter().any(|&step| matches!(self.steps[step], Swap(..))) {
            return;
        }
        let (core, context, tag) = (self.core, self.context, self.next as u32);
        let request = MemoryRequest { core, context, tag, address: address(place), width: 8, kind };
        match memory.request(cycle, request) {
            MemoryAnswer::Retry => return,
            MemoryAnswer::Ready { value, .. } => {
                if !matches!(step, Store(..)) {
                    self.values.insert(self.next, value);
                }
            }
            MemoryAnswer::Pending => self.pending.push(self.next),
            MemoryAnswer::Fault => panic!("{request:x?}: a fault"),
        }
        self.next += 1;
        self.delay = random.pick(&[0, 0, 1, 3, 20]);
    }

    fn complete(&mut self, done: &CompletedRequest) {
        let step = done.tag as usize;
        let place = self.pending.iter().position(|&pending| pending == step).expect("a step on its way");
        self.pending.remove(place);
        self.values.insert(step, done.value);
    }
}

/// Small caches, so that a run is cheap. With a larger hit time, stores stay longer in the write
/// buffer.
fn config(cores: usize, contexts: usize, hit: u64) -> SharedL2Config {
    let l1 = L1Config { bytes: 512, ways: 2, banks: 8, interleave: 8, hit, mshrs: 4 };
    let table = SharedL2Config::crowley2000(cores, contexts);
    SharedL2Config { instruction: l1, data: l1, l2: 2048, ..table }
}

/// Where harts are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Placement {
    /// One hart on each core.
    Cores,
    /// All harts on one core.
    Contexts,
    /// Two harts on each core: the first and the third, the second and the fourth.
    Pairs,
}

/// The results of `runs` runs, with how often they occurred: the values of the loads of all harts in
/// program order.
fn outcomes(threads: &[&[Step]], placement: Placement, fault: Fault, runs: u64) -> BTreeMap<Vec<u64>, u64> {
    let count = threads.len();
    let (cores, contexts) = match placement {
        Placement::Cores => (count, 1),
        Placement::Contexts => (1, count),
        Placement::Pairs => (2, 2),
    };
    let mut outcomes = BTreeMap::new();
    for run in 0..runs {
        let mut random = Random::of(run, &[]);
        let config = config(cores, contexts, random.pick(&[1, 8]));
        let inner = SharedL2::new(&config, Memory::new(BASE, 1 << 12), NoDevice).expect("a valid configuration");
        let mut memory = Faulty::new(inner, fault);
        let apart = random.pick(&[8, 64, 512]);
        let address = |place| if place == X { BASE } else { BASE + apart };
        let mut completed = Vec::new();
        let mut cycle = 0;
        // Each cache has a copy of each place, or not.
        for core in 0..cores {
            for place in [X, Y] {
                if random.below(2) == 0 {
                    let (address, kind) = (address(place), RequestKind::Load);
                    memory.request(cycle, MemoryRequest { core, context: 0, tag: 0, address, width: 8, kind });
                    cycle += 200;
                    memory.advance(cycle, &mut completed);
                }
            }
        }
        completed.clear();
        let mut harts: Vec<Hart> = (0..count)
            .map(|index| Hart {
                core: index % cores,
                context: (index / cores) as u8,
                steps: threads[index],
                next: 0,
                delay: random.below(40),
                pending: Vec::new(),
                values: BTreeMap::new(),
            })
            .collect();
        let limit = cycle + 10_000;
        while !harts.iter().all(Hart::done) {
            assert!(cycle < limit, "run {run} does not end");
            cycle += 1;
            memory.advance(cycle, &mut completed);
            for done in completed.drain(..) {
                let hart = harts.iter_mut().find(|hart| (hart.core, hart.context) == (done.core, done.context));
                hart.expect("a hart").complete(&done);
            }
            for hart in &mut harts {
                hart.cycle(cycle, &mut memory, address, &mut random);
            }
        }
        let values: Vec<u64> = harts.iter().flat_map(|hart| hart.values.values().copied()).collect();
        *outcomes.entry(values).or_insert(0) += 1;
    }
    outcomes
}

const RUNS: u64 = 3000;
const PLACEMENTS: [Placement; 2] = [Placement::Cores, Placement::Contexts];

/// Asserts that a result never occurs.
fn forbidden(threads: &[&[Step]], placements: &[Placement], result: &[u64]) {
    for placement in placements {
        let found = outcomes(threads, *placement, Fault::None, RUNS);
        assert!(!found.contains_key(result), "{threads:?} {placement:?}: {found:?}");
        // The test means something only if harts interleave.
        assert!(found.len() > 1, "{threads:?} {placement:?}: {found:?}");
    }
}

/// Asserts that a result occurs.
fn occurs(threads: &[&[Step]], placement: Placement, fault: Fault, result: &[u64]) {
    let found = outcomes(threads, placement, fault, RUNS);
    assert!(found.contains_key(result), "{threads:?} {placement:?} {fault:?}: {found:?}");
}

const MESSAGE: [&[Step]; 2] = [&[Store(X, 1), FenceWrite, Store(Y, 1)], &[Load(Y), FenceRead, Load(X)]];

#[test]
fn message_passing_with_fences_delivers_the_message() {
    forbidden(&MESSAGE, &PLACEMENTS, &[1, 0]);
    let swaps: [&[Step]; 2] = [&[Store(X, 1), FenceWrite, Swap(Y, 1)], &[Load(Y), FenceRead, Load(X)]];
    forbidden(&swaps, &PLACEMENTS, &[0, 1, 0]);
    occurs(&MESSAGE, Placement::Cores, Fault::ReorderedStores, &[1, 0]);
    occurs(&MESSAGE, Placement::Cores, Fault::StaleCopies, &[1, 0]);
}

#[test]
fn message_passing_without_a_fence_between_the_loads_can_fail() {
    let threads: [&[Step]; 2] = [&[Store(X, 1), FenceWrite, Store(Y, 1)], &[Load(Y), Load(X)]];
    occurs(&threads, Placement::Cores, Fault::None, &[1, 0]);
}

const BUFFER: [&[Step]; 2] = [&[Store(X, 1), Fence, Load(Y)], &[Store(Y, 1), Fence, Load(X)]];

#[test]
fn store_buffering_is_prevented_by_fences_and_only_by_fences() {
    forbidden(&BUFFER, &PLACEMENTS, &[0, 0]);
    let swaps: [&[Step]; 2] = [&[Swap(X, 1), Load(Y)], &[Swap(Y, 1), Load(X)]];
    forbidden(&swaps, &PLACEMENTS, &[0, 0, 0, 0]);
    let threads: [&[Step]; 2] = [&[Store(X, 1), Load(Y)], &[Store(Y, 1), Load(X)]];
    for placement in PLACEMENTS {
        occurs(&threads, placement, Fault::None, &[0, 0]);
        // A fence that orders only stores, or only loads, does not prevent it.
        let weak: [&[Step]; 2] =
            [&[Store(X, 1), FenceWrite, FenceRead, Load(Y)], &[Store(Y, 1), FenceWrite, FenceRead, Load(X)]];
        occurs(&weak, placement, Fault::None, &[0, 0]);
        occurs(&BUFFER, placement, Fault::FenceWithoutWait, &[0, 0]);
    }
}

#[test]
fn load_buffering_does_not_occur() {
    // RVWMO allows it without fences. Here a store is sent when the loads before it are complete.
    let threads: [&[Step]; 2] = [&[Load(X), Store(Y, 1)], &[Load(Y), Store(X, 1)]];
    forbidden(&threads, &PLACEMENTS, &[1, 1]);
}

#[test]
fn two_loads_of_a_place_see_stores_in_one_order() {
    let threads: [&[Step]; 2] = [&[Store(X, 1), Store(X, 2)], &[Load(X), Load(X)]];
    for result in [[1, 0], [2, 0], [2, 1]] {
        forbidden(&threads, &PLACEMENTS, &result);
    }
    let four: [&[Step]; 4] = [&[Store(X, 1)], &[Store(X, 2)], &[Load(X), Load(X)], &[Load(X), Load(X)]];
    for placement in [Placement::Cores, Placement::Contexts, Placement::Pairs] {
        let found = outcomes(&four, placement, Fault::None, RUNS);
        assert!(!found.contains_key(&vec![1, 2, 2, 1]) && !found.contains_key(&vec![2, 1, 1, 2]), "{found:?}");
        // Readers saw both orders, in different runs.
        for order in [[1, 2], [2, 1]] {
            assert!(found.keys().any(|result| result[..2] == order || result[2..] == order), "{found:?}");
        }
    }
    occurs(&threads, Placement::Cores, Fault::ReorderedStores, &[2, 1]);
}

#[test]
fn a_hart_reads_its_own_stores() {
    let threads: [&[Step]; 2] = [&[Store(X, 1), Load(X), Store(X, 2), Load(X)], &[Store(X, 3), Load(X)]];
    for placement in PLACEMENTS {
        for (result, _) in outcomes(&threads, placement, Fault::None, RUNS) {
            assert!(matches!(result[..2], [1 | 3, 2 | 3]) && matches!(result[2], 1..=3), "{result:?}");
        }
    }
}

const INDEPENDENT: [&[Step]; 4] =
    [&[Store(X, 1)], &[Store(Y, 1)], &[Load(X), FenceRead, Load(Y)], &[Load(Y), FenceRead, Load(X)]];

#[test]
fn independent_reads_see_independent_writes_in_one_order() {
    forbidden(&INDEPENDENT, &[Placement::Cores, Placement::Contexts, Placement::Pairs], &[1, 0, 1, 0]);
    // A store that the other context of its core sees early.
    occurs(&INDEPENDENT, Placement::Pairs, Fault::SharedForwarding, &[1, 0, 1, 0]);
    occurs(&INDEPENDENT, Placement::Cores, Fault::StaleCopies, &[1, 0, 1, 0]);
    let threads: [&[Step]; 4] = [&[Store(X, 1)], &[Store(Y, 1)], &[Load(X), Load(Y)], &[Load(Y), Load(X)]];
    occurs(&threads, Placement::Cores, Fault::None, &[1, 0, 1, 0]);
}

#[test]
fn a_store_that_follows_from_another_is_seen_after_it() {
    // Write-to-read causality: the third hart sees Y, which the second wrote after it saw X.
    let threads: [&[Step]; 3] = [&[Store(X, 1)], &[Load(X), FenceRead, Store(Y, 1)], &[Load(Y), FenceRead, Load(X)]];
    forbidden(&threads, &PLACEMENTS, &[1, 1, 0]);
}

/// Harts that add 1 to a counter; returns its value at the end.
fn count(harts: usize, contexts: usize, fault: Fault, conditional: bool, seed: u64) -> u64 {
    const ADDITIONS: u64 = 20;
    let mut random = Random::of(seed, &[]);
    let cores = harts / contexts;
    let config = config(cores, contexts, 1);
    let inner = SharedL2::new(&config, Memory::new(BASE, 1 << 12), NoDevice).expect("a valid configuration");
    let mut memory = Faulty::new(inner, fault);
    // Additions that are left; the value of the load-reserved; whether an answer is awaited.
    let mut state = vec![(ADDITIONS, None::<u64>, false); harts];
    let (mut cycle, mut completed) = (0, Vec::new());
    while state.iter().any(|hart| hart.0 > 0) {
        cycle += 1;
        assert!(cycle < 1_000_000, "the harts make no progress");
        memory.advance(cycle, &mut completed);
        let mut answers: Vec<(usize, u64)> =
            completed.drain(..).map(|done| (done.core * contexts + usize::from(done.context), done.value)).collect();
        for (hart, state) in state.iter().enumerate() {
            if state.2 || state.0 == 0 || random.below(4) > 0 {
                continue;
            }
            let kind = match (conditional, state.1) {
                (false, _) => RequestKind::Atomic { kind: AtomicKind::Add, operand: 1 },
                (true, None) => RequestKind::LoadReserved,
                (true, Some(value)) => RequestKind::StoreConditional { value: value + 1 },
            };
            let (core, context) = (hart / contexts, (hart % contexts) as u8);
            match memory.request(cycle, MemoryRequest { core, context, tag: 0, address: BASE, width: 8, kind }) {
                MemoryAnswer::Ready { value, .. } => answers.push((hart, value)),
                MemoryAnswer::Pending => answers.push((hart, u64::MAX)),
                _ => {}
            }
        }
        for (hart, value) in answers {
            let (left, read, waits) = &mut state[hart];
            *waits = value == u64::MAX;
            match (*waits, conditional, read.is_some()) {
                (true, ..) => {}
                (_, true, false) => *read = Some(value),
                _ => {
                    *left -= u64::from(!conditional || value == 0);
                    *read = None;
                }
            }
        }
    }
    memory.advance(cycle + 1000, &mut completed);
    let bytes = memory.bytes(BASE, 8).expect("memory");
    harts as u64 * ADDITIONS - u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

#[test]
fn no_addition_is_lost_by_atomics_or_by_load_reserved_and_store_conditional() {
    for (harts, contexts) in [(4, 1), (4, 4), (8, 2)] {
        for conditional in [false, true] {
            for seed in 0..20 {
                assert_eq!(
                    count(harts, contexts, Fault::None, conditional, seed),
                    0,
                    "{harts} {contexts} {conditional}"
                );
            }
            let fault = if conditional { Fault::KeptReservation } else { Fault::SplitAtomics };
            assert!((0..20).any(|seed| count(harts, contexts, fault, conditional, seed) > 0), "{fault:?}");
        }
    }
}
