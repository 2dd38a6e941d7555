// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Litmus tests of the memory order (The RISC-V Instruction Set Manual, Volume I, chapter RVWMO) on
//! the cores of a chip: what is forbidden never happens, and happens with planted faults.

use std::collections::BTreeSet;

use mb_core::random::Random;
use mb_processor::chip::{Chip, ChipConfig, ChipStop, blocking, cmp, in_order, smt};
use mb_processor::directory::protocol::{
    CacheAction, CacheEvent, CacheState, DeviceTransactions, Protocol, Transition,
};
use mb_processor::directory::{CoherentMemory, DirectoryConfig, NodeCacheConfig};
use mb_processor::system::{MemorySystem, NoDevice};

use super::assembler::{
    DATA, FENCE, NOP, TEXT, add, addi, address, atomic, bne, exit, jalr, ld, memory, mul, sd, slli,
};
use super::programs::Written;
use super::tester::tiny;

/// Base registers of the two variables.
const X: u32 = 8;
const Y: u32 = 9;
/// A register that is 1, and one that is 0 after some multiplications.
const ONE: u32 = 5;
const LATE: u32 = 7;

/// x20 and x21 of each hart.
type Outcome = Vec<[u64; 2]>;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    None,
    /// A copy survives the write of another node.
    Stale,
    /// A node writes to a copy that it shares.
    Shared,
}

fn protocol(config: &DirectoryConfig, fault: Fault) -> Protocol {
    let mut protocol = Protocol::new(config.design, config.migratory);
    let (event, action, state) = match fault {
        Fault::None => return protocol,
        Fault::Stale => (CacheEvent::Inv, CacheAction::SendAck, CacheState::S),
        Fault::Shared => (CacheEvent::Write, CacheAction::Hit, CacheState::S),
    };
    protocol.set_cache(state, event, Some(Transition { actions: vec![action], next: state }));
    protocol
}

/// A chip for harts, and caches for it: those of the preset with a smaller L2, which is faster to set
/// up, or tiny ones, with and without migratory reads.
fn configuration(harts: usize, seed: u64) -> (ChipConfig, DirectoryConfig) {
    let chip = match seed % 6 {
        0 => smt(harts),
        1 => in_order(cmp(harts)),
        2 => blocking(cmp(harts), 64),
        3 => blocking(cmp(harts), 1),
        _ => cmp(harts),
    };
    let table = DirectoryConfig::gu2011(16, 1);
    let small = DirectoryConfig { l2: NodeCacheConfig { bytes: 32 << 10, ..table.l2 }, ..table };
    let base = if seed.is_multiple_of(3) { tiny() } else { small };
    let (nodes, contexts) = (chip.cores.max(if seed.is_multiple_of(5) { 16 } else { 1 }), chip.contexts);
    (
        chip,
        DirectoryConfig {
            nodes,
            contexts,
            migratory: seed.is_multiple_of(2),
            design: DeviceTransactions::OptCache,
            ..base
        },
    )
}

/// Runs a program on all harts; false if it does not end.
fn finish(chip: &mut Chip, memory: &mut CoherentMemory) -> bool {
    while chip.now() < 1_000_000 {
        match chip.run_until(1_000_000, memory, &mut Written::default()).expect("no fault") {
            ChipStop::Halted => return true,
            ChipStop::Exited { .. } => {}
            _ => return false,
        }
    }
    false
}

/// The outcomes of many runs. Each hart first reads some of the variables, so that it has copies, and
/// waits for a random time.
fn outcomes(threads: &[&[u32]], fault: Fault) -> BTreeSet<Outcome> {
    let mut found = BTreeSet::new();
    let harts = threads.len();
    for seed in 0..600 {
        let mut random = Random::of(seed, &[5]);
        let mut words = address(X, DATA);
        words.extend(address(Y, DATA + 256));
        words.extend(address(6, TEXT + 256));
        words.extend([addi(ONE, 0, 1), slli(11, 10, 9), add(6, 6, 11), jalr(0, 6, 0)]);
        for (hart, body) in threads.iter().enumerate() {
            words.resize(64 + 128 * hart, NOP);
            for base in [X, Y] {
                if random.below(2) == 0 {
                    words.push(ld(12, base, 0));
                }
            }
            // Long enough for the copies to arrive.
            words.extend([mul(LATE, 12, 0); 12]);
            words.extend((0..random.below(4)).map(|_| mul(LATE, LATE, 0)));
            // What follows begins when the chain has ended.
            words.extend([add(X, X, LATE), add(Y, Y, LATE)]);
            words.extend((0..random.below(30)).map(|_| addi(ONE, ONE, 0)));
            words.extend([mul(LATE, LATE, 0); 3]);
            words.extend(*body);
            words.extend(exit());
        }
        let (config, caches) = configuration(harts, seed);
        let mut chip = Chip::new(&config, TEXT).unwrap();
        let tables = protocol(&caches, fault);
        let mut memory = CoherentMemory::with_protocol(&caches, tables, memory(&words), NoDevice).unwrap();
        assert!(finish(&mut chip, &mut memory), "seed {seed} does not end");
        found.insert((0..harts).map(|hart| [20, 21].map(|register| chip.register(hart, register))).collect());
    }
    found
}

