// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Devices and faults: accesses with side effects happen once and in order, and wrong paths have
//! none.

use std::ops::Range;

use mb_processor::chip::{Chip, ChipConfig, ChipObserver, ChipStop, Passage, cmp, in_order, smt};
use mb_processor::predictor::Direction;
use mb_processor::shared_l2::{SharedL2, SharedL2Config};
use mb_processor::system::{Device, DeviceAnswer, MemorySystem};
use mb_processor::{Fault, FixedLatency};

use crate::Console;
use crate::assembler::{DATA, NOP, TEXT, addi, address, bne, divu, exit, jal, ld, memory, mul, sd, store};
use crate::run::{run_guarded, run_until};

/// The page of the device.
const PAGE: u64 = 0x1000_0000;

/// Numbers its reads, and records its accesses: address, and the value of a write.
#[derive(Default)]
struct Recorder {
    reads: u64,
    log: Vec<(u64, Option<u64>)>,
    /// Accesses that wait before each one that is served.
    delay: u64,
    waited: u64,
}

impl Recorder {
    fn serve(&mut self, address: u64, value: Option<u64>) -> DeviceAnswer {
        if self.waited < self.delay {
            self.waited += 1;
            return DeviceAnswer::Wait;
        }
        self.waited = 0;
        self.log.push((address - PAGE, value));
        self.reads += u64::from(value.is_none());
        DeviceAnswer::Value(self.reads)
    }
}

impl Device for Recorder {
    fn range(&self) -> Range<u64> {
        PAGE..PAGE + 0x1000
    }

    fn read(&mut self, _: u64, _: usize, _: u8, address: u64, _: u8) -> DeviceAnswer {
        self.serve(address, None)
    }

    fn write(&mut self, _: u64, _: usize, _: u8, address: u64, _: u8, value: u64) -> DeviceAnswer {
        self.serve(address, Some(value))
    }
}

/// Runs until every hart has ended, and until memory has nothing to do.
fn run<M: MemorySystem>(config: &ChipConfig, mut memory: M) -> (M, Chip) {
    let mut chip = Chip::new(config, TEXT).unwrap();
    loop {
        match run_until(&mut chip, 100_000, &mut memory, &mut Console::default()).unwrap() {
            ChipStop::Exited { .. } => {}
            ChipStop::Halted => break,
            stop => panic!("{stop:?} at {:#x}", chip.pc(0)),
        }
    }
    while let Some(cycle) = memory.next_event() {
        memory.advance(cycle, &mut Vec::new());
    }
    (memory, chip)
}

/// The recorded accesses, and x20 to x23 of hart 0, on both memories and several chips.
fn recorded(words: &[u32], check: impl Fn(&[(u64, Option<u64>)], [u64; 4])) {
    for delay in [0, 7] {
        for mut config in [smt(1), cmp(1), in_order(cmp(1))] {
            config.predictor.direction = Direction::NotTaken;
            let registers = |chip: &Chip| [20, 21, 22, 23].map(|register| chip.register(0, register));
            let device = || Recorder { delay, ..Recorder::default() };
            for latency in [1, 6] {
                let (mut memory, chip) = run(&config, FixedLatency::new(memory(words), device(), 1, 1, latency, 1));
                check(&memory.device_mut().log, registers(&chip));
            }
            let caches = SharedL2Config::crowley2000(1, 1);
            let (memory, chip) = run(&config, SharedL2::new(&caches, memory(words), device()).unwrap());
            check(&memory.device().log, registers(&chip));
        }
    }
}

#[test]
fn device_accesses_happen_once_and_in_program_order() {
    let mut words = address(8, PAGE);
    // The first read has its address last; a write between reads; data of a long instruction.
    words.extend([addi(5, 0, 40), mul(6, 5, 0), crate::assembler::add(6, 6, 8), ld(20, 6, 0), ld(21, 8, 8)]);
    words.extend([mul(7, 5, 5), sd(7, 8, 16), ld(22, 8, 24), store(2, 5, 8, 32), ld(23, 8, 0)]);
    words.extend(exit());
    recorded(&words, |log, registers| {
        let expected = [(0, None), (8, None), (16, Some(1600)), (24, None), (32, Some(40)), (0, None)];
        assert_eq!(log, expected);
        assert_eq!(registers, [1, 2, 3, 4]);
    });
}

