// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random programs that end: straight code with forward branches, bounded loops, calls, and accesses
//! to memory of the hart and to memory that the harts share.

use mb_core::random::Random;

use crate::assembler::{
    ECALL, FENCE, NOP, PAUSE, add, addi, atomic, branch, csr, cycle, divu, i, jal, jalr, load, lui, mul, mulw, r, slli,
    store, xor,
};

/// A part of a program.
#[derive(Clone, Copy)]
enum Part {
    Word(u32),
    /// An instruction of two bytes.
    Half(u16),
    /// A conditional branch to a part.
    Branch(u32, u32, u32, usize),
    /// A jump to a part.
    Jump(u32, usize),
}

impl Part {
    fn bytes(&self) -> usize {
        if matches!(self, Self::Half(_)) { 2 } else { 4 }
    }
}

/// What a program may contain.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Content {
    /// Accesses to memory that all harts share.
    pub(crate) shared: bool,
    /// Reads of the cycle counter.
    pub(crate) counter: bool,
}

/// Registers with random values, which need no initial value.
const VALUES: [u32; 8] = [5, 6, 7, 12, 13, 14, 15, 28];
/// Floating-point registers.
const FLOATS: [u32; 6] = [0, 1, 2, 10, 18, 31];
/// The base of the shared memory.
const SHARED: u32 = 8;
/// The counter of loops.
const COUNTER: u32 = 9;
/// A computed address.
const POINTER: u32 = 16;
/// The base of the memory of the hart.
const OWN: u32 = 18;

/// Bytes of the memory of a hart, and of the shared memory before them.
const AREA: u32 = 128;

struct Generator<'a> {
    random: &'a mut Random,
    content: Content,
    parts: Vec<Part>,
}

impl Generator<'_> {
    fn value(&mut self) -> u32 {
        self.random.pick(&VALUES)
    }

    fn word(&mut self, word: u32) {
        self.parts.push(Part::Word(word));
    }

    /// One access with a base register and a small offset, of any alignment.
    fn access(&mut self) {
        let base = if self.random.below(3) == 0 {
            // An address that depends on a value, and is late.
            let source = self.value();
            self.word(i(0x38, source, 7, POINTER, 0x13));
            self.word(add(POINTER, POINTER, OWN));
            POINTER
        } else if self.content.shared && self.random.below(2) == 0 {
            SHARED
        } else {
            OWN
        };
        let offset = if self.random.below(2) == 0 { 8 * self.random.below(4) } else { self.random.below(40) } as i32;
        let value = self.value();
        if self.random.below(2) == 0 {
            let width = self.random.below(7) as u32;
            self.word(load(width, value, base, offset));
        } else {
            let width = self.random.below(4) as u32;
            self.word(store(width, value, base, offset));
        }
    }

    /// Two loads of the same bytes, of which the first has a late address: without order, the second one is earlier.
    fn two_loads(&mut self) {
        let (source, first, second) = (self.value(), self.value(), self.value());
        let offset = 8 * self.random.below(4) as i32;
        self.word(mul(POINTER, source, 0));
        self.word(add(POINTER, POINTER, OWN));
        self.word(load(3, first, POINTER, offset));
        self.word(load(3, second, OWN, offset));
    }

    fn atomic(&mut self) {
        let base = if self.content.shared { SHARED } else { OWN };
        let (value, result) = (self.value(), self.value());
        let width = 2 + self.random.below(2) as u32;
        if self.random.below(3) == 0 {
            self.word(atomic(2, width, result, base, 0));
            if self.random.below(2) == 0 {
                self.simple();
            }
            self.word(atomic(3, width, result, base, value));
        } else {
            let which = self.random.pick(&[0, 1, 4, 8, 12, 16, 20, 24, 28]);
            self.word(atomic(which, width, result, base, value));
        }
    }

    /// An instruction without a branch.
    fn simple(&mut self) {
        let (a, b, d) = (self.value(), self.value(), self.value());
        match self.random.below(27) {
            0..=2 => self.word(add(d, a, b)),
            3..=4 => self.word(xor(d, a, b)),
            5..=6 => {
                let imm = self.random.below(4096) as i32 - 2048;
                self.word(addi(d, a, imm));
            }
            7 => self.word(mul(d, a, b)),
            8 => self.word(mulw(d, a, b)),
            9 => self.word(divu(d, a, b)),
            10 => self.word(slli(d, a, 7)),
            // c.addi d, 1
            11..=12 => self.parts.push(Part::Half((d << 7 | 1 << 2 | 1) as u16)),
            13 => match self.random.below(6) {
                0 => self.word(FENCE),
                1 => self.word(PAUSE),
                2 if self.content.counter => self.word(cycle(d)),
                3 => self.atomic(),
                _ => self.word(NOP),
            },
            14..=19 => self.access(),
            20 => self.two_loads(),
            _ => self.float(),
        }
    }

    /// An instruction of F, D or Zicsr.
    fn float(&mut self) {
        let [a, b, c, d] = [0; 4].map(|_| self.random.pick(&FLOATS));
        let (general, result) = (self.value(), self.value());
        let format = self.random.below(2) as u32;
        let mode = self.random.pick(&[0, 1, 2, 3, 4, 7, 7, 7]);
        let op =
            |function: u32, rs2: u32, rs1: u32, mode: u32, rd: u32| r(function << 2 | format, rs2, rs1, mode, rd, 0x53);
        let word = match self.random.below(20) {
            0..=3 => op(self.random.pick(&[0, 1, 2]), b, a, mode, d),
            4..=5 => {
                let opcode = self.random.pick(&[0x43, 0x47, 0x4b, 0x4f]);
                r(c << 2 | format, b, a, mode, d, opcode)
            }
            6 => op(3, b, a, mode, d),
            7 => op(11, 0, a, mode, d),
            8 => op(self.random.pick(&[4, 5]), b, a, self.random.below(2) as u32, d),
            9 => op(20, b, a, self.random.below(3) as u32, general),
            10 => op(24, self.random.below(4) as u32, a, mode, general),
            11 => op(26, self.random.below(4) as u32, general, mode, d),
            12 => op(8, 1 - format, a, mode, d),
            13 => op(28, 0, a, self.random.below(2) as u32, general),
            14 => op(30, 0, general, 0, d),
            15 => i(8 * self.random.below(4) as i32, OWN, 2 + format, d, 0x07),
            16 => store(2 + format, d, OWN, 4 * self.random.below(8) as i32) + 4,
            17 => csr(2, 0, self.random.pick(&[1, 2, 3]), result),
            18 => csr(self.random.pick(&[1, 2, 3]), general, 1, result),
            // csrrwi of frm, and of fcsr, which resets it.
            _ if self.random.below(3) > 0 => csr(5, self.random.below(5) as u32, 2, result),
            _ => csr(5, self.random.below(32) as u32, 3, result),
        };
        self.word(word);
    }

    fn simples(&mut self, limit: u64) {
        for _ in 0..self.random.below(limit) {
            self.simple();
        }
    }

    /// A piece of straight code, a branch over some of it, a loop, or a call.
    fn piece(&mut self, functions: &[usize]) {
        match self.random.below(5) {
            0 | 1 => {
                let place = self.parts.len();
                self.word(NOP);
                self.simples(8);
                let funct3 = self.random.pick(&[0, 1, 4, 5, 6, 7]);
                self.parts[place] = Part::Branch(funct3, self.value(), self.value(), self.parts.len());
            }
            2 => {
                let times = 1 + self.random.below(5) as i32;
                self.word(addi(COUNTER, 0, times));
                let top = self.parts.len();
                self.simples(8);
                self.word(addi(COUNTER, COUNTER, -1));
                self.parts.push(Part::Branch(1, COUNTER, 0, top));
            }
            3 if !functions.is_empty() => {
                let function = self.random.pick(functions);
                self.parts.push(Part::Jump(1, function));
            }
            _ => self.simples(8),
        }
    }
}

