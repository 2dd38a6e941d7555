// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The assembler: text to program. `match_unit/asm/README.md` describes the language.
//!
//! Contract: one run reports every error it can find, in the order of the lines, and never panics. Labels may be used
//! before their definition, other names only after it. Cost: linear in the text.

mod cursor;
mod expression;
mod operand;
mod statement;

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{Diagnostic, Span};
use crate::layout::{CompareOp, ComputeOp, PermuteOp, Rule, STORE_WORDS};
use crate::lexer::{ParseResult, SourceError, Token, TokenKind, tokens};
use crate::program::{DEFAULT_ITEM_WORDS, ITEM_WORDS, MatchProgram, ProgramFault, ProgramSegment, SourceLine};
use crate::word::{Address, AluReg, Predicate, Register, Slot, TernaryReg, Word, WordFault};
use cursor::Cursor;

/// Longest line, in characters.
pub const LINE_LIMIT: usize = 1000;
/// Limit of reported errors; one more states that the list is cut.
pub const ERROR_LIMIT: usize = 100;

/// Reserved words, besides mnemonics and register names.
const KEYWORDS: [&str; 11] = ["wait", "nop", "goto", "if", "in", "out", "match", "lut", "care", "ignore", "_"];

/// Assembles the program `text`; `name` stands for it in messages.
///
/// # Errors
/// Every error of the text, in the order of the lines.
pub fn assemble(name: &str, text: &str) -> Result<MatchProgram, Vec<Diagnostic>> {
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
/// Every error of the text; also when it does not hold exactly one word.
pub fn assemble_word(text: &str) -> Result<Word, Vec<Diagnostic>> {
    let mut assembler = Assembler::default();
    assembler.read(text);
    assembler.resolve();
    assembler.check_words();
    let word = match &assembler.words[..] {
        [only] => only.word,
        words => {
            if assembler.problems.is_empty() {
                let message = format!("found {}; expected one word", words.len());
                assembler.problems.push(SourceError { span: START, message, rule: Rule::Syntax });
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

/// Meaning of a name.
#[derive(Clone, Copy)]
enum Symbol {
    Constant(u64),
    Register(Register),
    Label(Address),
}

/// A word under construction, with the places of its parts.
struct WordDraft {
    word: Word,
    span: Span,
    text: String,
    /// Place of the statement in each slot, in the order of [`Slot::ALL`].
    slots: [Option<Span>; 6],
    writes: Vec<(Slot, Register, Span)>,
    /// Label of the branch, resolved at the end of the text.
    label: Option<(String, Span)>,
}

#[derive(Default)]
struct Assembler {
    names: BTreeMap<String, (Symbol, usize)>,
    words: Vec<WordDraft>,
    segments: Vec<(String, usize)>,
    segment_names: BTreeSet<String>,
    store: Option<usize>,
    item_words: Option<usize>,
    problems: Vec<SourceError>,
}

impl Assembler {
    fn read(&mut self, text: &str) {
        for (index, source) in text.lines().enumerate() {
            let line = index + 1;
            if self.problems.len() > ERROR_LIMIT {
                return;
            }
            let length = source.chars().count();
            if length > LINE_LIMIT {
                let message = format!("found a line of {length} characters; expected at most {LINE_LIMIT}");
                self.problems.push(SourceError {
                    span: Span { line, column: 1, width: 1 },
                    message,
                    rule: Rule::Range,
                });
                continue;
            }
            match tokens(source, line) {
                Ok(tokens) => self.line(&mut Cursor { tokens: &tokens, next: 0, line, source }),
                Err(problem) => {
                    // The following lines must not continue the previous word.
                    self.begin(problem.span);
                    self.problems.push(problem);
                }
            }
        }
    }

    fn begin(&mut self, span: Span) {
        self.words.push(WordDraft {
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
            && name.kind == TokenKind::Name
            && colon.text == ":"
        {
            let meaning = Symbol::Label(Address::new(self.words.len()).unwrap_or_default());
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
                self.note(Err(
                    first.problem(Rule::Syntax, "found `||`, which continues a word; expected the start of a word")
                ));
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
                Some(token) => Err(token.problem(
                    Rule::Syntax,
                    &format!("found `{}` after a statement; expected `||` or the end of the line", token.text),
                )),
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

    fn note(&mut self, result: ParseResult<()>) {
        if let Err(problem) = result {
            self.problems.push(problem);
        }
    }

    fn define(&mut self, name: Token<'_>, meaning: Symbol) -> ParseResult<()> {
        if is_reserved(name.text) {
            return Err(
                name.problem(Rule::Names, &format!("found the reserved word `{}`; expected another name", name.text))
            );
        }
        if let Some((_, line)) = self.names.get(name.text) {
            return Err(name.problem(
                Rule::Names,
                &format!("found a second definition of `{}`; the first is in line {line}", name.text),
            ));
        }
        self.names.insert(name.text.to_owned(), (meaning, name.span.line));
        Ok(())
    }

    fn directive(&mut self, cursor: &mut Cursor<'_>) -> ParseResult<()> {
        cursor.expect(".")?;
        let directive = cursor.name("a directive")?;
        match directive.text {
            "const" => {
                let name = cursor.name("a name")?;
                cursor.expect("=")?;
                let value = self.expression(cursor)?;
                self.define(name, Symbol::Constant(value))?;
            }
            "reg" => {
                let name = cursor.name("a name")?;
                cursor.expect("=")?;
                let register = self.register(cursor)?;
                self.define(name, Symbol::Register(register))?;
            }
            "segment" => {
                let name = cursor.name("a name")?;
                if !self.segment_names.insert(name.text.to_owned()) {
                    return Err(name.problem(
                        Rule::Names,
                        &format!("found a second segment `{}`; expected another name", name.text),
                    ));
                }
                self.segments.push((name.text.to_owned(), self.words.len()));
            }
            "store" => {
                let place = cursor.here();
                let words = self.expression(cursor)?;
                if self.store.is_some() {
                    return Err(directive.problem(Rule::Names, "found `.store` twice; expected it once"));
                }
                if words == 0 || words > STORE_WORDS as u64 {
                    let message = format!("found a store of {words} words; expected 1 to {STORE_WORDS}");
                    return Err(SourceError { span: place, message, rule: Rule::Range });
                }
                self.store = Some(words as usize);
            }
            "items" => {
                let place = cursor.here();
                let words = self.expression(cursor)?;
                if self.item_words.is_some() {
                    return Err(directive.problem(Rule::Names, "found `.items` twice; expected it once"));
                }
                let Some(known) = ITEM_WORDS.into_iter().find(|&known| known as u64 == words) else {
                    let message = format!("found items of {words} words; expected 4, 8 or 16");
                    return Err(SourceError { span: place, message, rule: Rule::Range });
                };
                self.item_words = Some(known);
            }
            other => {
                let known = ".const, .items, .reg, .segment, .store";
                return Err(
                    directive.problem(Rule::Syntax, &format!("unknown directive `.{other}`; expected one of: {known}"))
                );
            }
        }
        match cursor.peek() {
            Some(token) => Err(token.problem(
                Rule::Syntax,
                &format!("found `{}` after a directive; expected the end of the line", token.text),
            )),
            None => Ok(()),
        }
    }

    fn draft(&mut self) -> &mut WordDraft {
        self.words.last_mut().expect("statements are read only inside a word")
    }

    /// Resolves the labels of branches.
    fn resolve(&mut self) {
        for draft in &mut self.words {
            let Some((label, span)) = draft.label.take() else { continue };
            match self.names.get(&label) {
                Some((Symbol::Label(address), _)) => {
                    if let Some(branch) = &mut draft.word.branch {
                        branch.target = *address;
                    }
                }
                other => {
                    let message = match other {
                        Some((Symbol::Constant(_), line)) => {
                            format!("found the constant `{label}`, defined in line {line}; define it before its use")
                        }
                        Some(_) => format!("found `{label}`, which is not a label; expected a label of the program"),
                        None => format!("unknown label `{label}`; expected a label of the program"),
                    };
                    self.problems.push(SourceError { span, message, rule: Rule::Names });
                }
            }
        }
    }

    fn check_words(&mut self) {
        for draft in &self.words {
            for fault in draft.word.faults() {
                let span = match fault {
                    WordFault::ConstantWritten { slot, register }
                    | WordFault::TwoWriters { second: slot, register, .. } => draft.written(slot, register),
                    WordFault::PredicateReach(reg) => draft.written(Slot::Predicate, Register::Predicate(reg)),
                    WordFault::InnerSection { slot, section, .. } => {
                        let of = if slot == Slot::Alu { Predicate::of_alu } else { Predicate::of_ternary };
                        draft.written(slot, Register::Predicate(of(section)))
                    }
                    _ => draft.slots[fault.slot() as usize],
                };
                let span = span.unwrap_or(draft.span);
                self.problems.push(SourceError { span, message: fault.to_string(), rule: fault.rule() });
            }
        }
    }

    /// Resolves and checks the program, which is valid only if no error was found.
    fn finish(&mut self, name: &str) -> MatchProgram {
        self.resolve();
        let sound = self.problems.is_empty();
        self.check_words();
        let mut program = MatchProgram::from_words(name, self.words.iter().map(|draft| draft.word).collect());
        program.store = self.store.unwrap_or(STORE_WORDS);
        program.item_words = self.item_words.unwrap_or(DEFAULT_ITEM_WORDS);
        for (name, (meaning, _)) in &self.names {
            match *meaning {
                Symbol::Constant(value) => drop(program.constants.insert(name.clone(), value)),
                Symbol::Register(register) => drop(program.registers.insert(name.clone(), register)),
                Symbol::Label(address) => drop(program.labels.insert(name.clone(), address)),
            }
        }
        for (place, (name, first)) in self.segments.iter().enumerate() {
            let end = self.segments.get(place + 1).map_or(self.words.len(), |next| next.1);
            program.segments.push(ProgramSegment { name: name.clone(), first: *first, words: end - first });
        }
        program.lines =
            self.words.iter().map(|draft| SourceLine { number: draft.span.line, text: draft.text.clone() }).collect();
        // Statements with errors leave gaps in the program, which would be reported as faults.
        if sound {
            for fault in program.faults() {
                let draft = match fault {
                    ProgramFault::StoreExceeded { store, .. } => self.words.get(store),
                    _ => fault.at().map_or(self.words.last(), |at| self.words.get(at)),
                };
                let branch = fault.at().and(draft).and_then(|draft| draft.slots[Slot::Branch as usize]);
                let span = branch.or(draft.map(|draft| draft.span)).unwrap_or(START);
                self.problems.push(SourceError { span, message: fault.to_string(), rule: fault.rule() });
            }
        }
        program
    }

    fn diagnostics(mut self, file: &str, text: &str) -> Vec<Diagnostic> {
        self.problems.sort_by_key(|problem| problem.span);
        if let Some(next) = self.problems.get_mut(ERROR_LIMIT) {
            next.message = format!("more than {ERROR_LIMIT} errors; the others are not shown");
            next.rule = Rule::Syntax;
            self.problems.truncate(ERROR_LIMIT + 1);
        }
        let lines: Vec<&str> = text.lines().collect();
        let source = |span: Span| {
            let line = lines.get(span.line - 1).copied().unwrap_or_default();
            if line.chars().count() > LINE_LIMIT { "(line too long)".to_owned() } else { line.to_owned() }
        };
        self.problems
            .into_iter()
            .map(|SourceError { span, message, rule }| Diagnostic {
                file: file.to_owned(),
                span,
                message,
                rule,
                source: source(span),
            })
            .collect()
    }
}

impl WordDraft {
    /// Where a slot writes a register; of several, the last.
    fn written(&self, slot: Slot, register: Register) -> Option<Span> {
        self.writes.iter().rev().find(|write| (write.0, write.1) == (slot, register)).map(|write| write.2)
    }
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
