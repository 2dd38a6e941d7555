// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions per second of the cores that chips are compared with.

use mb_core::Cycles;
use mb_processor::barrel::{Barrel, BarrelConfig, Stacks};
use mb_processor::hierarchy::Hierarchy;
use mb_processor::out_of_order::{OutOfOrder, cortex_a72};
use mb_processor::{Ppc32, Program, Rv64};

use crate::common::Mute;

/// Instructions, squashed instructions and cycles.
#[derive(Clone, Copy, Default)]
pub(crate) struct Count {
    pub(crate) committed: u64,
    pub(crate) squashed: u64,
    pub(crate) cycles: u64,
}

pub(crate) fn out_of_order(program: &Program) -> Count {
    let (core, caches) = cortex_a72();
    let mut hart = Rv64::load(program, 1).expect("RV64").remove(0);
    let mut core = OutOfOrder::new(core, 0).expect("a core");
    let mut hierarchy = Hierarchy::new(&caches).expect("a hierarchy");
    core.run(&mut hart, &mut program.memory(0), &mut Mute, &mut hierarchy, Cycles::MAX).expect("no fault");
    Count { committed: core.statistics().instructions, squashed: 0, cycles: core.now().0 }
}

pub(crate) fn barrel(program: &Program) -> Count {
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
pub(crate) fn run_time() -> u64 {
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
            return (committed as f64 * 1e3 / time as f64, count);
        }
    }
}

/// A core, its run, and the reference of its ratio with the least one that is expected.
pub(crate) type Measured<'a> = (&'static str, Box<dyn Fn() -> Count + 'a>, Option<(usize, f64)>);

/// Runs all cores in turns and prints their rates. A ratio is that of two runs in succession, since the
/// speed of the host changes; the median of the turns counts, and its spread is printed.
#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
pub(crate) fn report(cores: &[Measured<'_>], turns: usize) {
    println!("{:<26} {:>8} {:>6} {:>10}  ratio", "core", "M inst/s", "IPC", "squashed");
    let mut measured = vec![(Vec::new(), Vec::new(), Count::default()); cores.len()];
    for _ in 0..turns {
        for ((_, run, reference), (rates, ratios, last)) in cores.iter().zip(&mut measured) {
            let base = reference.map(|(other, _)| rate(&cores[other].1).0);
            let (own, count) = rate(run);
            rates.push(own);
            ratios.extend(base.map(|base| own / base));
            *last = count;
        }
    }
    for ((name, _, reference), (rates, ratios, count)) in cores.iter().zip(measured) {
        let ipc = count.committed as f64 / count.cycles as f64;
        let squashed = 100.0 * count.squashed as f64 / count.committed as f64;
        let ratio = reference.map_or(String::new(), |(other, least)| {
            let [median, lowest, highest] = spread(ratios);
            format!("{median:.2} of {} ({lowest:.2} to {highest:.2}), expected {least}", cores[other].0)
        });
        println!("{name:<26} {:>8.2} {ipc:>6.2} {squashed:>8.1} %  {ratio}", spread(rates)[0]);
    }
}

/// The median, the least and the largest.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [values[values.len() / 2], values[0], values[values.len() - 1]]
}
