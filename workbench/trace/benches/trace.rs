// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Speed of the check (bytes per second), of the statistics (messages) and of the generator
//! (records), on workloads of about a hundred thousand messages: a halo on 64 ranks, and an
//! all-to-all on 256 whose receives are posted in reverse order.

use std::hint::black_box;
use std::ops::ControlFlow;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mb_trace::Trace;
use mb_trace::generate::{Halo3dParameters, Plan, PostOrder, TransposeParameters};
use mb_trace::record::RECORD_BYTES;

fn go(_: u32) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn workloads() -> [(&'static str, Plan); 2] {
    let halo = Halo3dParameters { iterations: 260, ..Default::default() };
    let reverse = TransposeParameters { iterations: 2, order: PostOrder::Reverse, ..Default::default() };
    [
        ("halo_64", Plan::of(&halo, 64, 1).expect("parameters of the pattern")),
        ("reverse_256", Plan::of(&reverse, 256, 1).expect("parameters of the pattern")),
    ]
}

fn speed(criterion: &mut Criterion) {
    let directory = std::env::temp_dir().join(format!("mb-trace-bench-{}", std::process::id()));
    for (name, plan) in workloads() {
        let trace: Trace = plan.in_memory();
        let comms = trace.check(go).expect("a good trace");
        let messages = trace.stats(&comms, |_, _| ControlFlow::Continue(())).expect("it is not interrupted").sent;
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(trace.records() * RECORD_BYTES as u64));
        group.bench_function("check", |bench| bench.iter(|| trace.check(go).expect("a good trace")));
        group.throughput(Throughput::Elements(messages));
        group.bench_function("stats", |bench| {
            bench.iter(|| trace.stats(black_box(&comms), |_, _| ControlFlow::Continue(())));
        });
        group.throughput(Throughput::Elements(trace.records()));
        group.bench_function("generate", |bench| {
            bench.iter(|| {
                std::fs::remove_dir_all(&directory).ok();
                plan.write(&directory, go).expect("room on the disk");
            });
        });
        group.finish();
    }
    std::fs::remove_dir_all(&directory).ok();
}

criterion_group!(benches, speed);
criterion_main!(benches);
