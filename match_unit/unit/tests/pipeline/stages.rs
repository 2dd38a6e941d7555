// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The second model: the unit with its stages.

use std::collections::VecDeque;

use mb_asm::layout::{Combine, CompareOp, ComputeOp, MaskMode};
use mb_asm::word::{Alu, AluReg, Chain, Condition, Merge, Output, Pop, Predicate, Sections, TernaryReg, Word};
use mb_unit::unit::{FifoHead, FifoTag, OutputWord};

use crate::{Arrival, Seen};

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

pub(crate) fn run_pipeline(words: &[Word], arrivals: &[Arrival], cycles: u64) -> Seen {
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
