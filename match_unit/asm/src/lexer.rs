// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tokens of one line. A comment starts with `;` and ends with the line.

use crate::diagnostic::Span;
use crate::layout::Rule;

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenKind {
    /// A name or keyword.
    Name,
    /// A number.
    Number(u64),
    /// Punctuation.
    Mark,
}

/// A token and its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) kind: TokenKind,
    pub(crate) text: &'t str,
    pub(crate) span: Span,
    /// Byte offset in the line.
    pub(crate) start: usize,
}

/// An error at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SourceError {
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) rule: Rule,
}

/// What reading tokens gives.
pub(crate) type ParseResult<T> = Result<T, SourceError>;

/// Marks of two characters; all others have one.
const PAIRS: [&str; 5] = ["||", "&=", "|=", "<<", ">>"];
const SINGLES: &str = "=,.:[]{}()!&|^~+-*";

/// The tokens of line number `line`.
pub(crate) fn tokens(text: &str, line: usize) -> Result<Vec<Token<'_>>, SourceError> {
    let mut tokens = Vec::new();
    let (mut start, mut column) = (0, 1);
    while let Some(first) = text[start..].chars().next() {
        let rest = &text[start..];
        if first == ';' {
            break;
        }
        if first.is_whitespace() {
            start += first.len_utf8();
            column += 1;
            continue;
        }
        let bytes = if first.is_ascii_alphanumeric() || first == '_' {
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else if PAIRS.iter().any(|pair| rest.starts_with(pair)) {
            2
        } else if SINGLES.contains(first) {
            1
        } else {
            let span = Span { line, column, width: 1 };
            return Err(SourceError {
                span,
                message: format!("found the character {first:?}; expected a name, a number or an operator"),
                rule: Rule::Syntax,
            });
        };
        let text = &rest[..bytes];
        let span = Span { line, column, width: bytes };
        let kind = match first {
            '0'..='9' => {
                TokenKind::Number(number(text).map_err(|message| SourceError { span, message, rule: Rule::Range })?)
            }
            c if c.is_ascii_alphabetic() || c == '_' => TokenKind::Name,
            _ => TokenKind::Mark,
        };
        tokens.push(Token { kind, text, span, start });
        start += bytes;
        column += bytes;
    }
    Ok(tokens)
}

/// Decimal, `0x` hexadecimal or `0b` binary, with `_` between digits.
fn number(text: &str) -> Result<u64, String> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x', ..] => (&text[2..], 16),
        [b'0', b'b', ..] => (&text[2..], 2),
        _ => (text, 10),
    };
    let digits = digits.replace('_', "");
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(format!("found `{text}`; expected a number"));
    }
    u64::from_str_radix(&digits, radix).map_err(|_| format!("found `{text}`; expected a number of at most 64 bits"))
}
