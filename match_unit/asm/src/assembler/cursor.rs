// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads the tokens of one line, and the lists in brackets and the group widths that need no names.

use crate::diagnostic::Span;
use crate::layout::Rule;
use crate::lexer::{ParseResult, SourceError, Token, TokenKind};
use crate::word::{ByteSelect, ByteSource, Chain, FieldPermute};

/// The tokens of one line and how far they are read.
pub(super) struct Cursor<'t> {
    pub(super) tokens: &'t [Token<'t>],
    pub(super) next: usize,
    pub(super) line: usize,
    pub(super) source: &'t str,
}

impl<'t> Cursor<'t> {
    pub(super) fn rest(&self) -> &'t [Token<'t>] {
        &self.tokens[self.next..]
    }

    pub(super) fn peek(&self) -> Option<&'t Token<'t>> {
        self.tokens.get(self.next)
    }

    /// Place of the next token, or just after the last one.
    pub(super) fn here(&self) -> Span {
        match (self.peek(), self.tokens.last()) {
            (Some(token), _) => token.span,
            (None, Some(last)) => Span { line: self.line, column: last.span.column + last.span.width, width: 1 },
            (None, None) => Span { line: self.line, column: 1, width: 1 },
        }
    }

    /// From `first` to the last token read.
    pub(super) fn since(&self, first: Span) -> Span {
        let end = self.tokens[..self.next].last().map_or(first, |token| token.span);
        Span { width: (end.column + end.width).saturating_sub(first.column).max(1), ..first }
    }

    /// From `first` to just before `token`, without the space between.
    pub(super) fn until(&self, first: Span, token: Token<'_>) -> Span {
        let before = self.tokens.iter().take_while(|other| other.start < token.start).last();
        let end = before.map_or(first, |token| token.span);
        Span { width: (end.column + end.width).saturating_sub(first.column).max(1), ..first }
    }

    /// The text of the next `count` tokens as written.
    pub(super) fn text(&self, count: usize) -> &'t str {
        match &self.rest()[..count] {
            [] => "",
            some @ [first, ..] => {
                let last = some[some.len() - 1];
                &self.source[first.start..last.start + last.text.len()]
            }
        }
    }

    /// Whether the statement ends here.
    pub(super) fn at_end(&self) -> bool {
        self.peek().is_none_or(|token| token.text == "||")
    }

    pub(super) fn missing(&self, expected: &str) -> SourceError {
        SourceError {
            span: self.here(),
            message: format!("found the end of the statement; expected {expected}"),
            rule: Rule::Syntax,
        }
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == text);
        self.next += usize::from(found);
        found
    }

    pub(super) fn any(&mut self, expected: &str) -> ParseResult<Token<'t>> {
        let token = *self.peek().ok_or_else(|| self.missing(expected))?;
        self.next += 1;
        Ok(token)
    }

    pub(super) fn expect(&mut self, text: &str) -> ParseResult<Token<'t>> {
        let token = self.any(&format!("`{text}`"))?;
        if token.text == text {
            Ok(token)
        } else {
            Err(token.problem(Rule::Syntax, &format!("found `{}`; expected `{text}`", token.text)))
        }
    }

    pub(super) fn name(&mut self, expected: &str) -> ParseResult<Token<'t>> {
        let token = self.any(expected)?;
        if token.kind == TokenKind::Name {
            Ok(token)
        } else {
            Err(token.problem(Rule::Syntax, &format!("found `{}`; expected {expected}", token.text)))
        }
    }

    /// The widths of the groups behind a mnemonic, if there are any: `.32:16:16`.
    pub(super) fn chain(&mut self) -> ParseResult<Option<Chain>> {
        let first = self.here();
        if !self.take(".") {
            return Ok(None);
        }
        let mut boundaries = 0;
        let mut sections = 0;
        loop {
            let token = self.any("the widths of the groups")?;
            let width = match token.kind {
                TokenKind::Number(width @ (16 | 32 | 48 | 64)) => width as u32 / 16,
                _ => {
                    return Err(token.problem(
                        Rule::Range,
                        &format!("found a group of `{}` bits; expected 16, 32, 48 or 64", token.text),
                    ));
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
            let message = format!("found groups of {} bits in total; expected 64", 16 * sections);
            return Err(SourceError { span: self.since(first), message, rule: Rule::Range });
        }
        Ok(Chain::new(boundaries))
    }
}

impl Token<'_> {
    pub(super) fn problem(&self, rule: Rule, message: &str) -> SourceError {
        SourceError { span: self.span, message: message.to_owned(), rule }
    }
}

/// The four fields of an input permute, highest first, after `[`.
pub(super) fn fields(cursor: &mut Cursor<'_>) -> ParseResult<FieldPermute> {
    let mut bits = 0;
    for _ in 0..4 {
        let token = cursor.any("four field numbers")?;
        match token.kind {
            TokenKind::Number(field @ 0..=3) => bits = bits << 2 | field as u8,
            _ => return Err(token.problem(Rule::Range, &format!("found `{}`; expected a field 0 to 3", token.text))),
        }
    }
    cursor.expect("]")?;
    Ok(FieldPermute::from_bits(bits))
}

/// The eight bytes of a permute, highest first: `[x7:4 0 y2:0]`.
pub(super) fn bytes(cursor: &mut Cursor<'_>) -> ParseResult<ByteSelect> {
    let open = cursor.expect("[")?.span;
    let mut sources = Vec::new();
    while !cursor.take("]") {
        let token = cursor.any("`]`")?;
        let wrong = || {
            token
                .problem(Rule::Syntax, &format!("found `{}`; expected `x` or `y` with a byte 0 to 7, or 0", token.text))
        };
        if token.kind == TokenKind::Number(0) {
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
                Token { kind: TokenKind::Number(end @ 0..=7), .. } => end as u8,
                other => {
                    return Err(other.problem(Rule::Range, &format!("found `{}`; expected a byte 0 to 7", other.text)));
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
    let sources: [ByteSource; 8] = sources.try_into().map_err(|_| SourceError {
        span: cursor.since(open),
        message: format!("found {count} bytes in a permute; expected 8"),
        rule: Rule::Range,
    })?;
    let mut lowest_first = sources;
    lowest_first.reverse();
    Ok(ByteSelect::new(lowest_first))
}