#[test]
fn a_load_from_a_device_takes_no_value_of_a_store_in_flight() {
    let mut words = address(8, PAGE);
    words.extend([addi(5, 0, 40), sd(5, 8, 8), ld(20, 8, 8), sd(5, 8, 8), ld(21, 8, 8)]);
    words.extend(exit());
    recorded(&words, |log, registers| {
        assert_eq!(log, [(8, Some(40)), (8, None), (8, Some(40)), (8, None)]);
        assert_eq!(registers[..2], [1, 2]);
    });
}

#[test]
fn a_wrong_path_reads_no_device_and_does_not_fault() {
    // The branch is predicted not taken and depends on a division, so that the wrong path executes
    // for long: device accesses, an access to nothing, an illegal instruction, a jump out of memory.
    let mut words = address(8, PAGE);
    words.extend([addi(5, 0, 9), divu(6, 5, 5), bne(6, 0, 4 * 8)]);
    words.extend([ld(20, 8, 0), sd(5, 8, 8), ld(21, 0, 0), sd(5, 0, 0), ld(22, 8, 16), jal(0, 0x7_0000), 0]);
    words.extend([ld(23, 8, 24)]);
    words.extend(exit());
    recorded(&words, |log, registers| {
        assert_eq!(log, [(24, None)]);
        assert_eq!(registers, [0, 0, 0, 1]);
    });
}

#[test]
fn a_fault_names_hart_cycle_and_instruction_and_comes_after_everything_before_it() {
    let cases: [(&[u32], Fault); 6] = [
        (&[ld(6, 0, 16)], Fault::Access { pc: TEXT + 12, address: 16, bytes: 8 }),
        (&[sd(6, 0, 16)], Fault::Access { pc: TEXT + 12, address: 16, bytes: 8 }),
        (&[0], Fault::Illegal { pc: TEXT + 12, word: 0 }),
        (
            &[jal(0, 0x10_0000 - 16)],
            Fault::Access { pc: TEXT + 12 + 0x10_0000 - 16, address: TEXT + 12 + 0x10_0000 - 16, bytes: 2 },
        ),
        // A misaligned atomic, and one to nothing.
        (
            &[addi(9, 8, 2), crate::assembler::atomic(0, 3, 5, 9, 5)],
            Fault::Access { pc: TEXT + 16, address: DATA + 2, bytes: 8 },
        ),
        (&[crate::assembler::atomic(0, 3, 5, 0, 5)], Fault::Access { pc: TEXT + 12, address: 0, bytes: 8 }),
    ];
    for (faulty, expected) in cases {
        let mut words = address(8, DATA);
        words.push(sd(8, 8, 0));
        words.extend(faulty);
        words.extend([sd(0, 8, 0), NOP, NOP]);
        words.extend(exit());
        let config = smt(2);
        let mut memory = crate::assembler::flat(&words, (1, 2), 1, 1);
        let mut chip = Chip::new(&config, TEXT).unwrap();
        chip.halt(0);
        let fault = run_until(&mut chip, 1000, &mut memory, &mut Console::default()).unwrap_err();
        assert_eq!((fault.hart, fault.core, fault.context, fault.fault), (1, 0, 1, expected));
        // Everything before it has happened, and nothing behind it.
        assert_eq!(memory.bytes(DATA, 8), Some(&DATA.to_le_bytes()[..]));
        assert_eq!(chip.register(1, 8), DATA);
        let (Fault::Illegal { pc, .. } | Fault::Access { pc, .. } | Fault::Code { pc, .. }) = expected;
        assert_eq!(chip.pc(1), pc);
        let text = format!("hart 1 (core 0, context 1), cycle {}: pc {pc:#x}: ", fault.cycle);
        assert!(fault.to_string().starts_with(&text), "{fault}");
    }
}

/// Refuses writes to one address, and records stores.
#[derive(Default)]
pub(crate) struct Guard {
    refused: u64,
    stores: Vec<(usize, u64, u64, u8, u64)>,
}

impl ChipObserver for Guard {
    const RECORDS_PASSAGES: bool = false;

    fn committed(&mut self, _: &Passage, _: u64) {}

