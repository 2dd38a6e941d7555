// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The unit executes a word whole when it issues. Here it is held, on random programs with random
//! waits for input, against a second model that has what the paper draws: three stages with latches
//! between them, register files with their port order, forwarding paths, a predicate unit that is a
//! stage late, and a branch that waits for its delay slots.
//!
//! What the model shows beyond the paper's text: the FIFO port writes two stages before a result of
//! the word before it does, so a pop must cancel an older result on its way to the same register.

use std::collections::VecDeque;

use mb_asm::layout::{Combine, CompareOp, ComputeOp, Half, MaskMode};
use mb_asm::word::{
    Address, Alu, AluReg, Branch, ByteSelect, ByteSource, Chain, Condition, DataCopy, FieldPermute, Input, Merge,
    Operand2, Output, Pop, Predicate, Sections, Ternary, TernaryReg, TruthTable, Word,
};
use mb_core::random;
use mb_unit::unit::{FifoHead, FifoTag, InputNeed, MatchUnit, OutputWord};

/// A word of the input FIFO and the cycle from which on it is there.
type Arrival = (u64, FifoHead);

/// What was seen of a run.
#[derive(Debug, PartialEq, Eq, Default)]
struct Seen {
    /// Cycle and address of each issue.
    issues: Vec<(u64, usize)>,
    /// Cycle and word of each write to the output FIFO.
    sent: Vec<(u64, OutputWord)>,
    alu: Vec<u64>,
    ternary: Vec<u64>,
    predicates: Vec<bool>,
}

/// Between the read and the operate stage.
struct Read {
    word: Word,
    first: u64,
    second: u64,
    masked: [u64; 3],
    copied: u64,
}

/// Between the operate and the write stage.
#[derive(Default)]
struct Operated {
    alu: Option<(usize, u64)>,
    ternary: Option<(usize, u64)>,
    sent: Option<OutputWord>,
    /// Comparison results: predicate, result, how it enters.
    compared: Vec<(usize, bool, Combine)>,
    /// Inputs that the predicate unit read.
    merges: Vec<(Merge, bool, bool)>,
}

/// The unit with its stages.
struct Pipeline<'a> {
    words: &'a [Word],
    alu: [u64; 16],
    ternary: [u64; 16],
    predicates: [bool; 16],
    operate: Option<Read>,
    write: Option<Operated>,
    pc: usize,
    /// Delay slots that a taken branch still waits for, and its target.
    branch: Option<(u8, usize)>,
}

fn sections(chain: Chain, enable: Sections) -> Vec<(usize, u64, u32)> {
    let groups = chain.groups().filter(|group| enable.contains(group.high));
    groups.map(|group| (group.high, group.mask(), group.width())).collect()
}

fn extend(value: u64, width: u32) -> i128 {
    let value = i128::from(value);
    if value >> (width - 1) & 1 == 1 { value - (1 << width) } else { value }
}

fn compares(op: CompareOp, first: u64, second: u64, width: u32) -> bool {
    let (one, two) = (extend(first, width), extend(second, width));
    match op {
        CompareOp::Equal => first == second,
        CompareOp::NotEqual => first != second,
        CompareOp::Less => first < second,
        CompareOp::GreaterEqual => first >= second,
        CompareOp::LessEqual => first <= second,
        CompareOp::Greater => first > second,
        CompareOp::LessSigned => one < two,
        CompareOp::GreaterEqualSigned => one >= two,
        CompareOp::LessEqualSigned => one <= two,
        CompareOp::GreaterSigned => one > two,
    }
}

fn computes(op: ComputeOp, chain: Chain, first: u64, second: u64) -> u64 {
    let arithmetic = |subtract: bool| {
        chain.groups().fold(0, |result, group| {
            let (low, width) = (16 * group.low, group.width());
            let of = |word: u64| u128::from((word & group.mask()) >> low);
            let sum = if subtract { of(first) + (1 << width) - of(second) } else { of(first) + of(second) };
            result | ((sum % (1 << width)) as u64) << low
        })
    };
    match op {
        ComputeOp::Add => arithmetic(false),
        ComputeOp::Sub => arithmetic(true),
        ComputeOp::And => first & second,
        ComputeOp::Or => first | second,
        ComputeOp::Xor => first ^ second,
        ComputeOp::AndNot => first & !second,
        ComputeOp::Nor => !(first | second),
    }
}

