// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions per second of 16 coherent cores, and their ratios to the single cores in the same
//! run; ratios depend less on the host than rates.
//!
//! `sharing` is an integer kernel on an array of each hart, which in every 64th of its steps writes a
//! line that its neighbour reads, and adds to a counter of all. `md5` computes the digests of RFC 1321
//! on a stack of each hart. The single cores compute these digests.

#[expect(dead_code, reason = "tests use the other instructions")]
#[path = "../tests/chip/assembler.rs"]
mod assembler;
mod common;
#[path = "common/host.rs"]
mod host;
#[path = "common/rates.rs"]
mod rates;

use assembler::{TEXT, add, addi, andi, atomic, bne, exit, ld, sd, slli, srli, xor};
use host::Host;
use mb_processor::chip::{Chip, ChipConfig, ChipStop, cmp, cmp2, in_order};
use mb_processor::directory::{CoherentMemory, DirectoryConfig};
use mb_processor::system::NoDevice;
use mb_processor::{Memory, Program};
use rates::{Count, Measured, barrel, out_of_order, report};

const CORES: usize = 16;
const DATA: u64 = 0x10_0000;
/// Bytes of the array of a hart.
const ARRAY: u64 = 8192;
const STEPS: u64 = 6000;
const STACK: u64 = 4096;

/// Three instructions wide.
fn wide() -> ChipConfig {
    ChipConfig {
        fetch_width: 3,
        rename_width: 3,
        issue_width: 3,
        commit_width: 3,
        rename_registers: 64,
        instruction_queue: 32,
        ..cmp2(CORES)
    }
}

fn finish(mut chip: Chip, memory: Memory) -> Count {
    let config = DirectoryConfig::gu2011(CORES, 1);
    let mut memory = CoherentMemory::new(&config, memory, NoDevice).expect("caches");
    while chip.run_until(u64::MAX, &mut memory, &mut Host).expect("no fault") != ChipStop::Halted {}
    let mut count = Count { cycles: chip.now(), ..Count::default() };
    for hart in 0..CORES {
        count.committed += chip.statistics(hart).committed;
        count.squashed += chip.statistics(hart).squashed;
    }
    count
}

fn sharing(config: &ChipConfig) -> Count {
    let (array, own, other, left, counter, mask, sum) = (8, 9, 10, 11, 12, 14, 16);
    let mut words = vec![
        slli(13, left, 3),
        0x00e6_f6b3, // and a3, a3, a4
        add(13, 13, array),
        ld(15, 13, 0),
        add(sum, sum, 15),
        xor(sum, sum, left),
        slli(17, sum, 1),
        srli(18, sum, 3),
        xor(sum, 17, 18),
        sd(sum, 13, 0),
        andi(19, left, 63),
        bne(19, 0, 20),
        sd(sum, own, 0),
        ld(20, other, 0),
        add(sum, sum, 20),
        atomic(0, 3, 0, counter, 5),
        addi(left, left, -1),
    ];
    words.push(bne(left, 0, -4 * words.len() as i32));
    words.extend(exit());
    let mut memory = Memory::new(TEXT, (DATA - TEXT + (CORES as u64 + 1) * ARRAY) as usize);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    memory.write(TEXT, &bytes).expect("memory");
    let mut chip = Chip::new(config, TEXT).expect("a configuration");
    for hart in 0..CORES {
        let lines = DATA + CORES as u64 * ARRAY;
        let line = |hart: usize| lines + 64 * (1 + hart % CORES) as u64;
        let registers = [
            (array, DATA + hart as u64 * ARRAY),
            (own, line(hart)),
            (other, line(hart + 1)),
            (left, STEPS),
            (counter, lines),
            (mask, ARRAY - 8),
            (5, 1),
        ];
        for (register, value) in registers {
            chip.set_register(hart, register as usize, value);
        }
    }
    finish(chip, memory)
}

/// Calls `main` on every hart.
fn md5(config: &ChipConfig, program: &Program) -> Count {
    let memory = program.memory(CORES * STACK as usize);
    let top = memory.range().end;
    let symbol = |name| program.symbol(name).expect("a symbol");
    let mut chip = Chip::new(config, symbol("main").address).expect("a configuration");
    let start = symbol("_start");
    for hart in 0..CORES {
        // main returns to the call of exit at the end of _start.
        chip.set_register(hart, 1, start.address + start.bytes - 8);
        chip.set_register(hart, 2, (top & !15) - STACK * hart as u64);
    }
    finish(chip, memory)
}

fn main() {
    let program = &common::program("md5.rv64");
    let program32 = common::program("md5.ppc32");
    let cores: [Measured<'_>; 6] = [
        ("cortex_a72, md5", Box::new(|| out_of_order(program)), None),
        ("barrel, md5", Box::new(|| barrel(&program32)), None),
        ("16 out of order, sharing", Box::new(|| sharing(&wide())), Some((0, 0.5))),
        ("16 in order, sharing", Box::new(|| sharing(&in_order(cmp(CORES)))), Some((1, 0.3))),
        ("16 out of order, md5", Box::new(|| md5(&wide(), program)), Some((0, 0.5))),
        ("16 in order, md5", Box::new(|| md5(&in_order(cmp(CORES)), program)), Some((1, 0.3))),
    ];
    report(&cores, 7);
}
