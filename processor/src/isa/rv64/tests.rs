// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The declared registers of RV64 instructions, and their effects without state, against execution.

use mb_core::random::Random;

use super::*;
use crate::isa::dependences::{self, NoSyscalls, Registers, Subject};

impl Subject for Rv64 {
    fn with(word: u32, registers: &Registers) -> Self {
        let mut thread = Self::new(Arc::new(DecodedText::new(&(0..2), |_| Operation::decode(word, 0))), 0);
        thread.registers[1..64].copy_from_slice(&registers[1..64]);
        thread
    }

    fn registers(&self) -> Registers {
        std::array::from_fn(|index| if index < 64 { self.registers[index] } else { 0 })
    }

    fn fit(register: usize, value: u64) -> u64 {
        match register {
            0 => 0,
            // Half of the values are boxed for single precision.
            32.. if value.count_ones().is_multiple_of(2) => value | 0xffff_ffff << 32,
            _ => value,
        }
    }
}

#[test]
fn rv64_instructions_declare_the_registers_that_they_read_and_write() {
    let table = include_str!("../../../tests/isa/rv64.txt");
    dependences::check::<Rv64>(table, 64, [0x0ffc, 0x01ff_8f80]);
}

/// Executes `op` at address 0 by its effect alone: `None` for a fault or an effect outside of
/// registers and memory.
fn perform(op: &Operation, registers: &mut Registers, memory: &mut Memory) -> Option<u64> {
    let operands = op.sources().map(|register| registers[usize::from(register)]);
    let mut next = op.instruction().bytes.into();
    let get = |memory: &Memory, address, width: u8| {
        let mut bytes = [0; 8];
        bytes[..width.into()].copy_from_slice(memory.get(address, width.into())?);
        Some(u64::from_le_bytes(bytes))
    };
    let result = match op.evaluate(0, operands, Rounding::NearestEven) {
        Effect::Value(value) | Effect::Float { value, .. } => value,
        Effect::Branch { next: target, link, .. } => {
            next = target;
            link
        }
        Effect::Load { address, width, extension } => extension.extend(get(memory, address, width)?, width),
        Effect::Store { address, width, value } => {
            memory.write(address, &value.to_le_bytes()[..width.into()]).ok()?;
            0
        }
        Effect::Atomic { address, width, kind, operand } => {
            if !address.is_multiple_of(width.into()) {
                return None;
            }
            let old = extend(get(memory, address, width)?, width, true);
            // Without a reservation.
            if kind == AtomicKind::StoreConditional {
                1
            } else {
                let new = kind.combine(old, operand);
                memory.write(address, &new.to_le_bytes()[..width.into()]).expect("bytes that were read");
                old
            }
        }
        Effect::Fence(_) | Effect::Pause => 0,
        _ => return None,
    };
    if op.destination() != 0 {
        registers[usize::from(op.destination())] = result;
    }
    Some(next)
}

#[test]
fn an_effect_applied_to_a_state_is_a_step() {
    let table = include_str!("../../../tests/isa/rv64.txt");
    let words = table.lines().filter(|line| !line.starts_with('#'));
    let words = words.filter_map(|line| u32::from_str_radix(line.split_whitespace().next()?, 16).ok());
    let mut random = Random::of(3, &[]);
    let mut done = 0;
    for word in words {
        let op = Operation::decode(word, 0);
        if op.is_illegal() || op.instruction().class == InstructionClass::System {
            continue;
        }
        for _ in 0..100 {
            let mut registers: Registers = std::array::from_fn(|_| random.next() >> random.below(64));
            registers[0] = 0;
            registers[64..].fill(0);
            // Aligned addresses in memory, as often as others.
            if op.instruction().access > 0 && random.below(2) == 0 {
                registers[usize::from(op.sources()[0])] = 0x400 + 8 * random.below(64);
            }
            let mut memory = Memory::new(0, 0x1000);
            let bytes: Vec<u8> = (0..0x1000).map(|_| random.next() as u8).collect();
            memory.write(0, &bytes).expect("equal lengths");
            let (mut hart, mut stepped) = (Rv64::with(word, &registers), memory.clone());
            let step = hart.step(&mut stepped, &mut NoSyscalls);
            let next = perform(&op, &mut registers, &mut memory);
            assert_eq!(step.is_ok(), next.is_some(), "{word:#010x}");
            if let Some(next) = next {
                let found = (hart.pc(), hart.registers(), stepped.get(0, 0x1000));
                assert_eq!(found, (next, registers, memory.get(0, 0x1000)), "{word:#010x}");
                done += 1;
            }
        }
    }
    assert!(done > 10_000, "only {done} steps");
}

#[test]
fn a_fence_names_what_it_orders() {
    let order = |word| match Operation::decode(word, 0).evaluate(0, [0; 3], Rounding::NearestEven) {
        Effect::Fence(order) => order,
        effect => panic!("{effect:?}"),
    };
    // fence rw, rw; fence iorw, iorw; fence w, r; fence o, i.
    for word in [0x0330_000f, 0x0ff0_000f, 0x0120_000f, 0x0480_000f] {
        assert!(order(word).writes_before_reads(), "{word:#010x}");
    }
    // fence r, rw; fence rw, w; fence w, w; fence.tso.
    for word in [0x0230_000f, 0x0310_000f, 0x0110_000f, 0x8330_000f] {
        assert!(!order(word).writes_before_reads(), "{word:#010x}");
    }
    assert_eq!(order(0x0310_000f), FenceOrder { predecessors: 3, successors: 1, tso: false });
}

#[test]
fn an_atomic_names_its_ordering_bits() {
    // amoadd.w with aq, rl, both, none; and an addition.
    let bits = |word| (Operation::decode(word, 0).acquires(), Operation::decode(word, 0).releases());
    assert_eq!(bits(0x04c5_a52f), (true, false));
    assert_eq!(bits(0x02c5_a52f), (false, true));
    assert_eq!(bits(0x06c5_a52f), (true, true));
    assert_eq!(bits(0x00c5_a52f), (false, false));
    assert_eq!(bits(0x00c5_8533), (false, false));
}
