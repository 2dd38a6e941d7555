// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The statements of a word. Each is parsed completely before it claims its slot.

use super::cursor::{Cursor, bytes, fields};
use super::{Assembler, Symbol};
use crate::diagnostic::Span;
use crate::layout::{Combine, CompareOp, ComputeOp, MaskMode, PermuteOp, Rule, STORE_WORDS};
use crate::lexer::{ParseResult, SourceError, TokenKind};
use crate::word::{
    Address, Alu, AluReg, Branch, Chain, Condition, DataCopy, FieldPermute, Merge, Output, Pop, Predicate, Register,
    Sections, Slot, Ternary, TernaryReg, TruthTable, WordFault,
};

/// Destination of an assignment.
#[derive(Clone, Copy)]
struct Target {
    kind: TargetKind,
    span: Span,
}

#[derive(Clone, Copy)]
enum TargetKind {
    Alu(AluReg),
    Ternary(TernaryReg, Option<FieldPermute>),
    Predicate(Predicate),
    Output(Output),
    Discard,
}

impl Assembler {
    /// Assigns a slot of the word to the statement at `span`.
    fn claim(&mut self, slot: Slot, span: Span) -> ParseResult<()> {
        let draft = self.draft();
        let limit = if slot == Slot::Predicate { 2 } else { 1 };
        let used = match slot {
            Slot::Predicate => draft.word.predicate.iter().flatten().count(),
            _ => usize::from(draft.slots[slot as usize].is_some()),
        };
        if used >= limit {
            let times = if limit == 1 { "one" } else { "two" };
            return Err(SourceError {
                span,
                message: format!("found another use of the {slot} slot; expected at most {times} in a word"),
                rule: Rule::Slot,
            });
        }
        draft.slots[slot as usize] = Some(span);
        Ok(())
    }

    pub(super) fn statement(&mut self, cursor: &mut Cursor<'_>) -> ParseResult<()> {
        let first = cursor.here();
        match cursor.peek().map(|token| token.text) {
            None | Some("||") => {
                Err(SourceError { span: first, message: "found no statement; expected one".into(), rule: Rule::Syntax })
            }
            Some("nop") => {
                cursor.next += 1;
                Ok(())
            }
            Some("wait") => {
                cursor.next += 1;
                let input = &mut self.draft().word.input;
                if input.needs_input {
                    return Err(SourceError {
                        span: first,
                        message: "found `wait` twice; expected it once".into(),
                        rule: Rule::Slot,
                    });
                }
                input.needs_input = true;
                Ok(())
            }
            Some("goto") => self.branch(cursor),
            Some(_) => self.assignment(cursor),
        }
    }

    fn branch(&mut self, cursor: &mut Cursor<'_>) -> ParseResult<()> {
        let first = cursor.expect("goto")?.span;
        let place = cursor.here();
        let mut label = None;
        let mut target = Address::default();
        match cursor.peek() {
            Some(token)
                if token.kind == TokenKind::Name
                    && !matches!(self.names.get(token.text), Some((Symbol::Constant(_), _))) =>
            {
                cursor.next += 1;
                label = Some((token.text.to_owned(), token.span));
            }
            _ if cursor.at_end() => return Err(cursor.missing("a label or an address")),
            _ => {
                let value = self.expression(cursor)?;
                let reach = || SourceError {
                    span: place,
                    message: format!("found the branch target {value}; expected an address below {STORE_WORDS}"),
                    rule: Rule::Target,
                };
                target = usize::try_from(value).ok().and_then(Address::new).ok_or_else(reach)?;
            }
        }
        let condition = if cursor.take("if") { self.condition(cursor)? } else { Condition::Always };
        self.claim(Slot::Branch, cursor.since(first))?;
        let draft = self.draft();
        draft.word.branch = Some(Branch { condition, target });
        draft.label = label;
        Ok(())
    }

