// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Areas against the arithmetic of the page of constants, by hand.

use mb_reproduce::area::{Storage, design_mm2};

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

#[test]
fn a_bit_costs_its_cell_and_a_multiplexer_for_each_port() {
    assert!(close(Storage::memory("m", 1 << 20, 52).mm2(), 109.0));
    let registers = Storage::registers("r", 16, 64, 5);
    assert!(close(registers.mm2(), 1024.0 * (20.0192 + 5.0 * 11.2608) * (81.0 / 169.0) / 1e6));
}

#[test]
fn a_cache_stores_its_lines_and_a_tag_for_each() {
    // 32 KB in lines of 32 bytes: 1024 lines in 16 sets, tags of 32 - 4 - 5 bits.
    let cache = Storage::cache("c", 32 << 10, 32, 64, 2);
    assert_eq!((cache.entries, cache.bits), (1024, 256 + 23 + 2));
    // One set: no bits of the address choose it.
    assert_eq!(Storage::cache("c", 64 * 32, 32, 64, 0).bits, 256 + 27);
}

#[test]
fn logic_doubles_what_stores() {
    let parts = [Storage::memory("m", 100, 10), Storage::registers("r", 10, 10, 3)];
    assert!(close(design_mm2(&parts), 2.0 * (parts[0].mm2() + parts[1].mm2())));
}
