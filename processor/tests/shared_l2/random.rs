// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random requests to random machines: every answer, completion and byte is that of the naive
//! machine. The same comparison notices each planted defect.

use mb_core::random::Random;
use mb_processor::Memory;
use mb_processor::rv64::AtomicKind;
use mb_processor::shared_l2::{L1Config, SharedL2, SharedL2Config};
use mb_processor::system::{CompletedKind, MemoryAnswer, MemoryRequest, MemorySystem, RequestKind};
use proptest::prelude::*;

use super::naive::{Counts, Defect, Naive};
use super::{BASE, Counter};

/// Cycles in which requests are made.
const CYCLES: u64 = 1200;
/// Bytes of memory. The last line is not a whole one.
const BYTES: usize = 0x4010;

fn config(random: &mut Random) -> SharedL2Config {
    let line = random.pick(&[16, 32, 64]);
    let l1 = |random: &mut Random| {
        let ways = random.within(1, 3);
        L1Config {
            bytes: ways * line * random.pick(&[1, 2, 4]),
            ways,
            banks: random.pick(&[1, 2, 8]),
            interleave: random.pick(&[8, line]),
            hit: random.within(1, 3),
            mshrs: random.within(2, 5) as usize,
        }
    };
    SharedL2Config {
        cores: random.within(1, 4) as usize,
        contexts: random.within(1, 3) as usize,
        line,
        instruction: l1(random),
        data: l1(random),
        write_buffer: random.within(1, 6) as usize,
        bus: random.pick(&[8, 16]),
        l2: line * random.pick(&[2, 8, 32]),
        l2_hit: random.within(1, 6),
        l2_interval: random.within(1, 4),
        l2_mshrs: random.within(2, 5) as usize,
        write_backs: random.within(2, 3) as usize,
        memory: random.below(30),
        memory_bus: random.pick(&[1, 4, 16]),
        device: random.below(4),
    }
}

fn address(random: &mut Random, config: &SharedL2Config) -> u64 {
    // A few lines of a few sets, and with some luck the end of memory.
    if random.below(50) == 0 {
        return BASE + BYTES as u64 - 8 * random.within(1, 3);
    }
    let line = random.below(6) + random.pick(&[0, 0, 1]) * config.l2 / config.line;
    BASE + line % 0x100 * config.line + random.below(config.line)
}

fn request(random: &mut Random, config: &SharedL2Config, core: usize, tag: u32) -> MemoryRequest {
    let mut address = address(random, config);
    let mut width = random.pick(&[1, 2, 4, 8]);
    let (value, choice) = (random.next(), random.below(20));
    let kind = match choice {
        0..=8 => RequestKind::Load,
        9..=14 => RequestKind::Store { value },
        15 | 16 => RequestKind::LoadReserved,
        17 => RequestKind::StoreConditional { value },
        18 => {
            let kinds = [
                AtomicKind::Swap,
                AtomicKind::Add,
                AtomicKind::Xor,
                AtomicKind::And,
                AtomicKind::Or,
                AtomicKind::Min,
                AtomicKind::Max,
                AtomicKind::MinUnsigned,
                AtomicKind::MaxUnsigned,
            ];
            RequestKind::Atomic { kind: random.pick(&kinds), operand: value }
        }
        _ => {
            address = Counter::ADDRESS;
            random.pick(&[RequestKind::Load, RequestKind::Store { value: value >> 60 }])
        }
    };
    if choice >= 15 {
        width = random.pick(&[4, 8]);
        address &= !u64::from(width - 1);
        if let RequestKind::Atomic { kind, operand } = kind
            && width == 4
        {
            let kind = RequestKind::Atomic { kind, operand: operand as i32 as u64 };
            return MemoryRequest {
                core,
                context: random.below(config.contexts as u64) as u8,
                tag,
                address,
                width,
                kind,
            };
        }
    }
    let end = BASE + BYTES as u64;
    if (BASE..end).contains(&address) {
        address = address.min(end - u64::from(width));
    }
    MemoryRequest { core, context: random.below(config.contexts as u64) as u8, tag, address, width, kind }
}