    fn condition(&self, cursor: &mut Cursor<'_>) -> ParseResult<Condition> {
        let negated = cursor.take("!");
        if let Some(token) = cursor.peek().filter(|token| token.text == "in").copied() {
            cursor.next += 1;
            cursor.expect(".")?;
            cursor.expect("item")?;
            return if negated {
                Ok(Condition::NoItem)
            } else {
                Err(token.problem(Rule::Slot, "found `in.item`, expected `!in.item`: a branch can test only that no item is at the head of the input FIFO"))
            };
        }
        let predicate = self.predicate(cursor)?;
        Ok(match (negated, predicate.is_constant()) {
            (false, true) => Condition::Always,
            (false, false) => Condition::If(predicate),
            (true, _) => Condition::Unless(predicate),
        })
    }

    fn assignment(&mut self, cursor: &mut Cursor<'_>) -> ParseResult<()> {
        let first = cursor.here();
        let mut targets = vec![self.target(cursor)?];
        while cursor.take(",") {
            targets.push(self.target(cursor)?);
        }
        let operator = cursor.any("`=`, `&=` or `|=`")?;
        let combine = Combine::from_text(operator.text)
            .ok_or_else(|| operator.problem(Rule::Syntax, "expected `=`, `&=` or `|=`"))?;
        let comparison = cursor.peek().is_some_and(|t| t.text == "match" || CompareOp::from_text(t.text).is_some());
        if combine != Combine::Overwrite && !comparison {
            return Err(operator.problem(
                Rule::Syntax,
                &format!("found `{}` with another operation; expected a comparison", operator.text),
            ));
        }
        if cursor.take("in") {
            return self.input(cursor, first, &targets);
        }
        for target in &targets {
            if let TargetKind::Ternary(_, Some(_)) = target.kind {
                let message =
                    "found a permutation of 16-bit fields outside of the input slot; expected `in` as its operand"
                        .into();
                return Err(SourceError { span: target.span, message, rule: Rule::Slot });
            }
        }
        let all = |test: fn(&TargetKind) -> bool| targets.iter().all(|target| test(&target.kind));
        if all(|kind| matches!(kind, TargetKind::Predicate(_))) {
            self.predicates(cursor, first, &targets, combine)
        } else if all(|kind| matches!(kind, TargetKind::Ternary(..) | TargetKind::Output(_))) {
            self.copy(cursor, first, &targets)
        } else if let [Target { kind: TargetKind::Alu(rd), span }] = targets[..] {
            self.alu(cursor, first, rd, span)
        } else {
            let span = cursor.until(first, operator);
            Err(SourceError {
                span,
                message: "found targets that no slot writes together; expected those of one slot".into(),
                rule: Rule::Slot,
            })
        }
    }

    fn target(&self, cursor: &mut Cursor<'_>) -> ParseResult<Target> {
        let first = cursor.here();
        let kind = if cursor.take("_") {
            TargetKind::Discard
        } else if cursor.take("out") {
            if cursor.take(".") {
                cursor.expect("last")?;
                TargetKind::Output(Output::Last)
            } else {
                TargetKind::Output(Output::More)
            }
        } else {
            match self.register(cursor)? {
                Register::Alu(reg) => TargetKind::Alu(reg),
                Register::Predicate(reg) => TargetKind::Predicate(reg),
                Register::Ternary(reg) => {
                    TargetKind::Ternary(reg, if cursor.take("[") { Some(fields(cursor)?) } else { None })
                }
            }
        };
        Ok(Target { kind, span: cursor.since(first) })
    }

    fn input(&mut self, cursor: &mut Cursor<'_>, first: Span, targets: &[Target]) -> ParseResult<()> {
        let mut pop = Pop::default();
        let mut writes = Vec::new();
        for target in targets {
            let twice = match target.kind {
                TargetKind::Alu(reg) => {
                    writes.push((Slot::Input, Register::Alu(reg), target.span));
                    pop.alu.replace(reg).is_some()
                }
                TargetKind::Ternary(reg, permute) => {
                    writes.push((Slot::Input, Register::Ternary(reg), target.span));
                    pop.ternary.replace((reg, permute.unwrap_or(FieldPermute::IDENTITY))).is_some()
                }
                TargetKind::Discard => targets.len() > 1,
                TargetKind::Predicate(_) | TargetKind::Output(_) => true,
            };
            if twice {
                let message = "found other destinations of the input slot; expected one ALU register, one ternary \
                               register, both, or `_`"
                    .into();
                return Err(SourceError { span: target.span, message, rule: Rule::Slot });
            }
        }
        reject_guard(cursor, "input")?;
        self.claim(Slot::Input, cursor.since(first))?;
        let draft = self.draft();
        draft.word.input.pop = Some(pop);
        draft.writes.extend(writes);
        Ok(())
    }

