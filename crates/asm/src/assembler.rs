// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Text to program. The language is described in `crates/asm/README.md`.
//!
//! Contract: every error that can be told is told in one run, in the order of the lines; never a panic.
//! Names are known from their line on, labels everywhere. Cost: linear in the text.

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, Span};
use crate::layout::{Combine, CompareOp, ComputeOp, Half, MaskMode, PermuteOp, Rule, STORE_WORDS};
use crate::lexer::{Kind, Problem, Token, tokens};
use crate::program::{Program, ProgramFault, Segment, SourceLine};
use crate::word::{
    Address, Alu, AluReg, Branch, ByteSelect, ByteSource, Chain, Condition, DataCopy, Fault, FieldPermute, Merge,
    Operand2, Output, Pop, Predicate, Register, Sections, Slot, Ternary, TernaryReg, TruthTable, Word,
};

/// Longest line, in characters.
pub const LINE_LIMIT: usize = 1000;
/// Errors after which the assembler gives up.
pub const ERROR_LIMIT: usize = 100;

/// Words of the language that cannot be names; mnemonics cannot either.
const KEYWORDS: [&str; 11] = ["wait", "nop", "goto", "if", "in", "out", "match", "lut", "care", "ignore", "_"];

type Parsed<T> = Result<T, Problem>;

/// Assembles the program `text`; `name` is what messages call it.
///
/// # Errors
/// Everything that is wrong with the text, in the order of the lines.
pub fn assemble(name: &str, text: &str) -> Result<Program, Vec<Diagnostic>> {
    let mut assembler = Assembler::default();
    assembler.read(text);
    let program = assembler.finish(name);
    match assembler.diagnostics(name, text) {
        none if none.is_empty() => Ok(program),
        some => Err(some),
    }
}

/// Assembles the text of one word, which may branch to any address of the largest store.
///
/// # Errors
/// Everything that is wrong with the text; more or less than one word is.
pub fn assemble_word(text: &str) -> Result<Word, Vec<Diagnostic>> {
    let mut assembler = Assembler::default();
    assembler.read(text);
    assembler.resolve();
    assembler.check_words();
    let word = match &assembler.words[..] {
        [only] => only.word,
        words => {
            if assembler.problems.is_empty() {
                let message = format!("expected one word, found {}", words.len());
                assembler.problems.push(Problem { span: START, message, rule: Rule::Syntax });
            }
            Word::default()
        }
    };
    match assembler.diagnostics("word", text) {
        none if none.is_empty() => Ok(word),
        some => Err(some),
    }
}

const START: Span = Span { line: 1, column: 1, width: 1 };

/// What a name stands for.
#[derive(Clone, Copy)]
enum Meaning {
    Constant(u64),
    Register(Register),
    Label(Address),
}

/// A word and where its parts were written.
struct Draft {
    word: Word,
    span: Span,
    text: String,
    /// Place of the statement in each slot, in the order of [`Slot::ALL`].
    slots: [Option<Span>; 6],
    writes: Vec<(Slot, Register, Span)>,
    /// A branch to a label, to be resolved when all labels are known.
    label: Option<(String, Span)>,
}

#[derive(Default)]
struct Assembler {
    names: BTreeMap<String, (Meaning, usize)>,
    words: Vec<Draft>,
    segments: Vec<(String, usize)>,
    store: Option<usize>,
    problems: Vec<Problem>,
}

impl Assembler {
    fn read(&mut self, text: &str) {
        for (index, source) in text.lines().enumerate() {
            let line = index + 1;
            if self.problems.len() >= ERROR_LIMIT {
                let message = format!("more than {ERROR_LIMIT} errors; the rest of the text is not looked at");
                self.problems.push(Problem { span: Span { line, column: 1, width: 1 }, message, rule: Rule::Syntax });
                return;
            }
            let length = source.chars().count();
            if length > LINE_LIMIT {
                let message = format!("the line has {length} characters, at most {LINE_LIMIT} are read");
                self.problems.push(Problem { span: Span { line, column: 1, width: 1 }, message, rule: Rule::Range });
                continue;
            }
            match tokens(source, line) {
                Ok(tokens) => self.line(&mut Cursor { tokens: &tokens, next: 0, line, source }),
                Err(problem) => {
                    // What follows must not be taken as a part of the word before.
                    self.begin(problem.span);
                    self.problems.push(problem);
                }
            }
        }
    }

