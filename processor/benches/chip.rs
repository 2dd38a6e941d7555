// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions per second of chips with all contexts busy, and their ratios to the other cores in
//! the same run; ratios depend less on the host than rates.
//!
//! Every hart computes the MD5 digests of RFC 1321 on a stack of its own. The out-of-order and the
//! barrel core run the same program on one thread.

mod common;

use std::time::Instant;

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

/// Million committed instructions per second: the best of several intervals, so that a pause of
/// the host does not count.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn rate(mut run: impl FnMut() -> Count) -> (f64, Count) {
    let mut best: f64 = 0.0;
    let mut count = Count::default();
    for _ in 0..8 {
        let (begin, mut committed) = (Instant::now(), 0);
        while begin.elapsed().as_millis() < 150 {
            count = run();
            committed += count.committed;
        }
        best = best.max(committed as f64 / begin.elapsed().as_secs_f64() / 1e6);
    }
    (best, count)
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
fn main() {
    let program = common::program("md5.rv64");
    let (reference, count) = rate(|| out_of_order(&program));
    println!("{:<16} {:>8} {:>6} {:>10}  ratio", "core", "M inst/s", "IPC", "squashed");
    let print = |name: &str, rate: f64, count: Count, ratio: String| {
        let ipc = count.committed as f64 / count.cycles as f64;
        let squashed = 100.0 * count.squashed as f64 / count.committed as f64;
        println!("{name:<16} {rate:>8.2} {ipc:>6.2} {squashed:>8.1} %  {ratio}");
    };
    print("cortex_a72", reference, count, "1".to_owned());
    let (barrel_rate, count) = rate(|| barrel(&common::program("md5.ppc32")));
    print("barrel", barrel_rate, count, String::new());
    for (name, config) in [("smt 8", smt(8)), ("smt 1", smt(1)), ("cmp 8", cmp(8)), ("cmp2 4", cmp2(4))] {
        let (rate, count) = rate(|| chip(&config, &program));
        print(name, rate, count, format!("{:.2} of cortex_a72, expected 0.8", rate / reference));
    }
    let (rate, count) = rate(|| chip(&in_order(cmp(8)), &program));
    print("cmp 8 in order", rate, count, format!("{:.2} of barrel, expected 0.3", rate / barrel_rate));
}
