// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Operations per second of every engine on this host, at several depths of their lists; see [`rounds`].
//!
//! Short runs, since there are many: a warm-up of 0.1 s and a measurement of 0.4 s each.

mod rounds;

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rounds::{Kept, OPERATIONS, Rounds, structures};

const DEPTHS: [u64; 5] = [0, 16, 128, 1024, 10_000];

fn operations(criterion: &mut Criterion) {
    for choice in structures() {
        let mut group = criterion.benchmark_group(choice.spec());
        group.warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_millis(400)).sample_size(20);
        group.throughput(Throughput::Elements(OPERATIONS));
        for depth in DEPTHS {
            for kept in Kept::ALL {
                // Filled when it is run, not when it is skipped.
                let mut rounds = None;
                group.bench_function(BenchmarkId::new(kept.as_str(), depth), |bencher| {
                    let rounds = rounds.get_or_insert_with(|| Rounds::new(&choice, kept, depth));
                    bencher.iter(|| rounds.round());
                });
            }
        }
        group.finish();
    }
}

criterion_group!(benches, operations);
criterion_main!(benches);