    fn begin(&mut self, span: Span) {
        self.words.push(Draft {
            word: Word::default(),
            span,
            text: String::new(),
            slots: [None; 6],
            writes: Vec::new(),
            label: None,
        });
    }

    fn line(&mut self, cursor: &mut Cursor<'_>) {
        let mut labelled = false;
        while let [name, colon, ..] = cursor.rest()
            && name.kind == Kind::Name
            && colon.text == ":"
        {
            let meaning = Meaning::Label(Address::new(self.words.len()).unwrap_or_default());
            let defined = self.define(*name, meaning);
            self.note(defined);
            cursor.next += 2;
            labelled = true;
        }
        let Some(first) = cursor.peek() else { return };
        if first.text == "." {
            let directive = self.directive(cursor);
            self.note(directive);
            return;
        }
        if first.text == "||" {
            cursor.next += 1;
            if self.words.is_empty() || labelled {
                self.note(Err(first.problem(Rule::Syntax, "`||` continues a word, but none is begun here")));
                return;
            }
        } else {
            self.begin(first.span);
        }
        loop {
            let start = cursor.next;
            let statement = self.statement(cursor).and_then(|()| match cursor.peek() {
                None => Ok(()),
                Some(token) if token.text == "||" => Ok(()),
                Some(token) => {
                    Err(token.problem(Rule::Syntax, &format!("unexpected `{}` after a statement", token.text)))
                }
            });
            self.note(statement);
            cursor.next = start;
            let length = cursor.rest().iter().position(|token| token.text == "||");
            let draft = self.words.last_mut().expect("a word was begun above");
            if !draft.text.is_empty() {
                draft.text.push_str(" || ");
            }
            draft.text.push_str(cursor.text(length.unwrap_or(cursor.rest().len())));
            match length {
                Some(length) => cursor.next += length + 1,
                None => return,
            }
        }
    }

    fn note(&mut self, result: Parsed<()>) {
        if let Err(problem) = result {
            self.problems.push(problem);
        }
    }

    fn define(&mut self, name: Token<'_>, meaning: Meaning) -> Parsed<()> {
        if is_reserved(name.text) {
            return Err(name.problem(Rule::Names, &format!("`{}` is reserved and cannot be a name", name.text)));
        }
        if let Some((_, line)) = self.names.get(name.text) {
            return Err(name.problem(Rule::Names, &format!("`{}` is already defined in line {line}", name.text)));
        }
        self.names.insert(name.text.to_owned(), (meaning, name.span.line));
        Ok(())
    }

    fn directive(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        cursor.expect(".")?;
        let directive = cursor.name("a directive")?;
        match directive.text {
            "const" => {
                let name = cursor.name("a name")?;
                cursor.expect("=")?;
                let value = self.expression(cursor)?;
                self.define(name, Meaning::Constant(value))?;
            }
            "reg" => {
                let name = cursor.name("a name")?;
                cursor.expect("=")?;
                let register = self.register(cursor)?;
                self.define(name, Meaning::Register(register))?;
            }
            "segment" => {
                let name = cursor.name("a name")?;
                if self.segments.iter().any(|(other, _)| other == name.text) {
                    return Err(name.problem(Rule::Names, &format!("segment `{}` already exists", name.text)));
                }
                self.segments.push((name.text.to_owned(), self.words.len()));
            }
            "store" => {
                let place = cursor.here();
                let words = self.expression(cursor)?;
                if self.store.is_some() {
                    return Err(directive.problem(Rule::Names, "`.store` is given twice"));
                }
                if words == 0 || words > STORE_WORDS as u64 {
                    let message = format!("a store has 1 to {STORE_WORDS} words, not {words}");
                    return Err(Problem { span: place, message, rule: Rule::Range });
                }
                self.store = Some(words as usize);
            }
            other => {
                let known = "`.const`, `.reg`, `.segment` or `.store`";
                return Err(directive.problem(Rule::Syntax, &format!("unknown directive `.{other}`, expected {known}")));
            }
        }
        match cursor.peek() {
            Some(token) => Err(token.problem(Rule::Syntax, &format!("unexpected `{}` after a directive", token.text))),
            None => Ok(()),
        }
    }