    fn copy(&mut self, cursor: &mut Cursor<'_>, first: Span, targets: &[Target]) -> ParseResult<()> {
        let (mut ternary, mut output) = (None, None);
        let mut writes = Vec::new();
        for target in targets {
            let twice = match target.kind {
                TargetKind::Ternary(reg, _) => {
                    writes.push((Slot::Copy, Register::Ternary(reg), target.span));
                    ternary.replace(reg).is_some()
                }
                TargetKind::Output(kind) => output.replace(kind).is_some(),
                TargetKind::Alu(_) | TargetKind::Predicate(_) | TargetKind::Discard => true,
            };
            if twice {
                let message = "the copy slot writes one ternary register, the output FIFO, or both".into();
                return Err(SourceError { span: target.span, message, rule: Rule::Slot });
            }
        }
        let source = cursor.here();
        let Register::Alu(rs) = self.register(cursor)? else {
            let message = "found an operand that is not an ALU register; expected a0 to a15 in a copy".into();
            return Err(SourceError { span: source, message, rule: Rule::Slot });
        };
        let guard = self.guard(cursor)?;
        self.claim(Slot::Copy, cursor.since(first))?;
        let draft = self.draft();
        draft.word.copy = Some(DataCopy { guard, rs, ternary, output });
        draft.writes.extend(writes);
        Ok(())
    }

    fn alu(&mut self, cursor: &mut Cursor<'_>, first: Span, rd: AluReg, target: Span) -> ParseResult<()> {
        let mnemonic = cursor.peek().copied();
        let text = mnemonic.map_or("", |token| token.text);
        let alu = if let Some(op) = ComputeOp::from_text(text) {
            cursor.next += 1;
            let chain = cursor.chain()?;
            if op.is_logic() && chain.is_some() {
                let message = WordFault::ChainInLogic(op).to_string();
                return Err(SourceError { span: cursor.since(first), message, rule: Rule::Slot });
            }
            let rs1 = self.alu_register(cursor)?;
            cursor.expect(",")?;
            let operand2 = self.operand2(cursor)?;
            let chain = if op.is_logic() { Chain::SPLIT } else { chain.unwrap_or(Chain::WHOLE) };
            Alu::Compute { op, guard: self.guard(cursor)?, rd, rs1, operand2, chain }
        } else if PermuteOp::from_text(text).is_some() {
            cursor.next += 1;
            let rs1 = self.permute_register(cursor)?;
            cursor.expect(",")?;
            let rs2 = self.permute_register(cursor)?;
            let select = bytes(cursor)?;
            Alu::Permute { guard: self.guard(cursor)?, rd, rs1, rs2, select }
        } else if let Some(token) = mnemonic
            && (CompareOp::from_text(text).is_some() || text == "match")
        {
            return Err(token.problem(
                Rule::PredicateReach,
                &format!("found {rd} as destination of `{text}`; expected predicates"),
            ));
        } else {
            // Moving a register or loading a constant is an or with a0.
            let operand2 = self.operand2(cursor)?;
            let (op, chain) = (ComputeOp::Or, Chain::SPLIT);
            Alu::Compute { op, guard: self.guard(cursor)?, rd, rs1: AluReg::ZERO, operand2, chain }
        };
        self.claim(Slot::Alu, cursor.since(first))?;
        let draft = self.draft();
        draft.word.alu = Some(alu);
        draft.writes.push((Slot::Alu, Register::Alu(rd), target));
        Ok(())
    }

