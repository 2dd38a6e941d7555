// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Litmus tests of the memory order, on the whole chip: what RVWMO forbids never happens, and what
//! shows that loads and stores are out of order does.

use std::collections::BTreeSet;

use mb_core::random::Random;
use mb_processor::chip::{Chip, ChipConfig, cmp, smt};
use mb_processor::shared_l2::{SharedL2, SharedL2Config};
use mb_processor::system::NoDevice;

use crate::assembler::{DATA, FENCE, NOP, TEXT, add, addi, address, exit, flat, jalr, ld, memory, mul, sd, slli};
use crate::run::{Log, finish};

/// Base registers of the two variables, which are in different lines.
const X: u32 = 8;
const Y: u32 = 9;
/// A register that is 1, and one that is 0 after three multiplications.
const ONE: u32 = 5;
const LATE: u32 = 7;

/// x20 and x21 of each hart.
type Outcome = Vec<[u64; 2]>;

/// The outcomes of many runs. Each hart first reads some of the variables, so that it has copies, and
/// waits for a random time.
fn outcomes(threads: &[&[u32]]) -> BTreeSet<Outcome> {
    let mut found = BTreeSet::new();
    let harts = threads.len();
    for seed in 0..1200 {
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
        let config: ChipConfig = if seed % 3 == 0 { smt(harts) } else { cmp(harts) };
        let mut chip = Chip::new(&config, TEXT).unwrap();
        if seed % 5 == 0 {
            let latency = random.pick(&[1, 3, 20]);
            let mut memory = flat(&words, (config.cores, config.contexts), latency, 1);
            finish(&mut chip, &mut memory, &mut Log::default());
        } else {
            let caches = SharedL2Config::crowley2000(config.cores, config.contexts);
            let mut memory = SharedL2::new(&caches, memory(&words), NoDevice).unwrap();
            finish(&mut chip, &mut memory, &mut Log::default());
        }
        found.insert((0..harts).map(|hart| [20, 21].map(|register| chip.register(hart, register))).collect());
    }
    found
}

#[test]
fn a_fence_keeps_a_store_before_a_later_load() {
    let without = outcomes(&[&[sd(ONE, X, 0), ld(20, Y, 0)], &[sd(ONE, Y, 0), ld(20, X, 0)]]);
    assert!(without.contains(&vec![[0, 0], [0, 0]]), "{without:?}");
    let with = outcomes(&[&[sd(ONE, X, 0), FENCE, ld(20, Y, 0)], &[sd(ONE, Y, 0), FENCE, ld(20, X, 0)]]);
    assert!(!with.contains(&vec![[0, 0], [0, 0]]), "{with:?}");
    assert!(with.len() >= 2, "{with:?}");
}

#[test]
fn a_fence_keeps_two_loads_in_order() {
    let writer = [sd(ONE, X, 0), sd(ONE, Y, 0)];
    let without = outcomes(&[&writer, &[ld(20, Y, 0), ld(21, X, 0)]]);
    assert!(without.contains(&vec![[0, 0], [1, 0]]), "{without:?}");
    // Stores are performed in order without a fence.
    let with = outcomes(&[&writer, &[ld(20, Y, 0), FENCE, ld(21, X, 0)]]);
    assert!(!with.contains(&vec![[0, 0], [1, 0]]), "{with:?}");
    assert!(with.len() >= 2, "{with:?}");
}

#[test]
fn loads_of_one_address_are_in_order() {
    // The older load has its address later.
    let reader = [add(13, X, LATE), ld(20, 13, 0), ld(21, X, 0)];
    let found = outcomes(&[&[sd(ONE, X, 0)], &reader]);
    assert!(!found.contains(&vec![[0, 0], [1, 0]]), "{found:?}");
    assert!(found.len() >= 2, "{found:?}");
}

#[test]
fn a_store_is_not_performed_before_an_older_load() {
    let found = outcomes(&[&[ld(20, X, 0), sd(ONE, Y, 0)], &[ld(20, Y, 0), sd(ONE, X, 0)]]);
    assert!(!found.contains(&vec![[1, 0], [1, 0]]), "{found:?}");
    assert!(found.len() >= 2, "{found:?}");
}

#[test]
fn all_harts_see_stores_in_one_order() {
    let [first, second] = [X, Y].map(|base| [sd(ONE, base, 0)]);
    let forward = [ld(20, X, 0), FENCE, ld(21, Y, 0)];
    let backward = [ld(20, Y, 0), FENCE, ld(21, X, 0)];
    let found = outcomes(&[&first, &second, &forward, &backward]);
    assert!(!found.contains(&vec![[0, 0], [0, 0], [1, 0], [1, 0]]), "{found:?}");
    assert!(found.len() >= 4, "{found:?}");
}
