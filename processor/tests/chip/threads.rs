// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Harts that share memory: locks, atomics, waits, and the order of accesses.

use mb_processor::FixedLatency;
use mb_processor::chip::{Chip, ChipConfig, ChipStop, IssueStall, cmp, cmp2, in_order, smt};
use mb_processor::shared_l2::{SharedL2, SharedL2Config};
use mb_processor::system::{MemorySystem, NoDevice};

use crate::Console;
use crate::assembler::{
    DATA, FENCE, NOP, PAUSE, TEXT, WRS_NTO, WRS_STO, add, addi, address, andi, atomic, bne, branch, exit, flat, jal,
    ld, load, memory, sd, slli, srli, store,
};
use crate::run::{Log, finish, passages, run_until};

/// Runs until every hart has ended, on a memory with this latency.
fn run(config: &ChipConfig, words: &[u32], latency: u64) -> (FixedLatency, Chip) {
    run_on(flat(words, (config.cores, config.contexts), latency, 1), config)
}

/// Runs until every hart has ended, on caches; `size` is that of an L1 cache.
fn run_on_caches(config: &ChipConfig, words: &[u32], size: u64) -> (SharedL2, Chip) {
    let mut caches = SharedL2Config::crowley2000(config.cores, config.contexts);
    (caches.instruction.bytes, caches.data.bytes) = (size, size);
    let (mut memory, chip) = run_on(SharedL2::new(&caches, memory(words), NoDevice).unwrap(), config);
    while let Some(cycle) = memory.next_event() {
        memory.advance(cycle, &mut Vec::new());
    }
    (memory, chip)
}