    fn draft(&mut self) -> &mut Draft {
        self.words.last_mut().expect("statements are read only inside a word")
    }

    /// Marks a slot as used by the statement that begins at `first` and ends before the cursor.
    fn claim(&mut self, slot: Slot, span: Span) -> Parsed<()> {
        let draft = self.draft();
        let limit = if slot == Slot::Predicate { 2 } else { 1 };
        let used = match slot {
            Slot::Predicate => draft.word.predicate.iter().flatten().count(),
            _ => usize::from(draft.slots[slot as usize].is_some()),
        };
        if used >= limit {
            let times = if limit == 1 { "is already used" } else { "already has two operations" };
            return Err(Problem { span, message: format!("the {slot} slot of this word {times}"), rule: Rule::Slot });
        }
        draft.slots[slot as usize] = Some(span);
        Ok(())
    }

    fn statement(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        let first = cursor.here();
        match cursor.peek().map(|token| token.text) {
            None | Some("||") => {
                Err(Problem { span: first, message: "expected a statement".into(), rule: Rule::Syntax })
            }
            Some("nop") => {
                cursor.next += 1;
                Ok(())
            }
            Some("wait") => {
                cursor.next += 1;
                let input = &mut self.draft().word.input;
                if input.needs_input {
                    return Err(Problem { span: first, message: "`wait` is given twice".into(), rule: Rule::Slot });
                }
                input.needs_input = true;
                Ok(())
            }
            Some("goto") => self.branch(cursor),
            Some(_) => self.assignment(cursor),
        }
    }

