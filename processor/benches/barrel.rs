// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions per second of barrel-threaded cores, execution included, and the cost of a cache
//! access.

mod common;

use std::hint::black_box;

use common::Mute;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mb_core::Cycles;
use mb_processor::barrel::{Barrel, BarrelConfig, BarrelStop, Stacks};
use mb_processor::hierarchy::{AccessKind, Hierarchy};
use mb_processor::{Memory, Ppc32, Program};

const STACK: u64 = 1024;

/// Runs a program to its end; returns the number of instructions.
fn run(config: &BarrelConfig, program: &Program, hart: &Ppc32, memory: &Memory) -> u64 {
    let top = memory.range().end & !15;
    let mut barrel = Barrel::new(config, hart.clone(), memory.clone(), Stacks { top, bytes: STACK }).expect("cores");
    // The number of items in a list; the other programs ignore it.
    barrel.spawn(program.entry(), &[300], Cycles(0));
    assert_eq!(barrel.run_until(Cycles::MAX, &mut Mute), Ok(BarrelStop::Exited(0)));
    (0..config.hierarchy.cores).map(|core| barrel.statistics(core).instructions).sum()
}

fn instructions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("barrel");
    group.sample_size(10);
    for name in ["md5", "bench", "bench_mt", "bench_mt_spin"] {
        let program = common::program(&format!("{name}.ppc32"));
        let hart = Ppc32::load(&program, 1).expect("PPC32").remove(0);
        let memory = program.memory(66 * STACK as usize);
        for cores in [1, 2, 16] {
            if cores > 1 && !name.ends_with("_mt") {
                continue;
            }
            let config = BarrelConfig::hemmert2007(cores).expect("a preset");
            group.throughput(Throughput::Elements(run(&config, &program, &hart, &memory)));
            group.bench_function(format!("mt{cores}/{name}"), |bencher| {
                bencher.iter(|| black_box(run(&config, &program, &hart, &memory)));
            });
        }
    }
}

/// Hits in one line, and in more lines than a set has ways.
fn hits(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hierarchy");
    group.throughput(Throughput::Elements(1));
    let config = BarrelConfig::hemmert2007(1).expect("a preset").hierarchy;
    for items in [1, 500] {
        let mut hierarchy = Hierarchy::new(&config).expect("caches");
        hierarchy.warm(0, AccessKind::Load, 0, items * 64);
        let (mut now, mut item) = (0, 0);
        group.bench_function(format!("hit/{items}"), |bencher| {
            bencher.iter(|| {
                now += 1;
                item = if item + 1 < items { item + 1 } else { 0 };
                black_box(hierarchy.access(0, AccessKind::Load, item * 64, 8, Cycles(now)))
            });
        });
    }
}

criterion_group!(benches, instructions, hits);
criterion_main!(benches);