fn run_on<M: MemorySystem>(mut memory: M, config: &ChipConfig) -> (M, Chip) {
    let mut chip = Chip::new(config, TEXT).unwrap();
    loop {
        match run_until(&mut chip, 10_000_000, &mut memory, &mut Console::default()).unwrap() {
            ChipStop::Exited { .. } => {}
            ChipStop::Halted => return (memory, chip),
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
                for size in [128, 32 << 10] {
                    let (memory, _) = run_on_caches(&chip(harts), &locked(acquire), size);
                    assert_eq!(word(&memory, DATA + 64), 100 * harts as u64, "{name}, {harts} harts, caches");
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
    assert!(statistics.lost(IssueStall::Waiting) * 10 > statistics.slots() * 9, "{statistics:?}");
    assert_eq!(spins.statistics(1).lost(IssueStall::Waiting), 0);
}

#[test]
fn atomics_of_all_harts_are_performed_one_after_the_other() {
    // Each hart adds 1, 2, ... 64 to a word of 4 bytes that wraps.
    let mut words = address(8, DATA);
    words.extend([addi(9, 0, 64), atomic(0, 2, 6, 8, 9), addi(9, 9, -1), bne(9, 0, -8)]);
    // The sum of what it has seen goes to its own place, so that it must have arrived.
    words.extend([slli(11, 10, 3), add(11, 11, 8), sd(6, 11, 64), load(2, 12, 8, 0)]);
    words.extend(exit());
    let check = |memory: &dyn Fn(u64) -> u64| {
        let total = 8 * 64 * 65 / 2;
        assert_eq!(memory(DATA), total);
        // Exactly one hart has seen the last value but one.
        assert_eq!((0..8).filter(|hart| memory(DATA + 64 + 8 * hart) == total - 1).count(), 1);
    };
    for chip in CHIPS {
        for latency in [1, 5] {
            let (memory, _) = run(&chip(8), &words, latency);
            check(&|address| word(&memory, address));
        }
        for size in [128, 32 << 10] {
            let (memory, _) = run_on_caches(&chip(8), &words, size);
            check(&|address| word(&memory, address));
        }
    }
}

/// Harts of even numbers write data and then a flag, the others read a flag until it is set and then
/// the data: message passing with fences, a thousand times.
#[test]
fn data_is_seen_before_the_flag_that_announces_it() {
    // x8: the pair's data, x8 + 128: its flag; x9: counts up to 200.
    let mut words = address(8, DATA);
    words.extend([srli(11, 10, 1), slli(11, 11, 8), add(8, 8, 11), addi(9, 0, 1), addi(13, 0, 201), andi(12, 10, 1)]);
    let branch_to_reader = words.len();
    words.push(0);
    // Writer: data, fence, flag, then waits until the reader has taken it.
    let writer = words.len();
    words.extend([sd(9, 8, 0), FENCE, sd(9, 8, 128), ld(5, 8, 64), bne(5, 9, -4), FENCE, addi(9, 9, 1)]);
    words.push(bne(9, 13, 4 * (writer as i32 - words.len() as i32)));
    words.extend(exit());
    words[branch_to_reader] = bne(12, 0, 4 * (words.len() - branch_to_reader) as i32);
    // Reader: x14 counts wrong data.
    let reader = words.len();
    words.extend([ld(5, 8, 128), bne(5, 9, -4), FENCE, ld(6, 8, 0), branch(0, 6, 9, 8), addi(14, 14, 1)]);
    words.extend([FENCE, sd(9, 8, 64), addi(9, 9, 1)]);
    words.push(bne(9, 13, 4 * (reader as i32 - words.len() as i32)));
    words.extend(exit());
    for chip in CHIPS {
        for chip in [run(&chip(8), &words, 3).1, run_on_caches(&chip(8), &words, 32 << 10).1] {
            for hart in 0..8 {
                assert_eq!((chip.register(hart, 14), chip.register(hart, 9)), (0, 201), "hart {hart}");
            }
        }
    }
}

#[test]
fn a_wait_ends_without_a_reservation_and_a_short_one_after_a_time() {
    // lr, wrs, addi
    let passages = |first: u32, wait: u32| {
        let mut words = address(8, DATA);
        words.extend([first, wait]);
        passages(&smt(1), &[words, exit()].concat(), 1)
    };
    let load_reserved = atomic(2, 3, 6, 8, 0);
    for wait in [WRS_NTO, WRS_STO] {
        let passages = passages(NOP, wait);
        let (wait, next) = (passages[3].0, passages[4].0);
        // It executes when it is the oldest.
        assert_eq!((wait.accessed, wait.written), (passages[2].1, wait.accessed + 1));
        // Fetch continues in the cycle of its commit.
        assert_eq!(next.fetched, passages[3].1);
    }
    let passages = passages(load_reserved, WRS_STO);
    assert_eq!(passages[3].0.accessed, passages[2].1 + 64);
}

#[test]
fn a_run_with_waits_that_skips_cycles_equals_a_run_of_every_cycle() {
    let wait =
        [atomic(2, 2, 6, 8, 0), branch(0, 6, 0, 12), WRS_NTO, jal(0, -12), atomic(3, 2, 6, 8, 5), bne(6, 0, -20)];
    let words = locked(&wait);
    for config in [smt(8), cmp(8), ChipConfig { cores: 3, ..smt(2) }] {
        let run = |every: bool, is_flat: bool| {
            let mut chip = Chip::new(&config, TEXT).unwrap();
            chip.simulate_every_cycle(every);
            let mut log = Log::default();
            if is_flat {
                finish(&mut chip, &mut flat(&words, (config.cores, config.contexts), 9, 1), &mut log);
            } else {
                let caches = SharedL2Config::crowley2000(config.cores, config.contexts);
                finish(&mut chip, &mut SharedL2::new(&caches, memory(&words), NoDevice).unwrap(), &mut log);
            }
            let statistics: Vec<_> = (0..config.harts()).map(|hart| *chip.statistics(hart)).collect();
            (log, chip.now(), statistics)
        };
        for is_flat in [true, false] {
            assert!(run(false, is_flat) == run(true, is_flat), "{config:?}");
        }
    }
}