    fn branch(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        let first = cursor.expect("goto")?.span;
        let place = cursor.here();
        let mut label = None;
        let mut target = Address::default();
        match cursor.peek() {
            Some(token)
                if token.kind == Kind::Name
                    && !matches!(self.names.get(token.text), Some((Meaning::Constant(_), _))) =>
            {
                cursor.next += 1;
                label = Some((token.text.to_owned(), token.span));
            }
            _ if cursor.at_end() => return Err(cursor.missing("a label or an address")),
            _ => {
                let value = self.expression(cursor)?;
                let reach = || Problem {
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

    fn condition(&self, cursor: &mut Cursor<'_>) -> Parsed<Condition> {
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

    fn assignment(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
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
                return Err(Problem { span: target.span, message, rule: Rule::Slot });
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
            Err(Problem { span, message: "no slot writes these together".into(), rule: Rule::Slot })
        }
    }

    fn target(&self, cursor: &mut Cursor<'_>) -> Parsed<Target> {
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

    fn input(&mut self, cursor: &mut Cursor<'_>, first: Span, targets: &[Target]) -> Parsed<()> {
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
                return Err(Problem { span: target.span, message, rule: Rule::Slot });
            }
        }
        refuse_guard(cursor, "input")?;
        self.claim(Slot::Input, cursor.since(first))?;
        let draft = self.draft();
        draft.word.input.pop = Some(pop);
        draft.writes.extend(writes);
        Ok(())
    }

    fn copy(&mut self, cursor: &mut Cursor<'_>, first: Span, targets: &[Target]) -> Parsed<()> {
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
                return Err(Problem { span: target.span, message, rule: Rule::Slot });
            }
        }
        let source = cursor.here();
        let Register::Alu(rs) = self.register(cursor)? else {
            let message = "the copy slot reads ALU registers only".into();
            return Err(Problem { span: source, message, rule: Rule::Slot });
        };
        let guard = self.guard(cursor)?;
        self.claim(Slot::Copy, cursor.since(first))?;
        let draft = self.draft();
        draft.word.copy = Some(DataCopy { guard, rs, ternary, output });
        draft.writes.extend(writes);
        Ok(())
    }

    fn alu(&mut self, cursor: &mut Cursor<'_>, first: Span, rd: AluReg, target: Span) -> Parsed<()> {
        let mnemonic = cursor.peek().copied();
        let text = mnemonic.map_or("", |token| token.text);
        let alu = if let Some(op) = ComputeOp::from_text(text) {
            cursor.next += 1;
            let chain = cursor.chain()?;
            if op.is_logic() && chain.is_some() {
                let message = Fault::ChainInLogic(op).to_string();
                return Err(Problem { span: cursor.since(first), message, rule: Rule::Slot });
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

    fn predicates(&mut self, cursor: &mut Cursor<'_>, first: Span, targets: &[Target], combine: Combine) -> Parsed<()> {
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
                    let fault = Fault::ConstantWritten { slot, register: Register::Predicate(predicate) };
                    return Err(Problem {
                        span: target.span,
                        message: fault.to_string(),
                        rule: Rule::ConstantRegister,
                    });
                }
                let message = format!("the {slot} slot writes p{base} to p{} only, not {predicate}", base + 3);
                return Err(Problem { span: target.span, message, rule: Rule::PredicateReach });
            };
            if enable >> section & 1 == 1 {
                let message = format!("{predicate} is named twice");
                return Err(Problem { span: target.span, message, rule: Rule::TwoWriters });
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

    fn merge(&mut self, cursor: &mut Cursor<'_>, first: Span, targets: &[Target]) -> Parsed<()> {
        let [Target { kind: TargetKind::Predicate(rd), span }] = targets[..] else {
            let message = "a logic unit writes one predicate".into();
            return Err(Problem { span: targets[1].span, message, rule: Rule::Slot });
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
    fn logic(&self, cursor: &mut Cursor<'_>) -> Parsed<(Predicate, Predicate, u8)> {
        // Truth tables of the inputs themselves: bit 2a+b.
        const A: u8 = 0b1100;
        const B: u8 = 0b1010;
        if cursor.take("lut") {
            let place = cursor.here();
            let table = self.expression(cursor)?;
            let a = self.predicate(cursor)?;
            cursor.expect(",")?;
            let b = self.predicate(cursor)?;
            let wide = || Problem {
                span: place,
                message: format!("a truth table has four bits, {table} does not fit"),
                rule: Rule::Range,
            };
            let bits = u8::try_from(table).ok().filter(|&bits| bits < 16).ok_or_else(wide)?;
            return Ok((a, b, bits));
        }
        if let Some(token) = cursor.peek()
            && let Kind::Number(value) = token.kind
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

    fn guard(&self, cursor: &mut Cursor<'_>) -> Parsed<Predicate> {
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

    fn operand2(&self, cursor: &mut Cursor<'_>) -> Parsed<Operand2> {
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
                    Err(Problem { span: place, message, rule: Rule::Slot })
                }
            };
        }
        if let Some(token) = cursor.peek()
            && token.kind == Kind::Name
            && !matches!(self.names.get(token.text), Some((Meaning::Constant(_), _)))
        {
            return Ok(Operand2 { reg: self.alu_register(cursor)?, immediate: None });
        }
        if cursor.at_end() {
            return Err(cursor.missing("a register or constant"));
        }
        Ok(Operand2 { reg: AluReg::ZERO, immediate: Some((Half::Low, self.immediate(cursor)?)) })
    }

    fn half(&self, cursor: &mut Cursor<'_>, half: Half) -> Parsed<HalfValue> {
        let is_register = match cursor.rest() {
            [name, dot, ..] => name.kind == Kind::Name && dot.text == ".",
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

    fn immediate(&self, cursor: &mut Cursor<'_>) -> Parsed<u32> {
        let first = cursor.here();
        let value = self.expression(cursor)?;
        let wide = || Problem {
            span: cursor.since(first),
            message: format!("{value:#x} does not fit the 32-bit immediate; load the halves one after the other"),
            rule: Rule::Range,
        };
        u32::try_from(value).map_err(|_| wide())
    }

    fn register(&self, cursor: &mut Cursor<'_>) -> Parsed<Register> {
        let token = cursor.name("a register")?;
        if let Some(register) = register_name(token.text) {
            return Ok(register);
        }
        match self.names.get(token.text) {
            Some((Meaning::Register(register), _)) => Ok(*register),
            Some((Meaning::Constant(_), _)) => {
                Err(token.problem(Rule::Names, &format!("`{}` is a constant, expected a register", token.text)))
            }
            Some((Meaning::Label(_), _)) => {
                Err(token.problem(Rule::Names, &format!("`{}` is a label, expected a register", token.text)))
            }
            None if is_reserved(token.text) => {
                Err(token.problem(Rule::Syntax, &format!("expected a register, found `{}`", token.text)))
            }
            None => Err(token.problem(Rule::Names, &format!("unknown name `{}`", token.text))),
        }
    }

    fn alu_register(&self, cursor: &mut Cursor<'_>) -> Parsed<AluReg> {
        let place = cursor.here();
        match self.register(cursor)? {
            Register::Alu(reg) => Ok(reg),
            other => {
                Err(Problem { span: place, message: format!("the ALU reads a0 to a15, not {other}"), rule: Rule::Slot })
            }
        }
    }

    /// An operand of a permute, which cannot be an immediate.
    fn permute_register(&self, cursor: &mut Cursor<'_>) -> Parsed<AluReg> {
        if let Some(token) = cursor.peek()
            && (matches!(token.kind, Kind::Number(_))
                || token.text == "{"
                || matches!(self.names.get(token.text), Some((Meaning::Constant(_), _))))
        {
            let message = "a permute has no immediate: the field `imm` holds its byte selectors";
            return Err(token.problem(Rule::ImmediateAndPermute, message));
        }
        self.alu_register(cursor)
    }

    fn ternary_register(&self, cursor: &mut Cursor<'_>) -> Parsed<TernaryReg> {
        let place = cursor.here();
        match self.register(cursor)? {
            Register::Ternary(reg) => Ok(reg),
            other => Err(Problem {
                span: place,
                message: format!("the ternary unit reads t0 to t15, not {other}"),
                rule: Rule::Slot,
            }),
        }
    }

    fn predicate(&self, cursor: &mut Cursor<'_>) -> Parsed<Predicate> {
        let place = cursor.here();
        match self.register(cursor)? {
            Register::Predicate(reg) => Ok(reg),
            other => {
                Err(Problem { span: place, message: format!("expected a predicate, found {other}"), rule: Rule::Slot })
            }
        }
    }

    /// A constant expression: `|`, `^`, `&`, shifts, `+` `-`, `*` and unary `~`, binding tighter in this order.
    fn expression(&self, cursor: &mut Cursor<'_>) -> Parsed<u64> {
        self.binary(cursor, 0, 0)
    }

    fn binary(&self, cursor: &mut Cursor<'_>, level: usize, depth: usize) -> Parsed<u64> {
        const LEVELS: [&[&str]; 6] = [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*"]];
        let Some(operators) = LEVELS.get(level) else { return self.primary(cursor, depth) };
        let mut value = self.binary(cursor, level + 1, depth)?;
        while let Some(operator) = cursor.peek().filter(|token| operators.contains(&token.text)).copied() {
            cursor.next += 1;
            let right = self.binary(cursor, level + 1, depth)?;
            let shift = u32::try_from(right).unwrap_or(u32::MAX);
            let result = match operator.text {
                "|" => Some(value | right),
                "^" => Some(value ^ right),
                "&" => Some(value & right),
                "<<" => value.checked_shl(shift).filter(|shifted| shifted >> shift == value),
                ">>" => Some(value.checked_shr(shift).unwrap_or(0)),
                "+" => value.checked_add(right),
                "-" => value.checked_sub(right),
                _ => value.checked_mul(right),
            };
            let outside = || operator.problem(Rule::Range, "the result is not a number of 64 bits without sign");
            value = result.ok_or_else(outside)?;
        }
        Ok(value)
    }

    fn primary(&self, cursor: &mut Cursor<'_>, depth: usize) -> Parsed<u64> {
        const DEPTH_LIMIT: usize = 32;
        let token = cursor.any("a number or constant")?;
        if depth > DEPTH_LIMIT {
            return Err(token.problem(Rule::Syntax, "the expression is nested too deeply"));
        }
        match (token.kind, token.text) {
            (Kind::Number(value), _) => Ok(value),
            (_, "~") => Ok(!self.primary(cursor, depth + 1)?),
            (_, "(") => {
                let value = self.binary(cursor, 0, depth + 1)?;
                cursor.expect(")")?;
                Ok(value)
            }
            (Kind::Name, name) => match self.names.get(name) {
                Some((Meaning::Constant(value), _)) => Ok(*value),
                Some(_) => Err(token.problem(Rule::Names, &format!("`{name}` is not a constant"))),
                None if is_reserved(name) => {
                    Err(token.problem(Rule::Syntax, &format!("expected a number or constant, found `{name}`")))
                }
                None => Err(token.problem(Rule::Names, &format!("unknown name `{name}`"))),
            },
            _ => Err(token.problem(Rule::Syntax, &format!("expected a number or constant, found `{}`", token.text))),
        }
    }

    /// Gives branches to labels their addresses.
    fn resolve(&mut self) {
        for draft in &mut self.words {
            let Some((label, span)) = draft.label.take() else { continue };
            match self.names.get(&label) {
                Some((Meaning::Label(address), _)) => {
                    if let Some(branch) = &mut draft.word.branch {
                        branch.target = *address;
                    }
                }
                other => {
                    let message = match other {
                        Some((Meaning::Constant(_), line)) => {
                            format!("the constant `{label}` is defined only in line {line}")
                        }
                        Some(_) => format!("`{label}` is not a label"),
                        None => format!("unknown label `{label}`"),
                    };
                    self.problems.push(Problem { span, message, rule: Rule::Names });
                }
            }
        }
    }

    fn check_words(&mut self) {
        for draft in &self.words {
            for fault in draft.word.faults() {
                let span = match fault {
                    Fault::ConstantWritten { slot, register } | Fault::TwoWriters { second: slot, register, .. } => {
                        draft.written(slot, register)
                    }
                    Fault::PredicateReach(reg) => draft.written(Slot::Predicate, Register::Predicate(reg)),
                    Fault::InnerSection { slot, section, .. } => {
                        let of = if slot == Slot::Alu { Predicate::of_alu } else { Predicate::of_ternary };
                        draft.written(slot, Register::Predicate(of(section)))
                    }
                    _ => draft.slots[fault.slot() as usize],
                };
                let span = span.unwrap_or(draft.span);
                self.problems.push(Problem { span, message: fault.to_string(), rule: fault.rule() });
            }
        }
    }

    /// Resolves and checks everything; the program means something only if no problem was found.
    fn finish(&mut self, name: &str) -> Program {
        self.resolve();
        let sound = self.problems.is_empty();
        self.check_words();
        let mut program = Program::from_words(name, self.words.iter().map(|draft| draft.word).collect());
        program.store = self.store.unwrap_or(STORE_WORDS);
        for (name, (meaning, _)) in &self.names {
            match *meaning {
                Meaning::Constant(value) => drop(program.constants.insert(name.clone(), value)),
                Meaning::Register(register) => drop(program.registers.insert(name.clone(), register)),
                Meaning::Label(address) => drop(program.labels.insert(name.clone(), address)),
            }
        }
        for (place, (name, first)) in self.segments.iter().enumerate() {
            let end = self.segments.get(place + 1).map_or(self.words.len(), |next| next.1);
            program.segments.push(Segment { name: name.clone(), first: *first, words: end - first });
        }
        program.lines =
            self.words.iter().map(|draft| SourceLine { number: draft.span.line, text: draft.text.clone() }).collect();
        // Text that was not understood leaves holes, which would be told as faults of the program.
        if sound {
            for fault in program.faults() {
                let draft = match fault {
                    ProgramFault::StoreExceeded { store, .. } => self.words.get(store),
                    _ => fault.at().map_or(self.words.last(), |at| self.words.get(at)),
                };
                let branch = fault.at().and(draft).and_then(|draft| draft.slots[Slot::Branch as usize]);
                let span = branch.or(draft.map(|draft| draft.span)).unwrap_or(START);
                self.problems.push(Problem { span, message: fault.to_string(), rule: fault.rule() });
            }
        }
        program
    }

    fn diagnostics(mut self, file: &str, text: &str) -> Vec<Diagnostic> {
        self.problems.sort_by_key(|problem| problem.span);
        let lines: Vec<&str> = text.lines().collect();
        let source = |span: Span| {
            let line = lines.get(span.line - 1).copied().unwrap_or_default();
            if line.chars().count() > LINE_LIMIT { "(line too long)".to_owned() } else { line.to_owned() }
        };
        self.problems
            .into_iter()
            .take(ERROR_LIMIT + 1)
            .map(|Problem { span, message, rule }| Diagnostic {
                file: file.to_owned(),
                span,
                message,
                rule,
                source: source(span),
            })
            .collect()
    }
}

impl Draft {
    /// Where a slot was told to write a register; of several the last.
    fn written(&self, slot: Slot, register: Register) -> Option<Span> {
        self.writes.iter().rev().find(|write| (write.0, write.1) == (slot, register)).map(|write| write.2)
    }
}

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

/// A register by its own name.
fn register_name(text: &str) -> Option<Register> {
    let digits = text.get(1..)?;
    if digits.starts_with('0') && digits != "0" || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let index = digits.parse().ok()?;
    match text.as_bytes()[0] {
        b'a' => AluReg::new(index).map(Register::Alu),
        b't' => TernaryReg::new(index).map(Register::Ternary),
        b'p' => Predicate::new(index).map(Register::Predicate),
        _ => None,
    }
}

fn is_reserved(name: &str) -> bool {
    KEYWORDS.contains(&name)
        || register_name(name).is_some()
        || ComputeOp::from_text(name).is_some()
        || CompareOp::from_text(name).is_some()
        || PermuteOp::from_text(name).is_some()
}

fn refuse_guard(cursor: &Cursor<'_>, what: &str) -> Parsed<()> {
    match cursor.peek() {
        Some(token) if token.text == "if" => {
            let article = if what == "input" { "an" } else { "a" };
            Err(token.problem(Rule::Predication, &format!("{article} {what} is not predicated")))
        }
        _ => Ok(()),
    }
}

/// The four fields of an input permute, highest first, after `[`.
fn fields(cursor: &mut Cursor<'_>) -> Parsed<FieldPermute> {
    let mut bits = 0;
    for _ in 0..4 {
        let token = cursor.any("four field numbers")?;
        match token.kind {
            Kind::Number(field @ 0..=3) => bits = bits << 2 | field as u8,
            _ => return Err(token.problem(Rule::Range, &format!("expected a field 0 to 3, found `{}`", token.text))),
        }
    }
    cursor.expect("]")?;
    Ok(FieldPermute::from_bits(bits))
}

/// The eight bytes of a permute, highest first: `[x7:4 0 y2:0]`.
fn bytes(cursor: &mut Cursor<'_>) -> Parsed<ByteSelect> {
    let open = cursor.expect("[")?.span;
    let mut sources = Vec::new();
    while !cursor.take("]") {
        let token = cursor.any("`]`")?;
        let wrong = || {
            token
                .problem(Rule::Syntax, &format!("expected `x` or `y` with a byte 0 to 7, or 0, found `{}`", token.text))
        };
        if token.kind == Kind::Number(0) {
            sources.push(ByteSource::Zero);
            continue;
        }
        let (operand, digit) = match token.text.as_bytes() {
            [operand @ (b'x' | b'y'), digit @ b'0'..=b'7'] => (*operand, digit - b'0'),
            _ => return Err(wrong()),
        };
        let byte = |byte| if operand == b'x' { ByteSource::First(byte) } else { ByteSource::Second(byte) };
        let end = if cursor.take(":") {
            match cursor.any("the last byte")? {
                Token { kind: Kind::Number(end @ 0..=7), .. } => end as u8,
                other => {
                    return Err(other.problem(Rule::Range, &format!("expected a byte 0 to 7, found `{}`", other.text)));
                }
            }
        } else {
            digit
        };
        if end <= digit {
            sources.extend((end..=digit).rev().map(byte));
        } else {
            sources.extend((digit..=end).map(byte));
        }
    }
    let count = sources.len();
    let sources: [ByteSource; 8] = sources.try_into().map_err(|_| Problem {
        span: cursor.since(open),
        message: format!("a permute names 8 bytes, not {count}"),
        rule: Rule::Range,
    })?;
    let mut lowest_first = sources;
    lowest_first.reverse();
    Ok(ByteSelect::new(lowest_first))
}

/// The tokens of one line and how far they are read.
struct Cursor<'t> {
    tokens: &'t [Token<'t>],
    next: usize,
    line: usize,
    source: &'t str,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t [Token<'t>] {
        &self.tokens[self.next..]
    }

    fn peek(&self) -> Option<&'t Token<'t>> {
        self.tokens.get(self.next)
    }

    /// Place of the next token, or just behind the last one.
    fn here(&self) -> Span {
        match (self.peek(), self.tokens.last()) {
            (Some(token), _) => token.span,
            (None, Some(last)) => Span { line: self.line, column: last.span.column + last.span.width, width: 1 },
            (None, None) => Span { line: self.line, column: 1, width: 1 },
        }
    }

    /// From `first` to the last token read.
    fn since(&self, first: Span) -> Span {
        let end = self.tokens[..self.next].last().map_or(first, |token| token.span);
        Span { width: (end.column + end.width).saturating_sub(first.column).max(1), ..first }
    }

    /// From `first` to just before `token`, without the space between.
    fn until(&self, first: Span, token: Token<'_>) -> Span {
        let before = self.tokens.iter().take_while(|other| other.start < token.start).last();
        let end = before.map_or(first, |token| token.span);
        Span { width: (end.column + end.width).saturating_sub(first.column).max(1), ..first }
    }

    /// The text of the next `count` tokens as written.
    fn text(&self, count: usize) -> &'t str {
        match &self.rest()[..count] {
            [] => "",
            some @ [first, ..] => {
                let last = some[some.len() - 1];
                &self.source[first.start..last.start + last.text.len()]
            }
        }
    }

    /// Whether the statement ends here.
    fn at_end(&self) -> bool {
        self.peek().is_none_or(|token| token.text == "||")
    }

    fn missing(&self, expected: &str) -> Problem {
        Problem { span: self.here(), message: format!("expected {expected}"), rule: Rule::Syntax }
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == text);
        self.next += usize::from(found);
        found
    }

    fn any(&mut self, expected: &str) -> Parsed<Token<'t>> {
        let token = *self.peek().ok_or_else(|| self.missing(expected))?;
        self.next += 1;
        Ok(token)
    }

    fn expect(&mut self, text: &str) -> Parsed<Token<'t>> {
        let token = self.any(&format!("`{text}`"))?;
        if token.text == text {
            Ok(token)
        } else {
            Err(token.problem(Rule::Syntax, &format!("expected `{text}`, found `{}`", token.text)))
        }
    }

    fn name(&mut self, expected: &str) -> Parsed<Token<'t>> {
        let token = self.any(expected)?;
        if token.kind == Kind::Name {
            Ok(token)
        } else {
            Err(token.problem(Rule::Syntax, &format!("expected {expected}, found `{}`", token.text)))
        }
    }

