// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Host speed: operations per second of the engine by preset and depth of its posted list, one at a
//! time and many at once.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mb_core::{Accepted, Completion, Engine, Envelope, Initiator, MsgId, Op, Pattern, Picos, RecvId};
use mb_list_mt::{ENTRY, ListMt};

const DEPTHS: [u64; 4] = [0, 16, 128, 1024];

/// An engine and its time.
struct SpeedRun {
    engine: ListMt,
    now: Picos,
    done: Vec<Completion>,
}

impl SpeedRun {
    fn offer(&mut self, op: Op) {
        while let Accepted::Busy { retry_at } = self.engine.offer(self.now, op) {
            self.now = retry_at;
            self.engine.run_until(self.now, &mut self.done);
        }
    }

    fn drain(&mut self) {
        while let Some(at) = self.engine.next_event() {
            self.now = at;
            self.engine.run_until(at, &mut self.done);
        }
        self.done.clear();
    }

    /// Posts `count` receives behind `depth` others, and lets their messages arrive.
    fn round(&mut self, depth: u64, count: u64) {
        let envelope = |number| Envelope { bits: depth + number, initiator: Initiator(1) };
        for number in 0..count {
            self.offer(Op::Post { recv: RecvId(depth + number), pattern: Pattern::exactly(envelope(number)) });
        }
        for number in 0..count {
            self.offer(Op::Arrive { msg: MsgId(number), envelope: envelope(number) });
        }
        self.drain();
    }
}

fn operations(criterion: &mut Criterion) {
    for preset in ENTRY.presets {
        let settings = mb_testkit::preset(&ENTRY, preset.name);
        let mut group = criterion.benchmark_group(preset.name);
        for (name, count) in [("alone", 1), ("at_once", 16)] {
            group.throughput(Throughput::Elements(2 * count));
            for depth in DEPTHS {
                let mut run = SpeedRun { engine: ListMt::new(&settings).unwrap(), now: Picos::ZERO, done: Vec::new() };
                for number in 0..depth {
                    let pattern = Pattern::exactly(Envelope { bits: number, initiator: Initiator(1) });
                    run.offer(Op::Post { recv: RecvId(number), pattern });
                }
                run.drain();
                group.bench_function(BenchmarkId::new(name, depth), |bencher| {
                    bencher.iter(|| run.round(depth, count));
                });
            }
        }
        group.finish();
    }
}

criterion_group!(benches, operations);
criterion_main!(benches);
