// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The cost of the C interface: the engine `linear` built in and as a shared library, on the same operations.
//!
//! `offer` fetches completions by `run_until`, `answer` at once; `replay` is what a comparison uses, with outcomes
//! compared with the reference lists.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mb_catalog::EngineChoice;
use mb_core::{Envelope, Initiator, MsgId, Op, Pattern, Picos, RecvId, ReplayEngine};

/// Receives are posted in blocks of this many, and then their messages arrive.
const DEPTH: u64 = 16;
const OPERATIONS: u64 = 20_000;

type Make = fn(&EngineChoice) -> Box<dyn ReplayEngine>;
type Drive = fn(&mut dyn ReplayEngine, &[Op]) -> Picos;

fn operations() -> Vec<Op> {
    let envelope = |tag| Envelope { bits: tag, initiator: Initiator(1) };
    (0..OPERATIONS)
        .map(|number| {
            let (block, place) = (number / (2 * DEPTH), number % (2 * DEPTH));
            let id = block * DEPTH + place % DEPTH;
            if place < DEPTH {
                Op::Post { recv: RecvId(id), pattern: Pattern::exactly(envelope(place)) }
            } else {
                Op::Arrive { msg: MsgId(id), envelope: envelope(place - DEPTH) }
            }
        })
        .collect()
}

fn by_events(engine: &mut dyn ReplayEngine, ops: &[Op]) -> Picos {
    let (mut now, mut done) = (Picos::ZERO, Vec::new());
    for &op in ops {
        engine.offer(now, op);
        while let Some(event) = engine.next_event() {
            engine.run_until(event, &mut done);
        }
        now = done.last().map_or(now, |last| last.at);
        done.clear();
    }
    now
}

fn by_answers(engine: &mut dyn ReplayEngine, ops: &[Op]) -> Picos {
    ops.iter().fold(Picos::ZERO, |now, &op| engine.answer(now, op).map_or(now, |completion| completion.at))
}

fn bench(criterion: &mut Criterion) {
    // The executable is in `deps`, and the library beside that folder.
    let folder = std::env::current_exe().expect("the benchmark has a path");
    let path = folder.with_file_name("../examples/liboutside_linear.so");
    let path = path.to_string_lossy();
    let outside = mb_own::library::choose(&path, Some("software")).expect("cargo builds the example");
    let inside = mb_catalog::find("linear:software").expect("the engine exists");
    let ops = operations();
    let mut group = criterion.benchmark_group("boundary");
    group.throughput(Throughput::Elements(OPERATIONS));
    let built: Make = |choice| choice.build().expect("the parameters are those of a preset");
    let bare: Make = |choice| match &choice.own {
        Some(own) => own.build_unchecked(&choice.parameters).expect("the parameters are those of a preset"),
        None => choice.build().expect("the parameters are those of a preset"),
    };
    let ways: [(&str, &EngineChoice, Make, Drive); 6] = [
        ("offer/built_in", &inside, built, by_events),
        ("offer/library", &outside, bare, by_events),
        ("answer/built_in", &inside, built, by_answers),
        ("answer/library", &outside, bare, by_answers),
        ("replay/offer/library", &outside, built, by_events),
        ("replay/answer/library", &outside, built, by_answers),
    ];
    for (name, choice, make, run) in ways {
        group.bench_with_input(BenchmarkId::from_parameter(name), &ops, |bencher, ops| {
            bencher.iter(|| run(make(choice).as_mut(), black_box(ops)));
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
