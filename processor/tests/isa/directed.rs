// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Single instructions with the results that the manuals define.
//!
//! The tables `ppc32.txt` and `rv64.txt` have four columns: the encoding (by the GNU assembler),
//! the text, the state before, and what differs after. Numbers are hexadecimal. Registers and bytes
//! that are not named before are zero. `m` is the data from its first byte on; `ca` is the carry;
//! `pc` is relative to the instruction, and is that of the next instruction unless named. `fault`
//! is an invalid access, `illegal` an illegal instruction; neither changes anything.

use mb_processor::{Fault, InstructionClass, Isa, Memory, Ppc32, Program, Rv64, Step};

use super::elf::{self, CODE, DATA, DATA_BYTES};
use super::{LinuxCalls, State, Visible};

/// A line of a table, by columns.
pub(crate) struct Line<'a> {
    pub(crate) encoding: &'a str,
    text: &'a str,
    before: &'a str,
    pub(crate) after: &'a str,
}

pub(crate) fn lines(table: &str) -> impl Iterator<Item = Line<'_>> {
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let mut parts = line.splitn(4, '|').map(str::trim);
        let mut part = || parts.next().unwrap_or_else(|| panic!("`{line}`: expected four columns"));
        Line { encoding: part(), text: part(), before: part(), after: part() }
    })
}

fn hex(text: &str) -> u64 {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let value = u64::from_str_radix(digits, 16).unwrap_or_else(|_| panic!("`{text}`: expected a hexadecimal number"));
    if negative { value.wrapping_neg() } else { value }
}

/// The state before or after an instruction.
#[derive(Clone, PartialEq, Debug)]
struct Situation {
    state: State,
    cycle: u64,
    memory: Vec<u8>,
}

/// Index of XER in the registers of a PPC32 state; the carry is one of its bits.
const XER: usize = 34;

/// x0 to x31, f0 to f31, fcsr.
const RV64_REGISTERS: usize = 65;

impl Situation {
    /// Applies the assignments in `text`; `index` maps register names to indices.
    fn change(&mut self, text: &str, index: fn(&str) -> Option<usize>) {
        for word in text.split_whitespace() {
            let (name, value) = word.split_once('=').unwrap_or_else(|| panic!("`{word}`: expected name=value"));
            match (name, index(name)) {
                ("cycle", _) => self.cycle = hex(value),
                ("pc", _) => self.state.pc = CODE.wrapping_add(hex(value)),
                ("ca", _) => self.state.registers[XER] = self.state.registers[XER] & !(1 << 29) | hex(value) << 29,
                ("m", _) => {
                    for (place, digits) in value.as_bytes().chunks(2).enumerate() {
                        self.memory[place] = hex(std::str::from_utf8(digits).expect("digits")) as u8;
                    }
                }
                (_, Some(index)) => self.state.registers[index] = hex(value),
                _ => panic!("unknown name `{name}`"),
            }
        }
    }
}

/// Checks one line; `make` creates a thread with a state.
fn check<H: Visible>(line: &Line, registers: usize, index: fn(&str) -> Option<usize>, make: fn(&Line, &State) -> H) {
    let Line { encoding, text, .. } = line;
    let state = State { pc: CODE, registers: vec![0; registers] };
    let mut before = Situation { state, cycle: 0, memory: vec![0; DATA_BYTES as usize] };
    before.change(line.before, index);
    let mut hart = make(line, &before.state);
    assert_eq!(hart.state(), before.state, "{text}: the initial state");
    let mut memory = Memory::new(DATA, DATA_BYTES as usize);
    memory.write(DATA, &before.memory).expect("equal lengths");
    let mut handler = LinuxCalls { cycle: before.cycle, ..LinuxCalls::default() };

    let result = hart.step(&mut memory, &mut handler);
    let mut expected = before.clone();
    match (line.after, &result) {
        ("illegal", Err(Fault::Illegal { pc: CODE, word })) => assert_eq!(u64::from(*word), hex(encoding), "{text}"),
        ("fault", Err(Fault::Access { pc: CODE, .. })) => {}
        (after, Ok(Step::Retired(retired))) if !["illegal", "fault"].contains(&after) => {
            let bytes = encoding.len() as u64 / 2;
            expected.state.pc += bytes;
            expected.change(after, index);
            assert_eq!((retired.pc, retired.next), (CODE, expected.state.pc), "{text}");
            assert_eq!(u64::from(retired.instruction.bytes), bytes, "{text}");
            check_description(text, &before, &expected, retired);
        }
        _ => panic!("{text}: {result:x?}"),
    }
    let found = Situation {
        state: hart.state(),
        cycle: before.cycle,
        memory: memory.get(DATA, DATA_BYTES as usize).expect("equal lengths").to_vec(),
    };
    assert!(found == expected, "{text}: found {:x?}, expected {:x?}", found.state, expected.state);
}

