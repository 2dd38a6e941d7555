// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages replayed per second on one core: shallow queues (64-rank halo) and searches 64 to 512
//! entries deep.
//!
//! The workloads are those of the peers' comparison: w1, w4 and w6 with fewer repetitions (`docs`
//! of `mb_trace::generate` say how to make the full ones). `elem/s` is messages per second, setting
//! up the ranks and engines included, reading and checking the trace not.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mb_replay::{Network, ReplayConfig, replay};
use mb_trace::generate::Plan;

/// Name, pattern, ranks, settings.
type Workload = (&'static str, &'static str, u32, &'static [(&'static str, &'static str)]);

const WORKLOADS: &[Workload] = &[
    ("halo64", "halo3d", 64, &[("iterations", "520"), ("bytes", "4096"), ("compute", "10000")]),
    ("halo1024", "halo3d", 1024, &[("iterations", "32"), ("bytes", "4096"), ("compute", "10000")]),
    ("alltoall256_in_order", "transpose", 256, &[("iterations", "4"), ("bytes", "64"), ("order", "arrival")]),
    ("alltoall256_reverse", "transpose", 256, &[("iterations", "4"), ("bytes", "64"), ("order", "reverse")]),
    ("alltoall1024_reverse", "transpose", 1024, &[("iterations", "1"), ("bytes", "64"), ("order", "reverse")]),
];

fn replay_rate(criterion: &mut Criterion) {
    let config = ReplayConfig::new(Network::preset("slingshot").expect("the default network"));
    let mut group = criterion.benchmark_group("replay");
    group.sample_size(10);
    for (name, pattern, ranks, settings) in WORKLOADS {
        let settings: BTreeMap<_, _> =
            settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let trace = Plan::new(pattern, *ranks, 1, &settings).expect("a known pattern").in_memory();
        let communicators = trace.check(|_| ControlFlow::Continue(())).expect("generated traces have no defects");
        for spec in ["ideal:zero", "linear:qsnet2"] {
            let choice = mb_catalog::find(spec).expect("a known engine");
            let mut run = || {
                let mut build = || choice.build().expect("a preset");
                let go_on = &mut |_, _| ControlFlow::Continue(());
                replay(&trace, &communicators, &mut build, choice.placement(), &config, go_on).expect("not interrupted")
            };
            group.throughput(Throughput::Elements(run().total.sent));
            group.bench_function(BenchmarkId::new(*name, spec), |bencher| bencher.iter(&mut run));
        }
    }
    group.finish();
}

criterion_group!(benches, replay_rate);
criterion_main!(benches);