/// A random program as bytes. a0 is the number of the hart.
pub(crate) fn program(random: &mut Random, content: Content, text: u64, data: u64) -> Vec<u8> {
    let mut generator = Generator { random, content, parts: vec![Part::Word(NOP)] };
    let mut functions = Vec::new();
    for _ in 0..generator.random.below(4) {
        functions.push(generator.parts.len());
        generator.simples(10);
        generator.word(jalr(0, 1, 0));
    }
    generator.parts[0] = Part::Jump(0, generator.parts.len());
    generator.word(lui(SHARED, data as u32));
    generator.word(slli(OWN, 10, 7));
    generator.word(add(OWN, OWN, SHARED));
    generator.word(addi(OWN, OWN, AREA as i32));
    for (index, value) in VALUES.into_iter().enumerate() {
        let imm = generator.random.below(4096) as i32 - 2048;
        generator.word(addi(value, if index % 3 == 0 { 10 } else { 0 }, imm));
    }
    for _ in 0..generator.random.below(12) {
        generator.piece(&functions);
    }
    generator.word(addi(17, 0, 93));
    generator.word(ECALL);

    let parts = generator.parts;
    let mut places = vec![0];
    for part in &parts {
        places.push(places.last().unwrap() + part.bytes());
    }
    let mut bytes = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let offset = |target: usize| places[target] as i32 - places[index] as i32;
        match *part {
            Part::Word(word) => bytes.extend(word.to_le_bytes()),
            Part::Half(half) => bytes.extend(half.to_le_bytes()),
            Part::Branch(funct3, a, b, target) => bytes.extend(branch(funct3, a, b, offset(target)).to_le_bytes()),
            Part::Jump(link, target) => bytes.extend(jal(link, offset(target)).to_le_bytes()),
        }
    }
    assert!(text + bytes.len() as u64 <= data && data.is_multiple_of(4096));
    bytes
}
