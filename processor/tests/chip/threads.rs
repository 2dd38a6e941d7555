// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Harts that share memory: locks, atomics, waits, and the order of accesses.

use mb_processor::FixedLatency;
use mb_processor::chip::{Cause, Chip, ChipConfig, Stop, cmp, cmp2, in_order, smt};
use mb_processor::system::MemorySystem;

use crate::Console;
use crate::assembler::{
    DATA, PAUSE, TEXT, WRS_NTO, add, addi, address, atomic, bne, branch, exit, flat, jal, ld, load, sd, slli, store,
};

/// Runs until every hart has ended; returns the memory and the number of cycles.
fn run(config: &ChipConfig, words: &[u32], latency: u64) -> (FixedLatency, Chip) {
    let mut memory = flat(words, (config.cores, config.contexts), latency, 1);
    let mut chip = Chip::new(config, TEXT).unwrap();
    loop {
        match chip.run_until(10_000_000, &mut memory, &mut Console::default()).unwrap() {
            Stop::Exited { .. } => {}
            Stop::Halted => return (memory, chip),
            stop => {
                let pcs: Vec<_> = (0..config.harts()).map(|hart| (chip.pc(hart), chip.register(hart, 9))).collect();
                panic!("{stop:?} in cycle {}: {pcs:x?}, {config:?}", chip.now())
            }
        }
    }
}

fn word(memory: &impl MemorySystem, address: u64) -> u64 {
    u64::from_le_bytes(memory.bytes(address, 8).unwrap().try_into().unwrap())
}

const CHIPS: [fn(usize) -> ChipConfig; 4] = [smt, cmp, cmp2, |count| in_order(smt(count))];

/// A lock at `DATA`, a counter at `DATA + 64`: each hart adds 1 a hundred times with a plain load
/// and store.
fn locked(acquire: &[u32]) -> Vec<u32> {
    let mut words = address(8, DATA);
    words.extend([addi(9, 0, 100), addi(5, 0, 1)]);
    let top = words.len();
    words.extend(acquire);
    words.extend([ld(6, 8, 64), addi(6, 6, 1), sd(6, 8, 64)]);
    // amoswap.w.aqrl x0, x0, (x8)
    words.extend([atomic(1, 2, 0, 8, 0), addi(9, 9, -1)]);
    let back = 4 * (top as i32 - words.len() as i32);
    words.push(bne(9, 0, back));
    words.extend(exit());
    words
}

#[test]
fn a_lock_admits_one_hart_at_a_time() {
    // amoswap.w.aqrl x6, x5, (x8); bnez x6
    let swap = [atomic(1, 2, 6, 8, 5), bne(6, 0, -4)];
    // lr.w.aqrl x6, (x8); bnez x6; sc.w.aqrl x6, x5, (x8); bnez x6
    let reserve = [atomic(2, 2, 6, 8, 0), bne(6, 0, -4), atomic(3, 2, 6, 8, 5), bne(6, 0, -12)];
    // The same, but a hart that finds the lock taken waits until it is written.
    let wait =
        [atomic(2, 2, 6, 8, 0), branch(0, 6, 0, 12), WRS_NTO, jal(0, -12), atomic(3, 2, 6, 8, 5), bne(6, 0, -20)];
    for (acquire, name) in [(&swap[..], "swap"), (&reserve, "reserve"), (&wait, "wait")] {
        for chip in CHIPS {
            for harts in [1, 2, 4, 8] {
                for latency in [1, 9] {
                    let (memory, _) = run(&chip(harts), &locked(acquire), latency);
                    assert_eq!(word(&memory, DATA + 64), 100 * harts as u64, "{name}, {harts} harts");
                    assert_eq!(word(&memory, DATA), 0);
                }
            }
        }
    }
}

#[test]
fn a_hart_that_waits_for_a_reservation_uses_no_issue_slots() {
    // Hart 1 waits until hart 0, which counts to 5000 first, writes the word at DATA.
    let program = |wait: u32| {
        let mut words = address(8, DATA);
        words.push(bne(10, 0, 6 * 4));
        words.extend([addi(9, 0, 1250), slli(9, 9, 2), addi(9, 9, -1), bne(9, 0, -4), store(2, 8, 8, 0)]);
        let skip = words.len() as i32;
        words[2] = bne(10, 0, 4 * (skip + 2 - 2));
        words.extend(exit());
        words.extend([atomic(2, 2, 6, 8, 0), bne(6, 0, 12), wait, jal(0, -12)]);
        words.extend(exit());
        words
    };
    let config = ChipConfig { issue_width: 8, ..smt(2) };
    let (_, waits) = run(&config, &program(WRS_NTO), 1);
    let (_, spins) = run(&config, &program(PAUSE), 1);
    let committed = |chip: &Chip| chip.statistics(1).committed;
    // lui, addi, bne, lr, bne, wrs, jal, lr, bne, addi; the ecall that ends the hart does not commit.
    assert_eq!(committed(&waits), 10);
    assert!(committed(&spins) > 1000, "{}", committed(&spins));
    let statistics = waits.statistics(1);
    assert!(statistics.lost(Cause::Waiting) * 10 > statistics.slots() * 9, "{statistics:?}");
    assert_eq!(spins.statistics(1).lost(Cause::Waiting), 0);
}

#[test]
fn atomics_of_all_harts_are_performed_one_after_the_other() {
    // Each hart adds 1, 2, ... 64 to a word of 4 bytes that wraps.
    let mut words = address(8, DATA);
    words.extend([addi(9, 0, 64), atomic(0, 2, 6, 8, 9), addi(9, 9, -1), bne(9, 0, -8)]);
    // The sum of what it has seen goes to its own place, so that it must have arrived.
    words.extend([slli(11, 10, 3), add(11, 11, 8), sd(6, 11, 64), load(2, 12, 8, 0)]);
    words.extend(exit());
    for chip in CHIPS {
        for latency in [1, 5] {
            let (memory, _) = run(&chip(8), &words, latency);
            assert_eq!(word(&memory, DATA), 8 * 64 * 65 / 2);
            // Exactly one hart has seen the last value but one.
            let last = (0..8).filter(|hart| word(&memory, DATA + 64 + 8 * hart) == 8 * 64 * 65 / 2 - 1).count();
            assert_eq!(last, 1);
        }
    }
}