impl<'a> Pipeline<'a> {
    fn new(words: &'a [Word]) -> Self {
        let mut ternary = [0; 16];
        ternary[0] = u64::MAX;
        let mut predicates = [false; 16];
        predicates[0] = true;
        Self { words, alu: [0; 16], ternary, predicates, operate: None, write: None, pc: 0, branch: None }
    }

    /// The write stage: results go to the files, comparisons and merged predicates to the predicate file.
    fn write_stage(&mut self) -> Option<OutputWord> {
        let done = self.write.take()?;
        if let Some((register, value)) = done.alu {
            self.alu[register] = value;
        }
        if let Some((register, value)) = done.ternary {
            self.ternary[register] = value;
        }
        for (predicate, result, combine) in done.compared {
            let old = self.predicates[predicate];
            self.predicates[predicate] = match combine {
                Combine::Overwrite => result,
                Combine::And => old && result,
                Combine::Or => old || result,
            };
        }
        for (merge, a, b) in done.merges {
            self.predicates[merge.rd.index()] = merge.table.eval(a, b);
        }
        done.sent
    }

    /// The operate stage, after the write stage of the same cycle: predicates are read here, written before.
    fn operate_stage(&mut self) -> Option<Operated> {
        let read = self.operate.take()?;
        let holds = |predicate: Predicate| self.predicates[predicate.index()];
        let mut done = Operated::default();
        match read.word.alu {
            Some(Alu::Compute { op, guard, rd, chain, .. }) => {
                let value = computes(op, chain, read.first, read.second);
                done.alu = holds(guard).then_some((rd.index(), value));
            }
            Some(Alu::Permute { guard, rd, select, .. }) => {
                let value = select.apply(read.first, read.second);
                done.alu = holds(guard).then_some((rd.index(), value));
            }
            Some(Alu::Compare { op, chain, enable, combine, .. }) => {
                for (section, mask, width) in sections(chain, enable) {
                    let low = mask.trailing_zeros();
                    let result = compares(op, (read.first & mask) >> low, (read.second & mask) >> low, width);
                    done.compared.push((8 + section, result, combine));
                }
            }
            None => {}
        }
        if let Some(ternary) = read.word.ternary {
            let [m0, m1, mask] = read.masked;
            let care = if ternary.mode == MaskMode::Care { mask } else { !mask };
            for (section, group, _) in sections(ternary.chain, ternary.enable) {
                done.compared.push((12 + section, m0 & care & group == m1 & care & group, ternary.combine));
            }
        }
        for merge in read.word.predicate.into_iter().flatten() {
            done.merges.push((merge, holds(merge.a), holds(merge.b)));
        }
        if let Some(copy) = read.word.copy
            && holds(copy.guard)
        {
            done.ternary = copy.ternary.map(|register| (register.index(), read.copied));
            done.sent = copy.output.map(|output| OutputWord { word: read.copied, last: output == Output::Last });
        }
        Some(done)
    }

    /// One cycle; `head` is what the input FIFO shows. Tells what was issued, whether it popped, and what was sent.
    fn cycle(&mut self, head: Option<FifoHead>) -> (Option<(usize, bool)>, Option<OutputWord>) {
        let sent = self.write_stage();
        let operated = self.operate_stage();
        let issued = self.read_stage(head, operated.as_ref());
        self.write = operated.map(|mut done| {
            // A pop has written in this cycle what an older word would write in the next.
            if let Some((_, _, pop)) = issued {
                if pop.and_then(|pop| pop.alu).map(AluReg::index) == done.alu.map(|(register, _)| register) {
                    done.alu = None;
                }
                let popped = pop.and_then(|pop| pop.ternary).map(|(register, _)| register.index());
                if popped == done.ternary.map(|(register, _)| register) {
                    done.ternary = None;
                }
            }
            done
        });
        (issued.map(|(at, popped, _)| (at, popped)), sent)
    }