    fn may_write(&mut self, _: usize, _: u64, address: u64, _: u8) -> bool {
        address != self.refused
    }

    fn stored(&mut self, hart: usize, pc: u64, address: u64, width: u8, value: u64) {
        self.stores.push((hart, pc, address, width, value));
    }
}

/// A store that an observer refuses faults with its own address and has no effect; so does an atomic. Stores before it
/// are seen once each, also on a memory that takes one store in several cycles.
#[test]
fn a_refused_write_faults_and_has_no_effect() {
    let refused = [sd(5, 8, 64), crate::assembler::atomic(0, 3, 6, 9, 5)];
    for last in refused {
        let mut words = address(8, DATA);
        words.extend([addi(9, 8, 64), addi(5, 0, 7), sd(8, 8, 0), sd(5, 8, 8), sd(5, 8, 16), last]);
        words.extend([sd(0, 8, 0), NOP]);
        words.extend(exit());
        let pc = TEXT + 4 * (words.iter().position(|word| *word == last).unwrap() as u64);
        let mut memory = SharedL2::new(
            &SharedL2Config { write_buffer: 1, ..SharedL2Config::crowley2000(1, 1) },
            memory(&words),
            Recorder::default(),
        )
        .unwrap();
        let mut chip = Chip::new(&smt(1), TEXT).unwrap();
        let mut guard = Guard { refused: DATA + 64, ..Guard::default() };
        let fault = run_guarded(&mut chip, 2000, &mut memory, &mut Console::default(), &mut guard).unwrap_err();
        assert_eq!((fault.hart, fault.fault), (0, Fault::Access { pc, address: DATA + 64, bytes: 8 }));
        let stores = [(0, pc - 12, DATA, 8, DATA), (0, pc - 8, DATA + 8, 8, 7), (0, pc - 4, DATA + 16, 8, 7)];
        assert_eq!(guard.stores, stores);
        assert_eq!(memory.bytes(DATA + 64, 8), Some(&[0; 8][..]));
    }
}

#[test]
fn an_invalid_configuration_is_refused_with_the_parameter() {
    let refused = |change: fn(&mut ChipConfig)| {
        let mut config = smt(8);
        change(&mut config);
        Chip::new(&config, TEXT).err().map(|error| error.to_string())
    };
    for (change, reason) in [
        (
            (|config| config.cores = 0) as fn(&mut ChipConfig),
            "parameter `cores`: found `0`, expected a whole number from 1 to 64 (count)",
        ),
        (|config| config.contexts = 9, "parameter `contexts`: found `9`, expected a whole number from 1 to 8 (count)"),
        (
            |config| config.issue_width = 0,
            "parameter `issue_width`: found `0`, expected a whole number from 1 to 64 (count)",
        ),
        (
            |config| config.reorder_buffer = 65,
            "parameter `reorder_buffer`: found `65`, expected a whole number from 1 to 64 (count)",
        ),
        (
            |config| config.instruction_queue = 0,
            "parameter `instruction_queue`: found `0`, expected a whole number from 1 to 4096 (count)",
        ),
        (
            |config| config.rename_registers = 5000,
            "parameter `rename_registers`: found `5000`, expected a whole number from 1 to 4096 (count)",
        ),
        (|config| config.fetch_block = 24, "fetch_block is 24 bytes; expected a power of two, 4 to 64"),
        (
            |config| config.redirect = 0,
            "parameter `redirect`: found `0`, expected a whole number from 1 to 63 (cycles)",
        ),
        (
            |config| config.latencies.divide = 64,
            "parameter `latency_divide`: found `64`, expected a whole number from 1 to 63 (cycles)",
        ),
        (|config| config.misfetch = 4, "misfetch is 4 cycles; expected 1 to 3, the cycles of front_end"),
        (
            |config| config.predictor.direction = Direction::Perfect,
            "predictor: direction is Perfect; expected one that can be wrong",
        ),
        (
            |config| config.predictor.direction = Direction::Bimodal { entries: 3 },
            "predictor: found 3 counters, expected a power of two",
        ),
    ] {
        let error = refused(change).unwrap();
        assert!(error.contains(reason), "{error}");
    }
    assert_eq!(refused(|config| config.cores = 64), None);
}
