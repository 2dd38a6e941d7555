// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages replayed per second on one core: shallow queues (64-rank halo) and searches 64 to 512
//! entries deep.
//!
//! The workloads are those of the peers' comparison: w1, w4 and w6 with fewer repetitions (`docs`
//! of `mb_trace::generate` say how to make the full ones). `elem/s` is messages per second, setting
//! up the ranks and engines included, reading and checking the trace not.

use std::ops::ControlFlow;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mb_core::Picos;
use mb_replay::{Network, ReplayConfig, replay};
use mb_trace::generate::{Halo3dParameters, Plan, PostOrder, TransposeParameters};

/// Name and plan of each workload.
fn workloads() -> [(&'static str, Plan); 5] {
    let halo = |iterations, ranks| {
        let parameters =
            Halo3dParameters { iterations, bytes: 4096, compute: Picos::from_ns(10_000), ..Default::default() };
        Plan::of(&parameters, ranks, 1).expect("parameters of the pattern")
    };
    let all_to_all = |iterations, ranks, order| {
        let parameters = TransposeParameters { iterations, bytes: 64, order, ..Default::default() };
        Plan::of(&parameters, ranks, 1).expect("parameters of the pattern")
    };
    [
        ("halo64", halo(520, 64)),
        ("halo1024", halo(32, 1024)),
        ("alltoall256_in_order", all_to_all(4, 256, PostOrder::Arrival)),
        ("alltoall256_reverse", all_to_all(4, 256, PostOrder::Reverse)),
        ("alltoall1024_reverse", all_to_all(1, 1024, PostOrder::Reverse)),
    ]
}

fn replay_rate(criterion: &mut Criterion) {
    let config = ReplayConfig::new(Network::preset("slingshot").expect("the default network"));
    let mut group = criterion.benchmark_group("replay");
    group.sample_size(10);
    for (name, plan) in workloads() {
        let trace = plan.in_memory();
        let communicators = trace.check(|_| ControlFlow::Continue(())).expect("generated traces have no defects");
        for spec in ["ideal:zero", "linear:qsnet2"] {
            let choice = mb_catalog::find(spec).expect("a known engine");
            let mut run = || {
                let mut build = || choice.build().expect("a preset");
                let go_on = &mut |_, _| ControlFlow::Continue(());
                replay(&trace, &communicators, &mut build, choice.placement(), &config, go_on).expect("not interrupted")
            };
            group.throughput(Throughput::Elements(run().total.sent));
            group.bench_function(BenchmarkId::new(name, spec), |bencher| bencher.iter(&mut run));
        }
    }
    group.finish();
}

criterion_group!(benches, replay_rate);
criterion_main!(benches);
