// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Loads and stores across two pages on chips, against harts without time.

use mb_core::random::Random;
use mb_processor::FixedLatency;
use mb_processor::chip::{self, Chip, ChipConfig, TranslationConfig, blocking, cmp, in_order};
use mb_processor::directory::{CoherentMemory, DirectoryConfig};
use mb_processor::functional::HartState;
use mb_processor::rv64::supervisor::number as csr;
use mb_processor::system::{MemorySystem, NoDevice};

use crate::assembler::{ECALL, NOP, addi, amoadd_w, j, ld, sd};
use crate::harts::{BASE, DATA, HANDLER, SupervisorHarts, TABLE, map_gib, run_chip, trap_of, two_pages};

const fn load(rd: u32, kind: u32, offset: i32, rs1: u32) -> u32 {
    (offset as u32) << 20 | rs1 << 15 | kind << 12 | rd << 7 | 0x03
}

const fn store(rs2: u32, kind: u32, offset: i32, rs1: u32) -> u32 {
    let offset = offset as u32;
    (offset >> 5 & 0x7f) << 25 | rs2 << 20 | rs1 << 15 | kind << 12 | (offset & 31) << 7 | 0x23
}

/// User code at virtual 0; the handler loads what is before and behind the boundary of the pages.
fn program(code: &[u32]) -> SupervisorHarts {
    let mut machine = two_pages(true);
    machine.put(DATA + 0x4000, code);
    let (first, second) = (22, 23);
    let mut handler: Vec<_> = (0..3).map(|word| ld(24 + word as u32, word * 8 - 24, first)).collect();
    handler.extend((0..3).map(|word| ld(27 + word as u32, word * 8, second)));
    // What follows the first page in physical memory is not the second page.
    handler.extend([ld(30, 0, first), addi(17, 0, 0), ECALL]);
    machine.put(HANDLER, &handler);
    let state = machine.start(0, true, true);
    for register in 6..16 {
        state.registers[register] = 0x0101_0101_0101_0101 * register as u64 + 0x1020_3040_5060_7080;
    }
    state.registers[5] = 0x1000;
    (state.registers[22], state.registers[23]) = (DATA + 0x5000, DATA);
    machine
}

fn random_code(random: &mut Random) -> Vec<u32> {
    let length = 4 + random.below(30);
    let mut code: Vec<_> = (0..length)
        .map(|_| {
            let (offset, register) = (random.below(20) as i32 - 12, 6 + random.below(10) as u32);
            match random.below(8) {
                0..=2 => store(register, random.below(4) as u32, offset, 5),
                3..=6 => load(register, random.below(7) as u32, offset, 5),
                _ => addi(register, 6 + random.below(10) as u32, 77),
            }
        })
        .collect();
    code.push(ECALL);
    code
}

fn finish(
    machine: &SupervisorHarts,
    config: &ChipConfig,
    translation: TranslationConfig,
    memory: &mut dyn MemorySystem,
    every: bool,
) -> (HartState, u64) {
    let mut chip = Chip::with_supervisor(config, &translation, &machine.states, 0).expect("a chip");
    chip.simulate_every_cycle(every);
    let stop = run_chip(&mut chip, memory);
    assert!(matches!(stop, chip::ChipStop::Exited { .. }), "{stop:?}");
    (chip.state(0).expect("a precise state"), chip.now())
}

/// On a fixed latency, and for latency 0 on coherent caches.
fn on_chip(
    machine: &SupervisorHarts,
    config: &ChipConfig,
    entries: usize,
    latency: u64,
    every: bool,
) -> (HartState, u64) {
    let translation = TranslationConfig { data_entries: entries, ..TranslationConfig::default() };
    if latency > 0 {
        let mut memory = FixedLatency::new(machine.memory.clone(), NoDevice, 1, 1, latency, 2);
        return finish(machine, config, translation, &mut memory, every);
    }
    let caches = DirectoryConfig::gu2011(1, 1);
    let mut memory = CoherentMemory::new(&caches, machine.memory.clone(), NoDevice).expect("a configuration");
    finish(machine, config, translation, &mut memory, every)
}

#[test]
fn random_accesses_around_a_boundary_are_those_of_harts_without_time() {
    let mut random = Random::of(20, &[1]);
    for round in 0..150 {
        let machine = program(&random_code(&mut random));
        let expected = machine.clone().without_time();
        for config in [cmp(1), in_order(cmp(1)), blocking(cmp(1), 64)] {
            for (entries, latency) in [(1, 3), (64, 1), (64, 17), (2, 0)] {
                let (state, now) = on_chip(&machine, &config, entries, latency, false);
                assert_eq!(state.registers, expected.registers, "round {round} {entries} {latency}");
                assert_eq!(state.retired, expected.retired, "round {round} {entries} {latency}");
                let (_, every) = on_chip(&machine, &config, entries, latency, true);
                assert_eq!(now, every, "round {round} {entries} {latency}");
            }
        }
    }
}

