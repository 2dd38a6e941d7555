// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every structure by itself, followed from change to change; `compare` is the place for side by side.
//!
//! `replace/D`: one of D posted exact receives, chosen at random, is met and posted anew. `scan/D`: a probe whose
//! ignored bits no index serves passes by D messages.

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
            let mut random = 88_172_645_463_325_252_u64;
            group.throughput(Throughput::Elements(1));
            group.bench_function(BenchmarkId::from_parameter(depth), |bencher| {
                bencher.iter(|| {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let bits = ((random >> 32) * depth) >> 32;
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
            assert!(matches!(matcher.post(absent, 0), Ok(Posted::Waiting(_))), "a scan that finds something");
            group.throughput(Throughput::Elements(depth));
            group.bench_function(BenchmarkId::from_parameter(depth), |bencher| bencher.iter(|| matcher.probe(absent)));
        }
    }
}

criterion_group!(benches, replace, scan);
criterion_main!(benches);