    /// The read stage. Operands come from the files, or from the operate stage of the word before.
    fn read_stage(&mut self, head: Option<FifoHead>, ahead: Option<&Operated>) -> Option<(usize, bool, Option<Pop>)> {
        let at = self.pc;
        let word = self.words[at];
        if word.input.needs_input && head.is_none() {
            return None;
        }
        let alu = |register: AluReg| match ahead.and_then(|ahead| ahead.alu) {
            Some((written, value)) if written == register.index() => value,
            _ => self.alu[register.index()],
        };
        let ternary = |register: TernaryReg| match ahead.and_then(|ahead| ahead.ternary) {
            Some((written, value)) if written == register.index() => value,
            _ => self.ternary[register.index()],
        };
        let (first, second) = match word.alu {
            Some(Alu::Compute { rs1, operand2, .. } | Alu::Compare { rs1, operand2, .. }) => {
                (alu(rs1), operand2.value(alu(operand2.reg)))
            }
            Some(Alu::Permute { rs1, rs2, .. }) => (alu(rs1), alu(rs2)),
            None => (0, 0),
        };
        let masked = word.ternary.map_or([0; 3], |t| [ternary(t.m0), ternary(t.m1), ternary(t.mask)]);
        let copied = word.copy.map_or(0, |copy| alu(copy.rs));
        self.operate = Some(Read { word, first, second, masked, copied });

        // The branch reads its predicate in its second cycle. Nothing else can move it in between
        // but the word before it, whose results are in the latch to the write stage.
        let wanted = word.branch.is_some_and(|branch| match branch.condition {
            Condition::Always => true,
            Condition::If(predicate) => self.after(predicate, ahead),
            Condition::Unless(predicate) => !self.after(predicate, ahead),
            Condition::NoItem => head.is_some_and(|head| head.tag != FifoTag::Item),
        });
        self.pc += 1;
        match &mut self.branch {
            Some((slots, target)) => {
                *slots -= 1;
                if *slots == 0 {
                    self.pc = *target;
                    self.branch = None;
                }
            }
            None if wanted => self.branch = word.branch.map(|branch| (2, branch.target.index())),
            None => {}
        }

        // Read before write: the FIFO ports write at the end of the cycle.
        if let (Some(pop), Some(head)) = (word.input.pop, head) {
            if let Some(register) = pop.alu {
                self.alu[register.index()] = head.word;
            }
            if let Some((register, permute)) = pop.ternary {
                self.ternary[register.index()] = permute.apply(head.word);
            }
        }
        Some((at, word.input.pop.is_some(), word.input.pop))
    }

    /// A predicate once the word in the operate stage has written.
    fn after(&self, predicate: Predicate, ahead: Option<&Operated>) -> bool {
        let mut value = self.predicates[predicate.index()];
        let Some(ahead) = ahead else { return value };
        for &(written, result, combine) in ahead.compared.iter().filter(|(written, ..)| *written == predicate.index()) {
            debug_assert_eq!(written, predicate.index());
            value = match combine {
                Combine::Overwrite => result,
                Combine::And => value && result,
                Combine::Or => value || result,
            };
        }
        for (merge, a, b) in ahead.merges.iter().filter(|(merge, ..)| merge.rd == predicate) {
            value = merge.table.eval(*a, *b);
        }
        value
    }
}

fn run_pipeline(words: &[Word], arrivals: &[Arrival], cycles: u64) -> Seen {
    let mut pipeline = Pipeline::new(words);
    let mut fifo: VecDeque<Arrival> = arrivals.iter().copied().collect();
    let mut seen = Seen::default();
    for cycle in 0..cycles + 2 {
        let head = fifo.front().filter(|(at, _)| *at <= cycle).map(|(_, head)| *head);
        if cycle >= cycles {
            // Two more cycles empty the pipeline.
            let sent = pipeline.write_stage();
            pipeline.write = pipeline.operate_stage();
            seen.sent.extend(sent.map(|sent| (cycle, sent)));
            continue;
        }
        let (issued, sent) = pipeline.cycle(head);
        seen.sent.extend(sent.map(|sent| (cycle, sent)));
        if let Some((at, popped)) = issued {
            seen.issues.push((cycle, at));
            if popped {
                fifo.pop_front();
            }
        }
    }
    seen.alu = pipeline.alu.to_vec();
    seen.ternary = pipeline.ternary.to_vec();
    seen.predicates = pipeline.predicates.to_vec();
    seen
}

