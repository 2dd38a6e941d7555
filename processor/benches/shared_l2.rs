// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cost on the host of a request to private L1 caches above a shared L2.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mb_core::random::Random;
use mb_processor::Memory;
use mb_processor::shared_l2::{SharedL2, SharedL2Config};
use mb_processor::system::{MemoryAnswer, MemoryRequest, MemorySystem, NoDevice, RequestKind};

const BASE: u64 = 0x1_0000;
/// Requests in a measurement.
const COUNT: u64 = 100_000;

/// Requests of the cores in turn, each repeated until it is accepted. Each core uses `bytes` of its
/// own, of which it stores to `stores` in 16 accesses.
fn requests(cores: usize, bytes: u64, stores: u64) -> Vec<MemoryRequest> {
    let mut random = Random::of(1, &[]);
    (0..COUNT)
        .map(|index| {
            let core = index as usize % cores;
            let address = BASE + core as u64 * bytes + random.below(bytes / 8) * 8;
            let kind = if random.below(16) < stores { RequestKind::Store { value: index } } else { RequestKind::Load };
            MemoryRequest { core, context: 0, tag: index as u32, address, width: 8, kind }
        })
        .collect()
}

/// Makes all requests, `per_cycle` in a cycle; returns the cycles and a sum of values.
fn run(memory: &mut SharedL2, requests: &[MemoryRequest], per_cycle: usize, begin: u64) -> (u64, u64) {
    let (mut cycle, mut sum) = (begin, 0);
    let mut completed = Vec::new();
    for group in requests.chunks(per_cycle) {
        memory.advance(cycle, &mut completed);
        for request in group {
            loop {
                match memory.request(cycle, *request) {
                    MemoryAnswer::Ready { value, .. } => sum ^= value,
                    MemoryAnswer::Pending => {}
                    MemoryAnswer::Retry => {
                        cycle += 1;
                        memory.advance(cycle, &mut completed);
                        continue;
                    }
                    MemoryAnswer::Fault => unreachable!("addresses are inside"),
                }
                break;
            }
        }
        sum ^= completed.drain(..).fold(0, |sum, done| sum ^ done.value);
        cycle += 1;
    }
    (cycle, sum)
}

fn shared_l2(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("shared_l2");
    group.throughput(Throughput::Elements(COUNT));
    // Name, cores, bytes of each core, stores in 16, requests in a cycle.
    let cases = [
        ("hits/1_core", 1, 16 << 10, 0, 2),
        ("hits/8_cores", 8, 16 << 10, 0, 2),
        ("hits_and_stores/1_core", 1, 16 << 10, 4, 2),
        ("hits_and_stores/8_cores", 8, 16 << 10, 4, 2),
        ("misses_to_the_l2/8_cores", 8, 60 << 10, 4, 1),
        ("misses_to_memory/8_cores", 8, 1 << 20, 4, 1),
    ];
    for (name, cores, bytes, stores, per_cycle) in cases {
        let config = SharedL2Config::crowley2000(cores, 1);
        let memory = Memory::new(BASE, cores << 20);
        let mut memory = SharedL2::new(&config, memory, NoDevice).expect("a valid configuration");
        let requests = requests(cores, bytes, stores);
        let (mut cycle, _) = run(&mut memory, &requests, per_cycle, 0);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let (next, sum) = run(&mut memory, &requests, per_cycle, cycle);
                cycle = next;
                black_box(sum)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, shared_l2);
criterion_main!(benches);
