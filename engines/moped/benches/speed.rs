// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Host speed: operations per second by preset and depth of the posted list; the table has 64 or 256 entries, and
//! deeper lists are those of software.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mb_core::{Envelope, Initiator, MsgId, Op, Pattern, Picos, RecvId, Shortcuts};
use mb_kit::Server;
use mb_moped_engine::{ENTRY, MopedEngine};

const DEPTHS: [u64; 4] = [0, 16, 48, 1024];

/// The post of a receive, or the arrival of its message.
fn operation(number: u64, arrives: bool) -> Op {
    let envelope = Envelope { bits: number, initiator: Initiator(1) };
    if arrives {
        Op::Arrive { msg: MsgId(number), envelope }
    } else {
        Op::Post { recv: RecvId(number), pattern: Pattern::exactly(envelope) }
    }
}

fn operations(criterion: &mut Criterion) {
    for preset in ENTRY.presets {
        let settings = mb_testkit::preset(&ENTRY, preset.name);
        let mut group = criterion.benchmark_group(preset.name);
        group.throughput(Throughput::Elements(2));
        for depth in DEPTHS {
            let mut engine = Server::new(MopedEngine::new(&settings));
            let mut now = Picos::ZERO;
            let mut offer = |op| {
                let answer = engine.answer(now, op).expect("an engine that refuses nothing");
                now = answer.at;
                answer
            };
            for number in 0..depth {
                offer(operation(number, false));
            }
            group.bench_function(BenchmarkId::new("alone", depth), |bencher| {
                bencher.iter(|| [false, true].map(|arrives| offer(operation(depth, arrives))));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, operations);
criterion_main!(benches);
