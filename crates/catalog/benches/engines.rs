// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Operations per second of the engines on this host, at several depths of their lists.
//!
//! `posted/D`: D receives with different tags are posted; each round an arrival takes one of them, chosen at random,
//! and it is posted anew. `unexpected/D`: the same with messages. `wildcard/D`: as `posted`, every fourth receive of
//! any source. A round is two operations, each with its completion fetched.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mb_core::{Engine, Envelope, Initiator, MsgId, Op, Pattern, Picos, RecvId};

/// Every way in which an engine computes a search; presets that differ in numbers alone cost the same.
const SPECS: [&str; 8] = [
    "ideal:zero",
    "linear:qsnet2",
    "cam_list:two_level",
    "cam_list:p2l64",
    "alpu:s1",
    "hash_buckets:s2",
    "hash_buckets:ucx",
    "lhs:dimmnet2",
];

const DEPTHS: [u64; 5] = [0, 16, 128, 1024, 10_000];

/// Engine, time and names of a run.
struct Run {
    engine: Box<dyn Engine>,
    now: Picos,
    names: u64,
    done: Vec<mb_core::Completion>,
    random: u64,
}

impl Run {
    fn new(spec: &str) -> Self {
        let choice = mb_catalog::find(spec).expect("the catalog has the engine");
        let engine = choice.build().expect("its presets are right");
        Self { engine, now: Picos::ZERO, names: 0, done: Vec::new(), random: 88_172_645_463_325_252 }
    }

    fn name(&mut self) -> u64 {
        self.names += 1;
        self.names
    }

    /// The next number of Marsaglia's xorshift.
    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    fn offer(&mut self, op: Op) {
        self.engine.offer(self.now, op);
        self.done.clear();
        self.engine.settle(&mut self.done);
        if let Some(completion) = self.done.last() {
            self.now = completion.at;
        }
    }

    fn post(&mut self, tag: u64, any_source: bool) {
        let recv = RecvId(self.name());
        let exact = Pattern::exactly(envelope(tag));
        let initiator = if any_source { None } else { exact.initiator };
        self.offer(Op::Post { recv, pattern: Pattern { initiator, ..exact } });
    }

    fn arrive(&mut self, tag: u64) {
        let msg = MsgId(self.name());
        self.offer(Op::Arrive { msg, envelope: envelope(tag) });
    }
}

fn envelope(tag: u64) -> Envelope {
    Envelope { bits: tag, initiator: Initiator(tag as u32 % 26) }
}

fn operations(criterion: &mut Criterion) {
    for spec in SPECS {
        let mut group = criterion.benchmark_group(spec);
        group.throughput(Throughput::Elements(2));
        for depth in DEPTHS {
            // At depth 0 a round is a post into the empty list and the arrival that takes it.
            let different = depth.max(1);
            for (name, any_of) in [("posted", u64::MAX), ("wildcard", 4)] {
                let mut run = Run::new(spec);
                let is_any = |tag: u64| tag % any_of == any_of - 1;
                for tag in 0..depth {
                    run.post(tag, is_any(tag));
                }
                group.bench_function(BenchmarkId::new(name, depth), |bencher| {
                    bencher.iter(|| {
                        let tag = run.random(different);
                        if depth == 0 {
                            run.post(tag, is_any(tag));
                            run.arrive(tag);
                        } else {
                            run.arrive(tag);
                            run.post(tag, is_any(tag));
                        }
                    });
                });
            }
            let mut run = Run::new(spec);
            for tag in 0..depth {
                run.arrive(tag);
            }
            group.bench_function(BenchmarkId::new("unexpected", depth), |bencher| {
                bencher.iter(|| {
                    let tag = run.random(different);
                    if depth == 0 {
                        run.arrive(tag);
                        run.post(tag, false);
                    } else {
                        run.post(tag, false);
                        run.arrive(tag);
                    }
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, operations);
criterion_main!(benches);