fn run_unit(words: &[Word], arrivals: &[Arrival], cycles: u64) -> Seen {
    let mut unit = MatchUnit::new(words);
    let mut fifo: VecDeque<Arrival> = arrivals.iter().copied().collect();
    let mut seen = Seen::default();
    for cycle in 0..cycles {
        let head = fifo.front().filter(|(at, _)| *at <= cycle).map(|(_, head)| *head);
        if head.is_none() && unit.need() != Some(InputNeed::Nothing) {
            continue;
        }
        let issued = unit.issue(head.unwrap_or(FifoHead { word: 0, tag: FifoTag::End }));
        seen.issues.push((cycle, usize::from(issued.at)));
        seen.sent.extend(issued.sent.map(|sent| (cycle + 2, sent)));
        if issued.popped {
            fifo.pop_front();
        }
    }
    let state = unit.state();
    seen.alu = state.alu.to_vec();
    seen.ternary = state.ternary.to_vec();
    seen.predicates = (0..16).map(|predicate| state.predicates >> predicate & 1 == 1).collect();
    seen
}

/// Numbers without a pattern.
struct Random(random::Random);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.next()
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0.below(limit)
    }

    fn yes(&mut self) -> bool {
        self.below(2) == 1
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        self.0.pick(choices)
    }

    /// Few registers, so that words meet on them.
    fn alu(&mut self) -> AluReg {
        AluReg::new(self.below(5) as u8).unwrap()
    }

    fn ternary(&mut self) -> TernaryReg {
        TernaryReg::new(self.below(5) as u8).unwrap()
    }

    fn predicate(&mut self) -> Predicate {
        Predicate::new(self.of(&[0, 1, 2, 3, 8, 9, 11, 12, 15])).unwrap()
    }

    fn value(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(3),
            1 => u64::MAX - self.below(3),
            2 => self.next() << 17 ^ self.next(),
            _ => self.below(4) << 16 | self.below(4) << 48 | self.below(2) << 31,
        }
    }

    fn chain(&mut self) -> Chain {
        Chain::new(self.below(8) as u8).unwrap()
    }

    fn operand2(&mut self) -> Operand2 {
        let half = self.of(&[None, Some(Half::Low), Some(Half::High)]);
        Operand2 { reg: self.alu(), immediate: half.map(|half| (half, self.value() as u32)) }
    }

    /// The highest sections of some groups; never none.
    fn enable(&mut self, chain: Chain) -> Sections {
        let ends = (0..4).filter(|&section| chain.ends_at(section)).fold(0, |bits, section| bits | 1 << section);
        let some = ends & self.below(16) as u8;
        Sections::new(if some == 0 { ends } else { some }).unwrap()
    }

    fn alu_slot(&mut self) -> Option<Alu> {
        let chain = self.chain();
        match self.below(6) {
            0 => None,
            1 | 2 => Some(Alu::Compare {
                op: self.of(&[
                    CompareOp::Equal,
                    CompareOp::NotEqual,
                    CompareOp::Less,
                    CompareOp::GreaterEqual,
                    CompareOp::LessEqual,
                    CompareOp::Greater,
                    CompareOp::LessSigned,
                    CompareOp::GreaterEqualSigned,
                    CompareOp::LessEqualSigned,
                    CompareOp::GreaterSigned,
                ]),
                rs1: self.alu(),
                operand2: self.operand2(),
                chain,
                enable: self.enable(chain),
                combine: self.of(&[Combine::Overwrite, Combine::And, Combine::Or]),
            }),
            3 => Some(Alu::Permute {
                guard: self.predicate(),
                rd: self.alu(),
                rs1: self.alu(),
                rs2: self.alu(),
                select: ByteSelect::new(std::array::from_fn(|_| match self.below(3) {
                    0 => ByteSource::Zero,
                    1 => ByteSource::First(self.below(8) as u8),
                    _ => ByteSource::Second(self.below(8) as u8),
                })),
            }),
            _ => {
                let op = self.of(&[
                    ComputeOp::Add,
                    ComputeOp::Sub,
                    ComputeOp::And,
                    ComputeOp::Or,
                    ComputeOp::Xor,
                    ComputeOp::AndNot,
                    ComputeOp::Nor,
                ]);
                let chain = if op.is_logic() { Chain::SPLIT } else { chain };
                let (guard, rd, rs1) = (self.predicate(), self.alu(), self.alu());
                Some(Alu::Compute { op, guard, rd, rs1, operand2: self.operand2(), chain })
            }
        }
    }

    fn word(&mut self, size: u64) -> Word {
        let chain = self.chain();
        let ternary = self.yes().then(|| Ternary {
            m0: self.ternary(),
            m1: self.ternary(),
            mask: self.ternary(),
            mode: self.of(&[MaskMode::Ignore, MaskMode::Care]),
            chain,
            enable: self.enable(chain),
            combine: self.of(&[Combine::Overwrite, Combine::And, Combine::Or]),
        });
        let merge = |random: &mut Self| Merge {
            a: random.predicate(),
            b: random.predicate(),
            table: TruthTable::new(random.below(16) as u8).unwrap(),
            rd: Predicate::new(1 + random.below(3) as u8).unwrap(),
        };
        let predicate = match self.below(3) {
            0 => [None, None],
            1 => [Some(merge(self)), None],
            _ => [Some(merge(self)), Some(merge(self))],
        };
        let pop = self.yes().then(|| Pop {
            alu: self.yes().then(|| self.alu()),
            ternary: self.yes().then(|| (self.ternary(), FieldPermute::from_bits(self.next() as u8))),
        });
        let condition = match self.predicate() {
            Predicate::TRUE if self.yes() => Condition::Always,
            Predicate::TRUE => Condition::NoItem,
            predicate if self.yes() => Condition::If(predicate),
            predicate => Condition::Unless(predicate),
        };
        let branch = (self.below(4) == 0)
            .then(|| Branch { condition, target: Address::new(self.below(size - 2) as usize).unwrap() });
        let copy = self.yes().then(|| DataCopy {
            guard: self.predicate(),
            rs: self.alu(),
            ternary: self.yes().then(|| self.ternary()),
            output: self.of(&[None, Some(Output::More), Some(Output::Last)]),
        });
        let needs_input = pop.is_some() || branch.is_some_and(|branch| branch.condition == Condition::NoItem);
        let input = Input { needs_input: needs_input || self.below(8) == 0, pop };
        Word { input, alu: self.alu_slot(), ternary, predicate, branch, copy }
    }

    /// A word that the instruction set allows.
    fn sound_word(&mut self, size: u64) -> Word {
        loop {
            let word = self.word(size);
            if word.faults().is_empty() {
                return word;
            }
        }
    }
}

