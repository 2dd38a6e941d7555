// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions per second of chips with all contexts busy, and their ratios to the other cores in
//! the same run; ratios depend less on the host than rates.
//!
//! Every hart computes the MD5 digests of RFC 1321 on a stack of its own. The out-of-order and the
//! barrel core run the same program on one thread.

mod common;
#[path = "common/rates.rs"]
mod rates;

use mb_processor::Program;
use mb_processor::chip::{Chip, ChipConfig, Stop, cmp, cmp2, in_order, smt};
use mb_processor::shared_l2::{SharedL2, SharedL2Config};
use mb_processor::system::NoDevice;
use rates::{Count, Host, barrel, out_of_order, rate};

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
    while chip.run_until(u64::MAX, &mut memory, &mut Host).expect("no fault") != Stop::Halted {}
    let mut count = Count { cycles: chip.now(), ..Count::default() };
    for hart in 0..config.harts() {
        count.committed += chip.statistics(hart).committed;
        count.squashed += chip.statistics(hart).squashed;
    }
    count
}

/// A core, its run, and the reference of its ratio with the least one that is expected.
type Measured<'a> = (&'static str, Box<dyn Fn() -> Count + 'a>, Option<(usize, f64)>);

#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
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
    // In turns, so that a change of the host's speed affects all of them. The best of each counts.
    let mut best = [(0.0_f64, Count::default()); 7];
    for _ in 0..8 {
        for ((_, run, _), best) in cores.iter().zip(&mut best) {
            let (rate, count) = rate(run);
            *best = (best.0.max(rate), count);
        }
    }
    println!("{:<16} {:>8} {:>6} {:>10}  ratio", "core", "M inst/s", "IPC", "squashed");
    for ((name, _, reference), (rate, count)) in cores.iter().zip(&best) {
        let ipc = count.committed as f64 / count.cycles as f64;
        let squashed = 100.0 * count.squashed as f64 / count.committed as f64;
        let ratio = reference.map_or(String::new(), |(other, least)| {
            format!("{:.2} of {}, expected {least}", rate / best[other].0, cores[other].0)
        });
        println!("{name:<16} {rate:>8.2} {ipc:>6.2} {squashed:>8.1} %  {ratio}");
    }
}