/// Asserts that an outcome does not occur, and occurs with a planted fault.
fn forbidden(threads: &[&[u32]], outcome: &[[u64; 2]], faults: &[Fault]) {
    let found = outcomes(threads, Fault::None);
    assert!(!found.contains(outcome), "{found:?}");
    assert!(found.len() >= 2, "{found:?}");
    for &fault in faults {
        let found = outcomes(threads, fault);
        assert!(found.contains(outcome), "{fault:?}: {found:?}");
    }
}

/// amoswap.d of x5, or of x0 as a read with acquire and release.
fn swap(rd: u32, base: u32, value: u32) -> u32 {
    atomic(1, 3, rd, base, value)
}

#[test]
fn message_passing_delivers_the_message() {
    let writer = [sd(ONE, X, 0), FENCE, sd(ONE, Y, 0)];
    let reader = [ld(20, Y, 0), FENCE, ld(21, X, 0)];
    forbidden(&[&writer, &reader], &[[0, 0], [1, 0]], &[Fault::Stale]);
    let swaps = [sd(ONE, X, 0), swap(0, Y, ONE)];
    forbidden(&[&swaps, &reader], &[[0, 0], [1, 0]], &[Fault::Stale]);
    let without = outcomes(&[&[sd(ONE, X, 0), sd(ONE, Y, 0)], &[ld(20, Y, 0), ld(21, X, 0)]], Fault::None);
    assert!(without.contains(&vec![[0, 0], [1, 0]]), "{without:?}");
}

#[test]
fn store_buffering_is_prevented_by_fences() {
    let [first, second] = [(X, Y), (Y, X)].map(|(own, other)| [sd(ONE, own, 0), FENCE, ld(20, other, 0)]);
    forbidden(&[&first, &second], &[[0, 0], [0, 0]], &[Fault::Stale]);
    let [first, second] = [(X, Y), (Y, X)].map(|(own, other)| [swap(0, own, ONE), ld(20, other, 0)]);
    forbidden(&[&first, &second], &[[0, 0], [0, 0]], &[Fault::Stale]);
    let [first, second] = [(X, Y), (Y, X)].map(|(own, other)| [sd(ONE, own, 0), ld(20, other, 0)]);
    let without = outcomes(&[&first, &second], Fault::None);
    assert!(without.contains(&vec![[0, 0], [0, 0]]), "{without:?}");
}

#[test]
fn load_buffering_does_not_occur() {
    // RVWMO allows it without fences. A core sends a store when the loads before it are complete, so no
    // fault of the memory leads to it.
    let [first, second] = [(X, Y), (Y, X)].map(|(own, other)| [ld(20, own, 0), sd(ONE, other, 0)]);
    forbidden(&[&first, &second], &[[1, 0], [1, 0]], &[]);
    let [first, second] = [(X, Y), (Y, X)].map(|(own, other)| [ld(20, own, 0), FENCE, sd(ONE, other, 0)]);
    forbidden(&[&first, &second], &[[1, 0], [1, 0]], &[]);
}

#[test]
fn independent_reads_see_independent_writes_in_one_order() {
    let [first, second] = [X, Y].map(|base| [sd(ONE, base, 0)]);
    let forward = [ld(20, X, 0), FENCE, ld(21, Y, 0)];
    let backward = [ld(20, Y, 0), FENCE, ld(21, X, 0)];
    let threads: [&[u32]; 4] = [&first, &second, &forward, &backward];
    forbidden(&threads, &[[0, 0], [0, 0], [1, 0], [1, 0]], &[Fault::Stale]);
}

#[test]
fn two_loads_of_an_address_are_in_order() {
    // The older load has its address later.
    let reader = [add(13, X, LATE), ld(20, 13, 0), ld(21, X, 0)];
    forbidden(&[&[sd(ONE, X, 0)], &reader], &[[0, 0], [1, 0]], &[]);
}

/// The additions of four harts that are lost, in 40 runs.
fn lost(conditional: bool, fault: Fault) -> u64 {
    const ADDITIONS: i32 = 20;
    let mut lost = 0;
    for seed in 0..40 {
        let mut words = address(X, DATA);
        words.extend([addi(ONE, 0, 1), addi(6, 0, ADDITIONS), ld(12, X, 0)]);
        let start = words.len();
        if conditional {
            words.extend([atomic(2, 3, 12, X, 0), addi(12, 12, 1), atomic(3, 3, 13, X, 12), bne(13, 0, -12)]);
        } else {
            words.push(atomic(0, 3, 12, X, ONE));
        }
        words.push(addi(6, 6, -1));
        words.push(bne(6, 0, -4 * (words.len() - start) as i32));
        words.extend(exit());
        let (config, caches) = configuration(4, seed);
        let mut chip = Chip::new(&config, TEXT).unwrap();
        let tables = protocol(&caches, fault);
        let mut memory = CoherentMemory::with_protocol(&caches, tables, memory(&words), NoDevice).unwrap();
        assert!(finish(&mut chip, &mut memory), "seed {seed} does not end");
        while let Some(next) = memory.next_event() {
            memory.advance(next, &mut Vec::new());
        }
        let bytes = memory.bytes(DATA, 8).expect("memory");
        lost += 4 * ADDITIONS as u64 - u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    }
    lost
}

#[test]
fn no_addition_is_lost_by_atomics_or_store_conditionals() {
    for conditional in [false, true] {
        assert_eq!(lost(conditional, Fault::None), 0, "conditional: {conditional}");
        assert!(lost(conditional, Fault::Shared) > 0, "conditional: {conditional}");
    }
}