/// The description of an executed instruction names each changed register, each access, and each
/// branch.
fn check_description(text: &str, before: &Situation, after: &Situation, retired: &mb_processor::Retired) {
    let instruction = retired.instruction;
    let is_rv64 = before.state.registers.len() == RV64_REGISTERS;
    for (index, (before, after)) in before.state.registers.iter().zip(&after.state.registers).enumerate() {
        // A description has LR, CTR, the carry and each field of CR; a state has LR, CTR, XER and
        // CR.
        let numbers: Vec<u8> = match index {
            0..32 => vec![index as u8],
            // RV64: floating-point registers; exceptions accrue without a number.
            32..64 if is_rv64 => vec![index as u8],
            64 if is_rv64 => continue,
            32 | 33 => vec![index as u8 + 8],
            XER => vec![42],
            _ => (32..40).filter(|field| (before ^ after) << (4 * (field - 32)) & 0xf000_0000 != 0).collect(),
        };
        let declared =
            numbers.iter().all(|number| instruction.destinations.iter().any(|register| register.0 == *number));
        // Instructions of class System execute alone, so that they need not declare all registers.
        assert!(
            before == after || declared || instruction.class == InstructionClass::System,
            "{text}: {instruction:?} changed register {index}"
        );
    }
    let accesses =
        matches!(instruction.class, InstructionClass::Load | InstructionClass::Store | InstructionClass::Atomic);
    assert_eq!(accesses, instruction.access > 0, "{text}");
    assert_eq!(accesses, retired.address >= DATA - 1, "{text}: {:#x}", retired.address);
    let jumps = after.state.pc != before.state.pc + u64::from(instruction.bytes);
    assert!(retired.taken || !jumps, "{text}: a jump that is not described as taken");
}

#[test]
fn ppc32_instructions_have_the_results_of_the_manual() {
    let index = |name: &str| match name {
        "lr" => Some(32),
        "ctr" => Some(33),
        "xer" => Some(XER),
        "cr" => Some(35),
        _ => name.strip_prefix('r')?.parse().ok().filter(|index| *index < 32),
    };
    for line in lines(include_str!("ppc32.txt")) {
        check(&line, 36, index, |line, state| {
            // mtlr, mtctr, mtxer, mtcr and r0 are set from r10; the others are arguments or the
            // stack pointer.
            let setup = [0x7d48_03a6, 0x7d49_03a6, 0x7d41_03a6, 0x7d4f_f120, 0x7d40_5378, 0x4800_0000_u32];
            let words = [&[hex(line.encoding) as u32], &setup[..]].concat();
            let code: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            let program = Program::load(&elf::file(Isa::Ppc32, &code)).expect("a program");
            let mut thread = Ppc32::load(&program, 1).expect("of PPC32").remove(0);
            mb_processor::Hart::jump(&mut thread, CODE + 4);
            for register in [32, 33, XER, 35, 0] {
                prepare(&mut thread, 7, state.registers[register]);
            }
            ready(&mut thread, &state.registers[3..11], state.registers[1]);
            thread
        });
    }
}

#[test]
fn rv64_instructions_have_the_results_of_the_manual() {
    let index = |name: &str| match name {
        "zero" => Some(0),
        "ra" => Some(1),
        "sp" => Some(2),
        "fcsr" => Some(64),
        _ => {
            let (name, first) = name.strip_prefix('f').map_or((name, 10), |name| (name, 42));
            name.strip_prefix('a')?.parse().ok().filter(|index| *index < 8).map(|index: usize| index + first)
        }
    };
    for line in lines(include_str!("rv64.txt")) {
        check(&line, RV64_REGISTERS, index, |line, state| {
            // After the instruction, fmv.d.x of fa0 to fa7 and csrw of fcsr, all from a7.
            let bytes = line.encoding.len() / 2;
            let moves = (0..8).map(|index| 0xf208_8053 | (10 + index) << 7).chain([0x0038_9073_u32]);
            let mut code = hex(line.encoding).to_le_bytes()[..bytes].to_vec();
            code.extend(moves.flat_map(u32::to_le_bytes));
            let program = Program::load(&elf::file(Isa::Rv64, &code));
            let mut thread = Rv64::load(&program.expect("a program"), 1).expect("of RV64").remove(0);
            // A step also counts as an executed instruction: only for values that are not zero.
            for (place, register) in (0..).zip((42..50).chain([64])) {
                if state.registers[register] != 0 {
                    mb_processor::Hart::jump(&mut thread, CODE + bytes as u64 + 4 * place);
                    prepare(&mut thread, 7, state.registers[register]);
                }
            }
            ready(&mut thread, &state.registers[10..18], state.registers[2]);
            thread
        });
    }
}

/// Executes one instruction that reads `value` from an argument register.
fn prepare<H: Visible>(hart: &mut H, argument: usize, value: u64) {
    hart.set_argument(argument, value);
    let mut memory = Memory::new(DATA, 0);
    hart.step(&mut memory, &mut LinuxCalls::default()).expect("a move between registers");
}

/// Sets arguments and stack pointer, and jumps to the instruction.
fn ready<H: Visible>(hart: &mut H, arguments: &[u64], stack: u64) {
    for (index, value) in arguments.iter().enumerate() {
        hart.set_argument(index, *value);
    }
    hart.set_stack(stack);
    hart.jump(CODE);
}

#[test]
fn every_instruction_of_the_page_is_in_a_table() {
    let page = include_str!("../../docs/processors.md");
    for (heading, table) in [("### PPC32", include_str!("ppc32.txt")), ("### RV64", include_str!("rv64.txt"))] {
        let section =
            page.split(heading).nth(1).and_then(|rest| rest.split("\n#").next()).expect("a section of the page");
        let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
        let names = rows.flat_map(|row| row.split('|').nth(2).expect("a second column").split([' ', ';']));
        let known: Vec<&str> = lines(table).filter_map(|line| line.text.split([' ', '.']).next()).collect();
        let full: Vec<&str> = lines(table).filter_map(|line| line.text.split(' ').next()).collect();
        let mut count = 0;
        for name in names.filter(|name| !name.is_empty()) {
            count += 1;
            assert!(known.contains(&name) || full.contains(&name), "{heading}: no line has `{name}`");
        }
        assert!(count > 50, "{heading}: only {count} instructions");
    }
}
