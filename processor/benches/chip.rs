// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions per second of chips with all contexts busy, and their ratios to the other cores in
//! the same run; ratios depend less on the host than rates.
//!
//! Every hart computes the MD5 digests of RFC 1321 on a stack of its own. The out-of-order and the
//! barrel core run the same program on one thread.

mod common;

use common::Mute;
use mb_core::Cycles;
use mb_processor::barrel::{Barrel, BarrelConfig, Stacks};
use mb_processor::chip::{CallHandler, Chip, ChipConfig, Stop, cmp, cmp2, in_order, smt};
use mb_processor::hierarchy::Hierarchy;
use mb_processor::out_of_order::{OutOfOrder, cortex_a72};
use mb_processor::shared_l2::{SharedL2, SharedL2Config};
use mb_processor::system::{MemorySystem, NoDevice};
use mb_processor::{Ppc32, Program, Rv64, Service, Syscall, SyscallResult};

/// Accepts every call.
struct Host;

impl CallHandler for Host {
    fn call<M: MemorySystem>(&mut self, _: u64, call: Syscall, _: &mut M) -> SyscallResult {
        if call.service == Service::Exit { SyscallResult::Exit(call.arguments[0]) } else { SyscallResult::Value(0) }
    }
}

const STACK: u64 = 4096;

/// Instructions, squashed instructions and cycles.
#[derive(Clone, Copy, Default)]
struct Count {
    committed: u64,
    squashed: u64,
    cycles: u64,
}

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

fn out_of_order(program: &Program) -> Count {
    let (core, caches) = cortex_a72();
    let mut hart = Rv64::load(program, 1).expect("RV64").remove(0);
    let mut core = OutOfOrder::new(core, 0).expect("a core");
    let mut hierarchy = Hierarchy::new(&caches).expect("a hierarchy");
    core.run(&mut hart, &mut program.memory(0), &mut Mute, &mut hierarchy, Cycles::MAX).expect("no fault");
    Count { committed: core.statistics().instructions, squashed: 0, cycles: core.now().0 }
}

fn barrel(program: &Program) -> Count {
    let config = BarrelConfig::hemmert2007(1).expect("a preset");
    let hart = Ppc32::load(program, 1).expect("PPC32").remove(0);
    let memory = program.memory(66 << 10);
    let stacks = Stacks { top: memory.range().end & !15, bytes: 1024 };
    let mut barrel = Barrel::new(&config, hart, memory, stacks).expect("cores");
    barrel.spawn(program.entry(), &[], Cycles(0));
    barrel.run_until(Cycles::MAX, &mut Mute).expect("no fault");
    Count { committed: barrel.statistics(0).instructions, squashed: 0, cycles: barrel.statistics(0).cycles }
}

/// Nanoseconds that this process has run, without the time in which the host ran others.
fn run_time() -> u64 {
    let statistics = std::fs::read_to_string("/proc/self/schedstat").expect("a Linux host");
    statistics.split(' ').next().and_then(|first| first.parse().ok()).expect("a number")
}

/// Million committed instructions per second of run time.
fn rate(run: &dyn Fn() -> Count) -> (f64, Count) {
    let (begin, mut committed) = (run_time(), 0);
    loop {
        let count = run();
        committed += count.committed;
        let time = run_time() - begin;
        if time > 100_000_000 {
            return (committed as f64 / time as f64 * 1e3, count);
        }
    }
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
