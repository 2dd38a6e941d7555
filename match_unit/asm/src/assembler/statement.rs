// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The statements of a word: each is read whole before it claims its slot.

use super::cursor::{Cursor, bytes, fields};
use super::{Assembler, ParseResult, Symbol, is_reserved, register_name};
use crate::diagnostic::Span;
use crate::layout::{Combine, CompareOp, ComputeOp, Half, MaskMode, PermuteOp, Rule, STORE_WORDS};
use crate::lexer::{SourceError, TokenKind};
use crate::word::{
    Address, Alu, AluReg, Branch, Chain, Condition, DataCopy, FieldPermute, Merge, Operand2, Output, Pop, Predicate,
    Register, Sections, Slot, Ternary, TernaryReg, TruthTable, WordFault,
};

enum HalfValue {
    Register(AluReg),
    Immediate(u32),
}

/// What an assignment writes.
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
    /// Marks a slot as used by the statement at `span`.
    fn claim(&mut self, slot: Slot, span: Span) -> ParseResult<()> {
        let draft = self.draft();
        let limit = if slot == Slot::Predicate { 2 } else { 1 };
        let used = match slot {
            Slot::Predicate => draft.word.predicate.iter().flatten().count(),
            _ => usize::from(draft.slots[slot as usize].is_some()),
        };
        if used >= limit {
            let times = if limit == 1 { "is already used" } else { "already has two operations" };
            return Err(SourceError {
                span,
                message: format!("the {slot} slot of this word {times}"),
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
                Err(SourceError { span: first, message: "expected a statement".into(), rule: Rule::Syntax })
            }
            Some("nop") => {
                cursor.next += 1;
                Ok(())
            }
            Some("wait") => {
                cursor.next += 1;
                let input = &mut self.draft().word.input;
                if input.needs_input {
                    return Err(SourceError { span: first, message: "`wait` is given twice".into(), rule: Rule::Slot });
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
                    message: format!("branch target {value} is beyond the {STORE_WORDS} words an address can name"),
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
                Err(token.problem(Rule::Slot, "the head of the input FIFO can be tested for `!in.item` only"))
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
            return Err(operator.problem(Rule::Syntax, &format!("`{}` combines comparisons only", operator.text)));
        }
        if cursor.take("in") {
            return self.input(cursor, first, &targets);
        }
        for target in &targets {
            if let TargetKind::Ternary(_, Some(_)) = target.kind {
                let message = "only the input slot permutes 16-bit fields on the way to a ternary register".into();
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
            Err(SourceError { span, message: "no slot writes these together".into(), rule: Rule::Slot })
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
                let message = "the input slot writes one ALU register, one ternary register, both, or `_`".into();
                return Err(SourceError { span: target.span, message, rule: Rule::Slot });
            }
        }
        refuse_guard(cursor, "input")?;
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
            let message = "the copy slot reads ALU registers only".into();
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
            return Err(token.problem(Rule::PredicateReach, &format!("`{text}` writes predicates, not {rd}")));
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
                let message = format!("the {slot} slot writes p{base} to p{} only, not {predicate}", base + 3);
                return Err(SourceError { span: target.span, message, rule: Rule::PredicateReach });
            };
            if enable >> section & 1 == 1 {
                let message = format!("{predicate} is named twice");
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
            refuse_guard(cursor, "comparison")?;
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
            refuse_guard(cursor, "comparison")?;
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
        refuse_guard(cursor, "predicate operation")?;
        self.claim(Slot::Predicate, cursor.since(first))?;
        let table = TruthTable::new(bits).expect("a truth table has four bits");
        let draft = self.draft();
        let unit = usize::from(draft.word.predicate[0].is_some());
        draft.word.predicate[unit] = Some(Merge { a, b, table, rd });
        draft.writes.push((Slot::Predicate, Register::Predicate(rd), span));
        Ok(())
    }

    /// Inputs and truth table of a boolean expression.
    fn logic(&self, cursor: &mut Cursor<'_>) -> ParseResult<(Predicate, Predicate, u8)> {
        // Truth tables of the inputs themselves: bit 2a+b.
        const A: u8 = 0b1100;
        const B: u8 = 0b1010;
        if cursor.take("lut") {
            let place = cursor.here();
            let table = self.expression(cursor)?;
            let a = self.predicate(cursor)?;
            cursor.expect(",")?;
            let b = self.predicate(cursor)?;
            let wide = || SourceError {
                span: place,
                message: format!("a truth table has four bits, {table} does not fit"),
                rule: Rule::Range,
            };
            let bits = u8::try_from(table).ok().filter(|&bits| bits < 16).ok_or_else(wide)?;
            return Ok((a, b, bits));
        }
        if let Some(token) = cursor.peek()
            && let TokenKind::Number(value) = token.kind
        {
            cursor.next += 1;
            return match value {
                0 => Ok((Predicate::TRUE, Predicate::TRUE, 0)),
                1 => Ok((Predicate::TRUE, Predicate::TRUE, 15)),
                _ => Err(token.problem(Rule::Range, "a predicate is 0 or 1")),
            };
        }
        let not = |negated, table: u8| if negated { !table & 15 } else { table };
        let negated_a = cursor.take("!");
        let a = self.predicate(cursor)?;
        let left = not(negated_a, A);
        let Some(operator) = cursor.peek().filter(|t| matches!(t.text, "&" | "|" | "^")).copied() else {
            return Ok((a, Predicate::TRUE, left));
        };
        cursor.next += 1;
        let negated_b = cursor.take("!");
        let b = self.predicate(cursor)?;
        let right = not(negated_b, B);
        let bits = match operator.text {
            "&" => left & right,
            "|" => left | right,
            _ => left ^ right,
        };
        Ok((a, b, bits))
    }

    fn guard(&self, cursor: &mut Cursor<'_>) -> ParseResult<Predicate> {
        if !cursor.take("if") {
            return Ok(Predicate::TRUE);
        }
        if let Some(token) = cursor.peek()
            && token.text == "!"
        {
            return Err(
                token.problem(Rule::Predication, "a guard holds when its predicate is one; merge the complement first")
            );
        }
        self.predicate(cursor)
    }

    fn operand2(&self, cursor: &mut Cursor<'_>) -> ParseResult<Operand2> {
        if cursor.take("{") {
            let upper = self.half(cursor, Half::High)?;
            cursor.expect(",")?;
            let place = cursor.here();
            let lower = self.half(cursor, Half::Low)?;
            cursor.expect("}")?;
            return match (upper, lower) {
                (HalfValue::Register(reg), HalfValue::Immediate(value)) => {
                    Ok(Operand2 { reg, immediate: Some((Half::Low, value)) })
                }
                (HalfValue::Immediate(value), HalfValue::Register(reg)) => {
                    Ok(Operand2 { reg, immediate: Some((Half::High, value)) })
                }
                _ => {
                    let message = "one half must be an immediate and the other a register's, `.hi` or `.lo`".into();
                    Err(SourceError { span: place, message, rule: Rule::Slot })
                }
            };
        }
        if let Some(token) = cursor.peek()
            && token.kind == TokenKind::Name
            && !matches!(self.names.get(token.text), Some((Symbol::Constant(_), _)))
        {
            return Ok(Operand2 { reg: self.alu_register(cursor)?, immediate: None });
        }
        if cursor.at_end() {
            return Err(cursor.missing("a register or constant"));
        }
        Ok(Operand2 { reg: AluReg::ZERO, immediate: Some((Half::Low, self.immediate(cursor)?)) })
    }

    fn half(&self, cursor: &mut Cursor<'_>, half: Half) -> ParseResult<HalfValue> {
        let is_register = match cursor.rest() {
            [name, dot, ..] => name.kind == TokenKind::Name && dot.text == ".",
            _ => false,
        };
        if !is_register {
            return Ok(HalfValue::Immediate(self.immediate(cursor)?));
        }
        let reg = self.alu_register(cursor)?;
        cursor.expect(".")?;
        cursor.expect(if half == Half::High { "hi" } else { "lo" })?;
        Ok(HalfValue::Register(reg))
    }

    fn immediate(&self, cursor: &mut Cursor<'_>) -> ParseResult<u32> {
        let first = cursor.here();
        let value = self.expression(cursor)?;
        let wide = || SourceError {
            span: cursor.since(first),
            message: format!("{value:#x} does not fit the 32-bit immediate; load the halves one after the other"),
            rule: Rule::Range,
        };
        u32::try_from(value).map_err(|_| wide())
    }

    pub(super) fn register(&self, cursor: &mut Cursor<'_>) -> ParseResult<Register> {
        let token = cursor.name("a register")?;
        if let Some(register) = register_name(token.text) {
            return Ok(register);
        }
        match self.names.get(token.text) {
            Some((Symbol::Register(register), _)) => Ok(*register),
            Some((Symbol::Constant(_), _)) => {
                Err(token.problem(Rule::Names, &format!("`{}` is a constant, expected a register", token.text)))
            }
            Some((Symbol::Label(_), _)) => {
                Err(token.problem(Rule::Names, &format!("`{}` is a label, expected a register", token.text)))
            }
            None if is_reserved(token.text) => {
                Err(token.problem(Rule::Syntax, &format!("expected a register, found `{}`", token.text)))
            }
            None => Err(token.problem(Rule::Names, &format!("unknown name `{}`", token.text))),
        }
    }

    fn alu_register(&self, cursor: &mut Cursor<'_>) -> ParseResult<AluReg> {
        let place = cursor.here();
        match self.register(cursor)? {
            Register::Alu(reg) => Ok(reg),
            other => Err(SourceError {
                span: place,
                message: format!("the ALU reads a0 to a15, not {other}"),
                rule: Rule::Slot,
            }),
        }
    }

    /// An operand of a permute, which cannot be an immediate.
    fn permute_register(&self, cursor: &mut Cursor<'_>) -> ParseResult<AluReg> {
        if let Some(token) = cursor.peek()
            && (matches!(token.kind, TokenKind::Number(_))
                || token.text == "{"
                || matches!(self.names.get(token.text), Some((Symbol::Constant(_), _))))
        {
            let message = "a permute has no immediate: the field `imm` holds its byte selectors";
            return Err(token.problem(Rule::ImmediateAndPermute, message));
        }
        self.alu_register(cursor)
    }

    fn ternary_register(&self, cursor: &mut Cursor<'_>) -> ParseResult<TernaryReg> {
        let place = cursor.here();
        match self.register(cursor)? {
            Register::Ternary(reg) => Ok(reg),
            other => Err(SourceError {
                span: place,
                message: format!("the ternary unit reads t0 to t15, not {other}"),
                rule: Rule::Slot,
            }),
        }
    }

    fn predicate(&self, cursor: &mut Cursor<'_>) -> ParseResult<Predicate> {
        let place = cursor.here();
        match self.register(cursor)? {
            Register::Predicate(reg) => Ok(reg),
            other => Err(SourceError {
                span: place,
                message: format!("expected a predicate, found {other}"),
                rule: Rule::Slot,
            }),
        }
    }
}

fn refuse_guard(cursor: &Cursor<'_>, what: &str) -> ParseResult<()> {
    match cursor.peek() {
        Some(token) if token.text == "if" => {
            let article = if what == "input" { "an" } else { "a" };
            Err(token.problem(Rule::Predication, &format!("{article} {what} is not predicated")))
        }
        _ => Ok(()),
    }
}
