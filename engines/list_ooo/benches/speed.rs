// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Host speed: operations per second of the engine by depth of its posted list, and instructions
//! per second of its core.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mb_core::{Cycles, Envelope, Initiator, MsgId, Op, Pattern, RecvId};
use mb_list_ooo::ENTRY;
use mb_list_ooo::machine::FirmwareCore;
use mb_list_ooo::parameters::ListOooParts;

const DEPTHS: [u64; 4] = [0, 16, 128, 1024];

/// Posts and arrivals in turn, behind `depth` receives that nothing matches.
fn round(machine: &mut FirmwareCore, depth: u64) {
    let envelope = Envelope { bits: depth, initiator: Initiator(1) };
    machine.serve(&Op::Post { recv: RecvId(depth), pattern: Pattern::exactly(envelope) }, Cycles::ZERO);
    machine.serve(&Op::Arrive { msg: MsgId(0), envelope }, Cycles::ZERO);
}

fn operations(criterion: &mut Criterion) {
    for preset in ENTRY.presets {
        let settings = mb_testkit::preset(&ENTRY, preset.name);
        let mut group = criterion.benchmark_group(preset.name);
        for depth in DEPTHS {
            let mut machine = FirmwareCore::new(&ListOooParts::new(&settings)).unwrap();
            for number in 0..depth {
                let pattern = Pattern::exactly(Envelope { bits: number, initiator: Initiator(1) });
                machine.serve(&Op::Post { recv: RecvId(number), pattern }, Cycles::ZERO);
            }
            group.throughput(Throughput::Elements(2));
            group.bench_function(BenchmarkId::new("operations", depth), |bencher| {
                bencher.iter(|| round(&mut machine, depth));
            });
            let before = machine.statistics().instructions;
            round(&mut machine, depth);
            group.throughput(Throughput::Elements(machine.statistics().instructions - before));
            group.bench_function(BenchmarkId::new("instructions", depth), |bencher| {
                bencher.iter(|| round(&mut machine, depth));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, operations);
criterion_main!(benches);
