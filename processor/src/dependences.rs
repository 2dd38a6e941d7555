// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shapes against execution: an instruction depends on the registers that it says it reads, and on no other; and it changes
//! none but those that it says it writes.
//!
//! Nothing here knows an instruction: words are those of the tables of `tests/processor`, also with other registers, and states
//! are random.

use mb_core::random;

use super::{Answer, Call, Class, Control, Fault, Hart, Host, Memory, Register, Step};

/// Register numbers of shapes, and their values.
pub(super) type Registers = [u64; Register::LIMIT];

/// A thread whose registers have the numbers of shapes.
pub(super) trait Subject: Hart {
    /// At address 0 of a text that has `word` there.
    fn with(word: u32, registers: &Registers) -> Self;
    fn registers(&self) -> Registers;
    /// Limits a value to the register's width.
    fn fit(register: usize, value: u64) -> u64;
}

/// A host that is never called.
struct Nobody;

impl Host for Nobody {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Call, _: &mut Memory) -> Answer {
        unreachable!("{call:?} is of a class that is left out")
    }
}

/// Enough for the sum of two addresses and most offsets; the other ones are faults, which depend on registers as well.
const BYTES: usize = 0x1000;

/// Numbers that meet in the corners.
struct Random(random::Random);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// Small as often as large: equal values, zeros and signs must occur.
    fn value(&mut self) -> u64 {
        let value = self.next();
        match self.next() >> 62 {
            0 | 1 => value >> 62,
            2 => (value >> 62).wrapping_neg(),
            _ => value,
        }
    }

    /// A multiple of eight in the middle of memory.
    fn address(&mut self) -> u64 {
        0x400 + (self.next() >> 58) * 8
    }
}

/// What one step came to.
type Outcome = (Result<Step, Fault>, Registers, Memory);

fn run<S: Subject>(word: u32, registers: &Registers, memory: &Memory) -> Outcome {
    let mut memory = memory.clone();
    let mut hart = S::with(word, registers);
    let step = hart.step(&mut memory, &mut Nobody);
    (step, hart.registers(), memory)
}

/// Registers outside of `sources` change nothing but themselves; which ones changed something.
fn influence<S: Subject>(word: u32, count: usize, random: &mut Random) -> Vec<Register> {
    let shape = S::with(word, &[0; Register::LIMIT]).shape(0).expect("it is decoded");
    let mut registers = [0; Register::LIMIT];
    let draw = |register: usize, random: &mut Random| {
        // The data of a store, in the last place, may be anything.
        let places = if shape.class == Class::Load { &shape.sources[..] } else { &shape.sources[..2] };
        let address = shape.access > 0 && places.iter().any(|source| usize::from(source.0) == register);
        S::fit(register, if address { random.address() } else { random.value() })
    };
    for (register, value) in registers.iter_mut().enumerate().take(count) {
        *value = draw(register, random);
    }
    let mut memory = Memory::new(0, BYTES);
    let bytes: Vec<u8> = (0..BYTES).map(|_| random.next() as u8).collect();
    memory.write(0, &bytes).expect("it is as long");
    // A conditional store has effects only where there is a reservation.
    if let (Ok(Step::Retired(retired)), ..) = run::<S>(word, &registers, &memory)
        && shape.class == Class::Atomic
    {
        memory.reserve(0, retired.address);
    }
    let (step, after, memory_after) = run::<S>(word, &registers, &memory);
    // A fault leaves all as it was.
    let done = step.is_ok();
    let written = |register| done && shape.destinations.iter().any(|one| usize::from(one.0) == register);
    for register in 0..count {
        assert!(
            after[register] == registers[register] || written(register),
            "{word:#010x} changed register {register}"
        );
    }
    let mut heard = Vec::new();
    for register in 0..count {
        let mut others = registers;
        others[register] = draw(register, random);
        // Its own value shows only where the instruction wrote it.
        let mut expected = after;
        if !written(register) {
            expected[register] = others[register];
        }
        let same = run::<S>(word, &others, &memory) == (step, expected, memory_after.clone());
        if !same {
            let told = shape.sources.iter().any(|source| usize::from(source.0) == register);
            assert!(told, "{word:#010x} depends on register {register}, which is not among {:?}", shape.sources);
            heard.push(Register(register as u8));
        }
    }
    heard
}

/// Checks the words of a table, with `count` registers; `fields` are the bits of a word of two or four bytes that name some.
pub(super) fn check<S: Subject>(table: &str, count: usize, fields: [u32; 2]) {
    let mut random = Random(random::Random::of(1, &[]));
    let mut checked = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let Some(encoding) = line.split_whitespace().next() else { continue };
        let word = u32::from_str_radix(encoding, 16).expect("a hexadecimal number");
        let shape = |word| S::with(word, &[0; Register::LIMIT]).shape(0).filter(|shape| shape.class != Class::System);
        let Some(known) = shape(word) else { continue };
        // Hints have no effect that a register could influence.
        let effects = known.access > 0 || known.control != Control::None || known.destinations[0] != Register::NONE;
        let sources = if effects { &known.sources[..] } else { &[] };
        let mut silent: Vec<Register> = sources.iter().copied().filter(|source| *source != Register::NONE).collect();
        for _ in 0..200 {
            let heard = influence::<S>(word, count, &mut random);
            silent.retain(|register| !heard.contains(register));
            if silent.is_empty() {
                break;
            }
        }
        assert_eq!(silent, [], "{line}: it reads registers without influence");
        let bits = fields[usize::from(encoding.len() == 8)];
        for _ in 0..6 {
            let other = word & !bits | random.next() as u32 & bits;
            if shape(other).is_some() {
                influence::<S>(other, count, &mut random);
            }
        }
        checked += 1;
    }
    assert!(checked > 120, "only {checked} lines");
}