/// At whatever cycle an interrupt comes, what has committed is done, and nothing else.
#[test]
fn an_interrupt_does_not_divide_an_access_across_pages() {
    let mut random = Random::of(20, &[2]);
    let mut inside = 0;
    for round in 0..12 {
        let code = random_code(&mut random);
        let handler_alone = program(&[ECALL]).without_time().retired;
        for config in [cmp(1), in_order(cmp(1)), blocking(cmp(1), 64)] {
            for time in (20..400).step_by(7) {
                let mut machine = program(&code);
                machine.states[0].supervisor.write(csr::SIE, 1 << 5);
                machine.states[0].supervisor.write(csr::STIMECMP, time);
                let (state, _) = on_chip(&machine, &config, 64, 5, false);
                let committed = (state.retired - handler_alone) as usize;
                let mut part = code[..committed].to_vec();
                part.push(ECALL);
                assert_eq!(state.registers, program(&part).without_time().registers, "round {round} at {time}");
                inside += u64::from(committed > 0 && committed + 1 < code.len());
            }
        }
    }
    assert!(inside > 200, "{inside}");
}

/// A load whose address is late, and a later one of one of its bytes, while another hart writes that byte: the later
/// one is not the older one.
#[test]
fn a_later_load_of_the_same_byte_has_no_older_value() {
    const DIVIDE: u32 = 1 << 25 | 6 << 20 | 7 << 15 | 4 << 12 | 7 << 7 | 0x33;
    const SUM: u32 = 7 << 20 | 5 << 15 | 8 << 7 | 0x33;
    let mut seen = [0, 0];
    for delay in 0..160 {
        let mut machine = two_pages(true);
        machine.states.push(machine.states[0]);
        machine.put(DATA + 0x4000, &[DIVIDE, DIVIDE, SUM, ld(10, -4, 8), load(11, 4, -1, 5), ECALL]);
        let mut code = vec![NOP; delay];
        code.extend([store(6, 0, -1, 5), j(0)]);
        machine.put(DATA + 0x4400, &code);
        let state = machine.start(0, true, true);
        (state.registers[5], state.registers[6], state.registers[7]) = (0x1000, 1, 0);
        machine.states[1] = HartState { pc: 0x400, ..machine.states[0] };
        let mut memory = FixedLatency::new(machine.memory.clone(), NoDevice, 2, 1, 9, 2);
        let (state, _) = finish(&machine, &cmp(2), TranslationConfig::default(), &mut memory, false);
        let (older, later) = (state.registers[10] >> 24 & 1, state.registers[11]);
        assert!(older <= later, "{delay}: {older} {later}");
        seen[older as usize] += 1;
    }
    assert!(seen[0] > 20 && seen[1] > 20, "{seen:?}");
}

#[test]
fn a_trap_of_an_access_across_pages_comes_before_any_effect_and_names_the_page() {
    const MISSING: u64 = BASE + (512 << 20);
    // What the second page is: no page, one that cannot be written, one without memory; and the first one missing.
    let low = TABLE + 0x2000;
    for (entry, value, code, cause, address) in [
        (low + 8, 0, sd(6, -4, 5), 15, 0x1000),
        (low + 8, 0, ld(6, -4, 5), 13, 0x1000),
        (low + 8, DATA >> 2 | 0xd3, sd(6, -1, 5), 15, 0x1000),
        (low + 8, MISSING >> 2 | 0xdf, sd(6, -7, 5), 7, 0x1000),
        (low + 8, MISSING >> 2 | 0xdf, ld(6, -7, 5), 5, 0x1000),
        (low + 16, 0, sd(6, -4, 7), 15, 0x2ffc),
        (low + 16, 0, ld(6, -2, 7), 13, 0x2ffe),
    ] {
        let mut machine = two_pages(true);
        machine.entry(low + 24, (DATA + 0x7000) >> 2 | 0xdf);
        machine.entry(entry, value);
        machine.put(DATA + 0x4000, &[code]);
        let state = machine.start(0, true, true);
        (state.registers[5], state.registers[6], state.registers[7]) = (0x1000, u64::MAX, 0x3000);
        let expected = machine.clone().without_time();
        assert_eq!(trap_of(&expected), (cause, 0, address));
        for config in [cmp(1), in_order(cmp(1)), blocking(cmp(1), 64)] {
            for latency in [0, 1, 9] {
                let mut after = machine.clone();
                // The handler shows the last bytes of the first page.
                after.states[0].registers[22] = DATA + 0x5000;
                after.put(HANDLER, &[ld(24, -8, 22), addi(17, 0, 0), ECALL]);
                let (state, _) = on_chip(&after, &config, 64, latency, false);
                assert_eq!(trap_of(&state), (cause, 0, address), "{latency}");
                assert_eq!(state.registers[24], 0, "{latency}");
            }
        }
    }
    // An atomic has to be aligned, in whatever pages it is.
    let mut machine = two_pages(true);
    map_gib(&mut machine, BASE, 0xcf);
    machine.put(DATA + 0x4000, &[amoadd_w(6, 6, 5)]);
    machine.start(0, true, true).registers[5] = 0xffe;
    assert_eq!(trap_of(&on_chip(&machine, &cmp(1), 64, 3, false).0), (6, 0, 0xffe));
}
