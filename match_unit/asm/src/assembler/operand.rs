// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The operands of statements: registers, immediates, guards and predicate expressions.

use super::cursor::Cursor;
use super::{Assembler, Symbol, is_reserved, register_name};
use crate::layout::{Half, Rule};
use crate::lexer::{ParseResult, SourceError, TokenKind};
use crate::word::{AluReg, Operand2, Predicate, Register, TernaryReg};

/// One half of a combined operand 2.
enum HalfValue {
    Register(AluReg),
    Immediate(u32),
}

impl Assembler {
    /// Inputs and truth table of a boolean expression.
    pub(super) fn logic(&self, cursor: &mut Cursor<'_>) -> ParseResult<(Predicate, Predicate, u8)> {
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
                message: format!("found the truth table {table}; expected 0 to 15"),
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
                _ => Err(token.problem(Rule::Range, "found a number other than 0 and 1; expected a predicate, 0 or 1")),
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

    pub(super) fn guard(&self, cursor: &mut Cursor<'_>) -> ParseResult<Predicate> {
        if !cursor.take("if") {
            return Ok(Predicate::TRUE);
        }
        if let Some(token) = cursor.peek()
            && token.text == "!"
        {
            return Err(token.problem(
                Rule::Predication,
                "found a negated guard; expected a predicate; compute the complement first",
            ));
        }
        self.predicate(cursor)
    }

    pub(super) fn operand2(&self, cursor: &mut Cursor<'_>) -> ParseResult<Operand2> {
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
                    let message =
                        "found two halves of one kind; expected an immediate and a half of a register, `.hi` or `.lo`"
                            .into();
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

    pub(super) fn immediate(&self, cursor: &mut Cursor<'_>) -> ParseResult<u32> {
        let first = cursor.here();
        let value = self.expression(cursor)?;
        let wide = || SourceError {
            span: cursor.since(first),
            message: format!("found {value:#x}; expected at most 32 bits; load the halves one after the other"),
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
                Err(token.problem(Rule::Names, &format!("found the constant `{}`; expected a register", token.text)))
            }
            Some((Symbol::Label(_), _)) => {
                Err(token.problem(Rule::Names, &format!("found the label `{}`; expected a register", token.text)))
            }
            None if is_reserved(token.text) => {
                Err(token.problem(Rule::Syntax, &format!("found `{}`; expected a register", token.text)))
            }
            None => {
                Err(token.problem(Rule::Names, &format!("unknown name `{}`; define it before its use", token.text)))
            }
        }
    }

    pub(super) fn alu_register(&self, cursor: &mut Cursor<'_>) -> ParseResult<AluReg> {
        let place = cursor.here();
        match self.register(cursor)? {
            Register::Alu(reg) => Ok(reg),
            other => Err(SourceError {
                span: place,
                message: format!("found {other}; expected an ALU register, a0 to a15"),
                rule: Rule::Slot,
            }),
        }
    }

    /// An operand of a permute, which cannot be an immediate.
    pub(super) fn permute_register(&self, cursor: &mut Cursor<'_>) -> ParseResult<AluReg> {
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

    pub(super) fn ternary_register(&self, cursor: &mut Cursor<'_>) -> ParseResult<TernaryReg> {
        let place = cursor.here();
        match self.register(cursor)? {
            Register::Ternary(reg) => Ok(reg),
            other => Err(SourceError {
                span: place,
                message: format!("found {other}; expected a ternary register, t0 to t15"),
                rule: Rule::Slot,
            }),
        }
    }

    pub(super) fn predicate(&self, cursor: &mut Cursor<'_>) -> ParseResult<Predicate> {
        let place = cursor.here();
        match self.register(cursor)? {
            Register::Predicate(reg) => Ok(reg),
            other => Err(SourceError {
                span: place,
                message: format!("found {other}; expected a predicate"),
                rule: Rule::Slot,
            }),
        }
    }
}