    fn predicates(
        &mut self,
        cursor: &mut Cursor<'_>,
        first: Span,
        targets: &[Target],
        combine: Combine,
    ) -> ParseResult<()> {
        let text = cursor.peek().map_or("", |token| token.text);
        let (slot, base) = match text {
            "match" => (Slot::Ternary, 12),
            _ if CompareOp::from_text(text).is_some() => (Slot::Alu, 8),
            _ => return self.merge(cursor, first, targets),
        };
        let mut enable = 0;
        let mut writes = Vec::new();
        for target in targets {
            let TargetKind::Predicate(predicate) = target.kind else { continue };
            writes.push((slot, Register::Predicate(predicate), target.span));
            let Some(section) = predicate.index().checked_sub(base).filter(|&section| section < 4) else {
                if predicate.is_constant() {
                    let fault = WordFault::ConstantWritten { slot, register: Register::Predicate(predicate) };
                    return Err(SourceError {
                        span: target.span,
                        message: fault.to_string(),
                        rule: Rule::ConstantRegister,
                    });
                }
                let message =
                    format!("found {predicate}; expected p{base} to p{}, which the {slot} slot writes", base + 3);
                return Err(SourceError { span: target.span, message, rule: Rule::PredicateReach });
            };
            if enable >> section & 1 == 1 {
                let message = format!("found {predicate} twice; expected different predicates");
                return Err(SourceError { span: target.span, message, rule: Rule::TwoWriters });
            }
            enable |= 1 << section;
        }
        let enable = Sections::new(enable).expect("four bits were set");
        cursor.next += 1;
        let chain = cursor.chain()?.unwrap_or(Chain::WHOLE);
        if let Some(op) = CompareOp::from_text(text) {
            let rs1 = self.alu_register(cursor)?;
            cursor.expect(",")?;
            let operand2 = self.operand2(cursor)?;
            reject_guard(cursor, "comparison")?;
            self.claim(slot, cursor.since(first))?;
            self.draft().word.alu = Some(Alu::Compare { op, rs1, operand2, chain, enable, combine });
        } else {
            let m0 = self.ternary_register(cursor)?;
            cursor.expect(",")?;
            let m1 = self.ternary_register(cursor)?;
            let token = cursor.any("`care` or `ignore`")?;
            let mode = MaskMode::from_text(token.text)
                .ok_or_else(|| token.problem(Rule::Syntax, "expected `care` or `ignore` and the mask"))?;
            let mask = self.ternary_register(cursor)?;
            reject_guard(cursor, "comparison")?;
            self.claim(slot, cursor.since(first))?;
            self.draft().word.ternary = Some(Ternary { m0, m1, mask, mode, chain, enable, combine });
        }
        self.draft().writes.extend(writes);
        Ok(())
    }

    fn merge(&mut self, cursor: &mut Cursor<'_>, first: Span, targets: &[Target]) -> ParseResult<()> {
        let [Target { kind: TargetKind::Predicate(rd), span }] = targets[..] else {
            let message = "a logic unit writes one predicate".into();
            return Err(SourceError { span: targets[1].span, message, rule: Rule::Slot });
        };
        let (a, b, bits) = self.logic(cursor)?;
        reject_guard(cursor, "predicate operation")?;
        self.claim(Slot::Predicate, cursor.since(first))?;
        let table = TruthTable::new(bits).expect("a truth table has four bits");
        let draft = self.draft();
        let unit = usize::from(draft.word.predicate[0].is_some());
        draft.word.predicate[unit] = Some(Merge { a, b, table, rd });
        draft.writes.push((Slot::Predicate, Register::Predicate(rd), span));
        Ok(())
    }
}

fn reject_guard(cursor: &Cursor<'_>, what: &str) -> ParseResult<()> {
    match cursor.peek() {
        Some(token) if token.text == "if" => {
            let article = if what == "input" { "an" } else { "a" };
            Err(token.problem(Rule::Predication, &format!("found a guard on {article} {what}; expected none")))
        }
        _ => Ok(()),
    }
}
