// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Diagnostics of the assembler: place, message and rule.

use std::fmt;

use crate::layout::Rule;

/// A range of characters in one line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Span {
    /// Line, from 1.
    pub line: usize,
    /// First character, from 1.
    pub column: usize,
    /// Number of characters; at least 1.
    pub width: usize,
}

/// One error in a program's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The program's name, usually its file.
    pub file: String,
    /// The place.
    pub span: Span,
    /// The message.
    pub message: String,
    /// The rule that the text violates.
    pub rule: Rule,
    /// The line's text.
    pub source: String,
}

/// Four lines without colour: place and message, source line, carets under the place, rule.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { line, column, width } = self.span;
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        // Tabs are kept so that the carets align at any tab width.
        let indent: String = self.source.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        writeln!(f, "{}:{line}:{column}: error: {}", self.file, self.message)?;
        writeln!(f, " {number} | {}", self.source)?;
        writeln!(f, " {margin} | {indent}{}", "^".repeat(width))?;
        write!(f, " {margin} = rule ({}): {}", self.rule.name(), self.rule.meaning())
    }
}

/// All errors of one program, separated by empty lines.
#[must_use]
pub fn render(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n")
}
