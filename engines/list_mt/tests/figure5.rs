// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hemmert et al.'s benchmark on the three presets: every number of the model card, and the bounds that no schedule can beat.

use mb_list_mt::figure5::{LENGTHS, run};
use mb_list_mt::{ENTRY, parameters::Parameters};
use mb_testkit::preset;

/// Matches of a pass.
const MATCHES: u64 = 64;

/// Cycles of 64 matches of the first item, and of the last one of 10, 30, 100 and 300.
const MEASURED: [(&str, u64, [u64; 4]); 3] = [
    ("mt1", 7306, [20_135, 49_445, 153_360, 450_945]),
    ("mt2", 6418, [10_990, 25_849, 79_121, 227_158]),
    ("mt16", 5978, [4422, 5825, 13_078, 31_815]),
];

#[test]
fn the_benchmark_takes_the_cycles_of_the_model_card() {
    for (name, first, last) in MEASURED {
        let parameters = Parameters::new(&preset(&ENTRY, name, &[]));
        let cores = parameters.cores.hierarchy.cores as u64;
        for (length, last) in LENGTHS.into_iter().zip(last) {
            let rows = run(&parameters, length).unwrap();
            assert_eq!(rows.len(), 11);
            assert_eq!((rows[0].cycles, rows[10].cycles), (first, last), "{name}, {length} items");
            for row in rows {
                // To pass an item takes 23 instructions, two of them calls, each in a slot of whatever core.
                assert!(row.cycles * cores >= MATCHES * (row.traversed as u64 - 1) * 23);
            }
        }
    }
}

#[test]
fn what_the_paper_leaves_open_is_a_setting_and_costs_what_it_says() {
    let cycles = |name, changes: &[(&str, &str)]| {
        let rows = run(&Parameters::new(&preset(&ENTRY, name, changes)), 10).unwrap();
        (rows[0].cycles, rows[10].cycles)
    };
    let (first, last) = cycles("mt16", &[]);
    // Matches of the first item are a chain: each has the item's lock until it is done, and what it waits for is in the
    // chain 64 times; a lock is handed over once less.
    assert_eq!(cycles("mt16", &[("thread_create", "12")]).0, first + MATCHES * 10);
    assert_eq!(cycles("mt16", &[("lock_handoff", "9")]).0, first + (MATCHES - 1) * 8);
    // A header's line takes ten cycles and one for each width of memory more, where a hit takes one.
    assert_eq!(cycles("mt16", &[("header", "cache")]).0, first - MATCHES * 9);
    let first_of_one = cycles("mt1", &[]).0;
    assert_eq!(cycles("mt1", &[("header", "cache")]).0, first_of_one - MATCHES * 10);
    // Few threads are under way on a short list: where they go decides.
    let filled = cycles("mt16", &[("placement", "fill")]).1;
    let spinning = cycles("mt16", &[("placement", "fill"), ("locks", "spin")]).1;
    assert!(2 * last < filled && filled < spinning, "{last}, {filled}, {spinning}");
    for worse in [
        &[("list_cache", "cold")][..],
        &[("coherence", "invalidate"), ("locks", "spin")],
        &[("lock_transfer", "10")],
        &[("branch_taken", "3")],
    ] {
        let (near, far) = cycles("mt16", worse);
        assert!(near >= first && far > last, "{worse:?}: {near}, {far}");
    }
}
