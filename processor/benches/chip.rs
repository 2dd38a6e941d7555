// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions per second of chips with all contexts busy, and their ratios to the other cores in
//! the same run; ratios depend less on the host than rates.
//!
//! Every hart computes the MD5 digests of RFC 1321 on a stack of its own. The out-of-order and the
//! barrel core run the same program on one thread.

mod common;
#[path = "common/host.rs"]
mod host;
#[path = "common/rates.rs"]
mod rates;

use host::Host;
use mb_processor::Program;
use mb_processor::chip::{Chip, ChipConfig, ChipStop, cmp, cmp2, in_order, smt};
use mb_processor::shared_l2::{SharedL2, SharedL2Config};
use mb_processor::system::NoDevice;
use rates::{Count, Measured, barrel, out_of_order, report};

const STACK: u64 = 4096;

/// Calls `main` on every hart.
fn chip(config: &ChipConfig, program: &Program) -> Count {
    let memory = program.memory(config.harts() * STACK as usize);
    let top = memory.range().end;
    let symbol = |name| program.symbol(name).expect("a symbol");
    let mut chip = Chip::new(config, symbol("main").address).expect("a configuration");
    let start = symbol("_start");
    for hart in 0..config.harts() {
        // main returns to the call of exit at the end of _start.
        chip.set_register(hart, 1, start.address + start.bytes - 8);
        chip.set_register(hart, 2, (top & !15) - STACK * hart as u64);
    }
    let caches = SharedL2Config::crowley2000(config.cores, config.contexts);
    let mut memory = SharedL2::new(&caches, memory, NoDevice).expect("caches");
    while chip.run_until(u64::MAX, &mut memory, &mut Host).expect("no fault") != ChipStop::Halted {}
    let mut count = Count { cycles: chip.now(), ..Count::default() };
    for hart in 0..config.harts() {
        count.committed += chip.statistics(hart).committed;
        count.squashed += chip.statistics(hart).squashed;
    }
    count
}

fn main() {
    let program = &common::program("md5.rv64");
    let program32 = common::program("md5.ppc32");
    let run = |config: ChipConfig| -> Box<dyn Fn() -> Count + '_> { Box::new(move || chip(&config, program)) };
    let cores: [Measured<'_>; 7] = [
        ("cortex_a72", Box::new(|| out_of_order(program)), None),
        ("barrel", Box::new(|| barrel(&program32)), None),
        ("smt 8", run(smt(8)), Some((0, 0.8))),
        ("smt 1", run(smt(1)), None),
        ("cmp 8", run(cmp(8)), Some((0, 0.8))),
        ("cmp2 4", run(cmp2(4)), None),
        ("cmp 8 in order", run(in_order(cmp(8))), Some((1, 0.3))),
    ];
    report(&cores, 8);
}