/// Compares the two for one seed; describes the first difference.
#[expect(clippy::too_many_lines, reason = "one list of everything that is compared")]
fn compare(seed: u64, defect: Defect) -> Result<Counts, String> {
    let mut random = Random::of(seed, &[]);
    let config = config(&mut random);
    let range = BASE..BASE + BYTES as u64;
    let device = Counter::default();
    let mut model = SharedL2::new(&config, Memory::new(BASE, BYTES), device.clone()).expect("a valid configuration");
    let mut naive = Naive::new(&config, range, device, defect);
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    let mut tag = 0;
    // Harts that wait for an access that is not a plain load, with its tag.
    let mut waiting: Vec<(usize, u8, u32)> = Vec::new();
    let mut cycle = 0;
    let mut left = CYCLES;
    // Dense phases and sparse ones.
    let mut rate = 2;
    while left > 0 || model.next_event().is_some() {
        cycle += 1;
        if left > 0 && random.below(20) == 0 {
            // The model skips cycles, the naive machine does not.
            cycle += random.below(60);
            rate = random.within(1, 6);
        }
        model.advance(cycle, &mut found);
        naive.advance(cycle, &mut expected);
        if found != expected {
            return Err(format!("cycle {cycle}: {found:x?}, expected {expected:x?}"));
        }
        for done in found.drain(..) {
            waiting.retain(|hart| done.source != CompletedKind::Data || hart.2 != done.tag);
            let read = naive.read.iter().find(|read| read.0 == done.tag).map(|read| read.1.clone());
            if done.source == CompletedKind::Dma && model.take_read(done.tag) != read {
                return Err(format!("cycle {cycle}: the bytes of DMA transfer {}", done.tag));
            }
        }
        expected.clear();
        for core in 0..config.cores {
            for context in 0..config.contexts as u8 {
                let found = (model.drained(core, context), model.reserved(core, context));
                if found != (naive.drained(core, context), naive.reserved(core, context)) {
                    return Err(format!("cycle {cycle}: drained, reserved: {found:?} for {core}.{context}"));
                }
            }
        }
        if left == 0 {
            continue;
        }
        left -= 1;
        for core in 0..config.cores {
            while random.below(rate + 1) == 0 {
                tag += 1;
                let request = request(&mut random, &config, core, tag);
                if waiting.iter().any(|hart| (hart.0, hart.1) == (core, request.context)) {
                    continue;
                }
                let (found, expected) = (model.request(cycle, request), naive.request(request));
                if found == MemoryAnswer::Pending && request.kind != RequestKind::Load {
                    waiting.push((core, request.context, tag));
                }
                if found != expected {
                    return Err(format!("cycle {cycle}: {request:x?}: {found:x?}, expected {expected:x?}"));
                }
            }
            if random.below(rate + 1) == 0 {
                let (at, context) = (address(&mut random, &config) & !1, random.below(config.contexts as u64) as u8);
                let (found, expected) = (model.fetch(cycle, core, context, at), naive.fetch(core, context, at));
                if found != expected {
                    return Err(format!("cycle {cycle}: fetch of {at:#x}: {found:?}, expected {expected:?}"));
                }
                if model.code(core, at) != naive.code(core, at) {
                    return Err(format!("cycle {cycle}: the code at {at:#x}"));
                }
            }
            if random.below(100) == 0 {
                model.invalidate_instructions(core);
                naive.invalidate_instructions(core);
            }
        }
        if random.below(100) == 0 {
            let (at, length) = (address(&mut random, &config), random.within(1, 100));
            let bytes: Vec<u8> = (0..length.min(BASE + BYTES as u64 - at)).map(|_| random.next() as u8).collect();
            let write = random.below(3) > 0;
            tag += 1;
            let begun = if write {
                model.dma_write(cycle, tag, at, &bytes)
            } else {
                model.dma_read(cycle, tag, at, bytes.len())
            };
            assert!(begun, "a transfer inside memory");
            naive.dma(tag, at, &bytes, write);
        }
        if random.below(200) == 0 {
            model.device_mut().busy_until = cycle + 30;
            naive.device.busy_until = cycle + 30;
        }
    }
    if model.bytes(BASE, BYTES) != Some(&naive.bytes(BASE, BYTES)) {
        return Err("the bytes at the end".into());
    }
    if model.device().value != naive.device.value {
        return Err("the device at the end".into());
    }
    let statistics = model.statistics();
    let mut counts = Counts { bus: statistics.bus.busy(), memory_bus: statistics.memory.busy(), ..Counts::default() };
    for (data, code) in statistics.data.iter().zip(&statistics.instruction) {
        let parts = [data.hits, data.misses, data.merged, data.forwarded];
        counts.data.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        let parts = [code.hits, code.misses, code.merged];
        counts.code.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    }
    counts.l2 = [statistics.l2.hits, statistics.l2.misses, statistics.l2.merged, statistics.l2.write_backs];
    if counts != naive.counts {
        return Err(format!("{counts:?}, expected {:?}", naive.counts));
    }
    Ok(counts)
}

proptest! {
    #[test]
    fn random_requests_have_the_answers_times_and_values_of_the_naive_machine(seed: u64) {
        let compared = compare(seed, Defect::None);
        prop_assert!(compared.is_ok(), "{compared:?}");
    }
}

#[test]
fn random_requests_reach_every_case() {
    let mut sum = [0; 7];
    for seed in 0..300 {
        let counts = compare(seed, Defect::None).unwrap_or_else(|difference| panic!("seed {seed}: {difference}"));
        let [hits, misses, merged, forwarded] = counts.data;
        let [l2_hits, _, l2_merged, write_backs] = counts.l2;
        let parts = [hits, misses, merged, forwarded, l2_hits, l2_merged, write_backs];
        sum.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    }
    assert!(sum.iter().all(|count| *count > 300), "{sum:?}");
}

#[test]
fn the_comparison_notices_every_planted_defect() {
    for defect in [
        Defect::NoInvalidation,
        Defect::NoInvalidationByDma,
        Defect::SharedForwarding,
        Defect::EarlyValue,
        Defect::LateForwarding,
        Defect::RequestsFirst,
        Defect::KeptReservation,
        Defect::FirstInFirstOut,
        Defect::NoWriteBack,
        Defect::CoherentCode,
    ] {
        let noticed = (0..40).filter(|&seed| compare(seed, defect).is_err()).count();
        assert!(noticed > 0, "{defect:?}");
    }
}
