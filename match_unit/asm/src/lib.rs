// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The instruction word of the microcoded match unit, its assembler and its disassembler.
//!
//! - [`word`]: the decoded word, one type per slot, and its validity rules.
//! - [`layout`]: bits, operation tables and rules, generated from `spec/isa/match_unit.toml`.
//! - [`program`]: words with their names, and the validity rules of a program.
//! - [`assemble`]: text to program, with a [`Diagnostic`] for every error.
//! - [`disassemble`], [`listing`]: program to text.
//! - [`image`]: program to bytes and back (`spec/isa/image.md`).
//!
//! The crate does no input or output.

mod assembler;
mod diagnostic;
mod disassembler;
pub mod image;
#[rustfmt::skip]
pub mod layout;
mod lexer;
pub mod program;
pub mod word;

pub use assembler::{ERROR_LIMIT, LINE_LIMIT, assemble, assemble_word};
pub use diagnostic::{Diagnostic, Span, render};
pub use disassembler::{disassemble, listing};
pub use program::MatchProgram;
pub use word::{DecodeError, Encoded, Word};
