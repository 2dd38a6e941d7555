// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions per second of functional execution, without a timing model.

mod common;

use std::hint::black_box;

use common::Mute;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mb_processor::{Hart, Memory, Ppc32, Program, Rv64, Step};

/// Runs to the end. Returns the number of instructions, and the parity of all addresses so that
/// none is optimised away.
fn run<H: Hart>(hart: &mut H, memory: &mut Memory) -> (u64, u64) {
    let (mut count, mut parity) = (0, 0);
    loop {
        match hart.step(memory, &mut Mute).expect("no fault") {
            Step::Retired(retired) => {
                count += 1;
                parity ^= retired.address ^ retired.next;
            }
            Step::Exited(_) | Step::Waiting => return (count, parity),
        }
    }
}

fn measure<H: Hart + Clone>(criterion: &mut Criterion, name: &str, program: &Program, mut hart: H) {
    // The number of items in a list; the other programs ignore it.
    hart.set_argument(0, 300);
    let memory = program.memory(0);
    let (count, _) = run(&mut hart.clone(), &mut memory.clone());
    let mut group = criterion.benchmark_group("processor");
    group.throughput(Throughput::Elements(count));
    group.bench_function(name, |bencher| {
        bencher.iter(|| black_box(run(&mut hart.clone(), &mut memory.clone())));
    });
    group.finish();
}

/// Linear algebra in floating point, for RV64 alone.
const FLOAT: &str = "float";

/// A list walk, list searches in firmware, and MD5.
const PROGRAMS: [&str; 3] = ["bench", "stream", "md5"];

fn functional(criterion: &mut Criterion) {
    for name in PROGRAMS {
        let program = common::program(&format!("{name}.ppc32"));
        measure(criterion, &format!("ppc32/{name}"), &program, Ppc32::load(&program, 1).expect("PPC32").remove(0));
        let program = common::program(&format!("{name}.rv64"));
        measure(criterion, &format!("rv64/{name}"), &program, Rv64::load(&program, 1).expect("RV64").remove(0));
    }
    let program = common::program(&format!("{FLOAT}.rv64"));
    measure(criterion, &format!("rv64/{FLOAT}"), &program, Rv64::load(&program, 1).expect("RV64").remove(0));
}

criterion_group!(benches, functional);
criterion_main!(benches);
