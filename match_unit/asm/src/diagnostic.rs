// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the assembler objects to: where, what, and by which rule.

use std::fmt;

use crate::layout::Rule;

/// A stretch of one line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Span {
    /// Line, from 1.
    pub line: usize,
    /// First character, from 1.
    pub column: usize,
    /// How many characters; at least 1.
    pub width: usize,
}

/// One error in a program's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The program's name, usually its file.
    pub file: String,
    /// Where.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// The rule that is broken.
    pub rule: Rule,
    /// The line's text.
    pub source: String,
}

/// Several lines: place and message, the line, a caret under the place, the rule. No colour.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { line, column, width } = self.span;
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        // Tabs stay tabs, so that the caret stands under its place whatever a tab's width.
        let indent: String = self.source.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        writeln!(f, "{}:{line}:{column}: error: {}", self.file, self.message)?;
        writeln!(f, " {number} | {}", self.source)?;
        writeln!(f, " {margin} | {indent}{}", "^".repeat(width))?;
        write!(f, " {margin} = refused ({}): {}", self.rule.name(), self.rule.meaning())
    }
}

/// All errors of one program, separated by empty lines.
#[must_use]
pub fn render(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n")
}