#[test]
fn a_word_executed_whole_is_a_word_that_passes_three_stages() {
    let mut branches = 0;
    let mut waits = 0;
    for seed in 1..=4000 {
        let mut random = Random(random::Random::of(seed, &[]));
        random.next();
        let size = 4 + random.below(24);
        let mut words: Vec<Word> = (0..size - 3).map(|_| random.sound_word(size)).collect();
        let back =
            Branch { condition: Condition::Always, target: Address::new(random.below(size - 2) as usize).unwrap() };
        words.push(Word { branch: Some(back), ..Word::default() });
        words.extend([Word::default(); 2]);
        let mut at = 0;
        let arrivals: Vec<Arrival> = (0..300)
            .map(|_| {
                at += random.of(&[0, 0, 1, 1, 1, 2, 9]);
                (at, FifoHead { word: random.value(), tag: random.of(&[FifoTag::Item, FifoTag::Header]) })
            })
            .collect();
        let (expected, seen) = (run_pipeline(&words, &arrivals, 200), run_unit(&words, &arrivals, 200));
        assert_eq!(seen, expected, "seed {seed}: {words:#?}");
        branches += seen.issues.windows(2).filter(|pair| pair[1].1 != pair[0].1 + 1).count();
        waits += seen.issues.windows(2).filter(|pair| pair[1].0 != pair[0].0 + 1).count();
    }
    assert!(branches > 100_000 && waits > 5_000, "{branches} branches, {waits} waits");
}
