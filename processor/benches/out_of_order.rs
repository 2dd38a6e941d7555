// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions per second of the out-of-order core, execution included.

mod common;

use std::hint::black_box;

use common::Mute;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mb_core::Cycles;
use mb_processor::hierarchy::{Hierarchy, HierarchyConfig};
use mb_processor::out_of_order::{
    OutOfOrder, OutOfOrderConfig, OutOfOrderStatistics, OutOfOrderStop, cortex_a72, ppc440,
};
use mb_processor::{Hart, Memory, Ppc32, Program, Rv64};

/// Runs a program to its end, with cold caches at the start.
fn run<H: Hart>(
    (core, caches): &(OutOfOrderConfig, HierarchyConfig),
    hart: &mut H,
    memory: &mut Memory,
) -> OutOfOrderStatistics {
    let mut core = OutOfOrder::new(*core, 0).expect("a core");
    let mut hierarchy = Hierarchy::new(caches).expect("a hierarchy");
    let stop = core.run(hart, memory, &mut Mute, &mut hierarchy, Cycles::MAX).expect("no fault");
    assert!(matches!(stop, OutOfOrderStop::Exited(_)));
    *core.statistics()
}

fn measure<H: Hart + Clone>(
    criterion: &mut Criterion,
    name: &str,
    config: &(OutOfOrderConfig, HierarchyConfig),
    program: &Program,
    mut hart: H,
) {
    // The number of items in a list; the other programs ignore it.
    hart.set_argument(0, 300);
    let memory = program.memory(0);
    let instructions = run(config, &mut hart.clone(), &mut memory.clone()).instructions;
    let mut group = criterion.benchmark_group("out_of_order");
    group.throughput(Throughput::Elements(instructions));
    group.bench_function(name, |bencher| {
        bencher.iter(|| black_box(run(config, &mut hart.clone(), &mut memory.clone())));
    });
    group.finish();
}

/// A list walk, list searches in firmware, and MD5.
const PROGRAMS: [&str; 3] = ["bench", "stream", "md5"];

fn timed(criterion: &mut Criterion) {
    for name in PROGRAMS {
        let program = common::program(&format!("{name}.ppc32"));
        let hart = Ppc32::load(&program, 1).expect("PPC32").remove(0);
        measure(criterion, &format!("ppc440/{name}"), &ppc440(32), &program, hart);
        let program = common::program(&format!("{name}.rv64"));
        let hart = Rv64::load(&program, 1).expect("RV64").remove(0);
        measure(criterion, &format!("cortex_a72/{name}"), &cortex_a72(), &program, hart);
    }
}

criterion_group!(benches, timed);
criterion_main!(benches);
