// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Each structure alone, to follow its speed from change to change.
//!
//! `replace/D`: one of D posted exact receives, chosen at random, is matched and posted again.
//! `scan/D`: a probe whose ignore bits no index covers compares D messages.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mbmatch::{Envelope, Matcher, Options, Pattern, Posted, Structure};

const DEPTHS: [u64; 4] = [1, 8, 256, 16_384];

fn envelope(bits: u64) -> Envelope {
    Envelope { bits, source: 0 }
}

fn replace(criterion: &mut Criterion) {
    for &structure in Structure::ALL {
        let mut group = criterion.benchmark_group(format!("{structure}/replace"));
        for depth in DEPTHS {
            let mut matcher = Matcher::new(structure, Options::default());
            for bits in 0..depth {
                matcher.post(Pattern::exactly(envelope(bits)), bits).expect("memory");
            }
            let mut random = fastrand::Rng::with_seed(1);
            group.throughput(Throughput::Elements(1));
            group.bench_function(BenchmarkId::from_parameter(depth), |bencher| {
                bencher.iter(|| {
                    let bits = random.u64(..depth);
                    let arrived = matcher.arrive(envelope(bits), bits);
                    (arrived, matcher.post(Pattern::exactly(envelope(bits)), bits))
                });
            });
        }
    }
}

fn scan(criterion: &mut Criterion) {
    for &structure in Structure::ALL {
        let mut group = criterion.benchmark_group(format!("{structure}/scan"));
        for depth in DEPTHS {
            let mut matcher = Matcher::new(structure, Options::default());
            for bits in 0..depth {
                matcher.arrive(envelope(16 + bits), bits).expect("memory");
            }
            let absent = Pattern { bits: 3, ignore: 0xfff0_0000, source: None };
            assert!(matches!(matcher.post(absent, 0), Ok(Posted::Waiting(_))), "the scan finds nothing");
            group.throughput(Throughput::Elements(depth));
            group.bench_function(BenchmarkId::from_parameter(depth), |bencher| bencher.iter(|| matcher.probe(absent)));
        }
    }
}

criterion_group!(benches, replace, scan);
criterion_main!(benches);
