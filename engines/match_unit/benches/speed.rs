// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Host speed: simulated cycles per second of the match unit, and operations per second of the engine by depth.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mb_core::{Clock, Cycles, Engine, Envelope, Initiator, MsgId, Op, Pattern, Picos, RecvId, Shortcuts};
use mb_kit::Server;
use mb_match_unit::{MatchUnitEngine, MatchUnitParameters, ProgramName};
use mb_unit::layout::{ANY_NID, ANY_PID, Item, MessageHeader, op, options};
use mb_unit::list_manager::{List, ListManagerParameters};
use mb_unit::match_processor::MatchProcessor;
use mb_unit::programs::BuiltinProgram;

const MEMORY: ListManagerParameters = ListManagerParameters::HEMMERT2007;

/// One search of a list of `items` whose last item matches.
fn cycles(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cycles");
    for program in BuiltinProgram::ALL {
        for items in [1, 10, 100] {
            let mut machine = MatchProcessor::new(&program.assemble().words, MEMORY).unwrap();
            for bits in (0..items).rev() {
                let item = Item {
                    bits,
                    care: u64::MAX,
                    nid: ANY_NID,
                    pid: ANY_PID,
                    options: options::VALID | options::PUT | options::TRUNCATE | options::ANY_SOURCE,
                    threshold: 1,
                    ..Item::default()
                };
                machine.lists_mut().append(List::Posted, item, bits, 0);
            }
            let header = MessageHeader { op: op::PUT, ..MessageHeader::default() }.words();
            let before = machine.now();
            machine.search(List::Posted, header, 0, &mut ()).unwrap();
            let first = machine.now();
            machine.search(List::Posted, header, 0, &mut ()).unwrap();
            assert!(first > before);
            group.throughput(Throughput::Elements(machine.now() - first));
            group.bench_function(BenchmarkId::new(program.name(), items), |bencher| {
                bencher.iter(|| machine.search(List::Posted, header, 0, &mut ()).unwrap());
            });
        }
    }
}

/// Posts and arrivals in turn on an engine whose posted list keeps its depth.
fn operations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("operations");
    for depth in [0, 16, 128, 1024] {
        const ROUNDS: u64 = 256;
        group.throughput(Throughput::Elements(2 * ROUNDS));
        group.bench_function(BenchmarkId::new("mpi", depth), |bencher| {
            bencher.iter_batched_ref(
                || filled(depth),
                |engine| {
                    let mut done = Vec::new();
                    for number in 0..ROUNDS {
                        let envelope = Envelope { bits: depth + number, initiator: Initiator(1) };
                        let pattern = Pattern::exactly(envelope);
                        engine.offer(Picos::ZERO, Op::Post { recv: RecvId(depth + number), pattern });
                        engine.offer(Picos::ZERO, Op::Arrive { msg: MsgId(number), envelope });
                        engine.settle(&mut done);
                    }
                    done.len()
                },
                BatchSize::LargeInput,
            );
        });
    }
}

/// An engine with `depth` posted receives that nothing matches.
fn filled(depth: u64) -> Server<MatchUnitEngine> {
    let mut engine = Server::new(MatchUnitEngine::new(mb_testkit::checked(&MatchUnitParameters {
        clock: Clock::from_mhz(500),
        program: ProgramName::Mpi,
        memory_latency: Cycles(10),
        words_per_cycle: 1,
        head_cache: 2,
        reaction: Cycles(1),
        unlink: Cycles(2),
        fifo: 16,
        capacity: 4096,
        spill_latency: Cycles(250),
        commands: 1_000_000_000,
    })));
    for number in 0..depth {
        let pattern = Pattern::exactly(Envelope { bits: number, initiator: Initiator(1) });
        engine.offer(Picos::ZERO, Op::Post { recv: RecvId(number), pattern });
    }
    engine.settle(&mut Vec::new());
    engine
}

criterion_group!(benches, cycles, operations);
criterion_main!(benches);
