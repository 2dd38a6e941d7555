// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Constant expressions over unsigned 64-bit numbers; an overflow is an error.

use super::cursor::Cursor;
use super::{Assembler, Symbol, is_reserved};
use crate::layout::Rule;
use crate::lexer::{ParseResult, TokenKind};

impl Assembler {
    /// A constant expression: `|`, `^`, `&`, shifts, `+` `-`, `*` and unary `~`, binding tighter in this order.
    pub(super) fn expression(&self, cursor: &mut Cursor<'_>) -> ParseResult<u64> {
        self.binary(cursor, 0, 0)
    }

    fn binary(&self, cursor: &mut Cursor<'_>, level: usize, depth: usize) -> ParseResult<u64> {
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
            let outside = || operator.problem(Rule::Range, "found a result outside of 64 bits; expected 0 to 2^64 - 1");
            value = result.ok_or_else(outside)?;
        }
        Ok(value)
    }

    fn primary(&self, cursor: &mut Cursor<'_>, depth: usize) -> ParseResult<u64> {
        const DEPTH_LIMIT: usize = 32;
        let token = cursor.any("a number or constant")?;
        if depth > DEPTH_LIMIT {
            return Err(
                token.problem(Rule::Syntax, "found an expression nested too deeply; expected at most 32 levels")
            );
        }
        match (token.kind, token.text) {
            (TokenKind::Number(value), _) => Ok(value),
            (_, "~") => Ok(!self.primary(cursor, depth + 1)?),
            (_, "(") => {
                let value = self.binary(cursor, 0, depth + 1)?;
                cursor.expect(")")?;
                Ok(value)
            }
            (TokenKind::Name, name) => match self.names.get(name) {
                Some((Symbol::Constant(value), _)) => Ok(*value),
                Some(_) => Err(token.problem(
                    Rule::Names,
                    &format!("found `{name}`, which is not a constant; expected a number or constant"),
                )),
                None if is_reserved(name) => {
                    Err(token.problem(Rule::Syntax, &format!("found `{name}`; expected a number or constant")))
                }
                None => Err(token.problem(Rule::Names, &format!("unknown name `{name}`; define it before its use"))),
            },
            _ => Err(token.problem(Rule::Syntax, &format!("found `{}`; expected a number or constant", token.text))),
        }
    }
}