    /// The widths of the groups behind a mnemonic, if there are any: `.32:16:16`.
    fn chain(&mut self) -> Parsed<Option<Chain>> {
        let first = self.here();
        if !self.take(".") {
            return Ok(None);
        }
        let mut boundaries = 0;
        let mut sections = 0;
        loop {
            let token = self.any("the widths of the groups")?;
            let width = match token.kind {
                Kind::Number(width @ (16 | 32 | 48 | 64)) => width as u32 / 16,
                _ => {
                    return Err(
                        token.problem(Rule::Range, &format!("a group has 16, 32, 48 or 64 bits, not `{}`", token.text))
                    );
                }
            };
            // Highest group first: its inner boundaries go above those still to come.
            boundaries = boundaries << width | ((1 << (width - 1)) - 1);
            sections += width;
            if sections > 4 || !self.take(":") {
                break;
            }
        }
        if sections != 4 {
            let message = format!("the groups have {} bits, the word 64", 16 * sections);
            return Err(Problem { span: self.since(first), message, rule: Rule::Range });
        }
        Ok(Chain::new(boundaries))
    }
}

impl Token<'_> {
    fn problem(&self, rule: Rule, message: &str) -> Problem {
        Problem { span: self.span, message: message.to_owned(), rule }
    }
}
