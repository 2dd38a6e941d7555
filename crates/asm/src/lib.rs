// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The instruction word of the microcoded match unit, its assembler and its disassembler.
//!
//! - [`word`]: the decoded word, one type per slot, and what a word must not say.
//! - [`layout`]: bits and operation tables, generated from `spec/isa/match_unit.toml`.
//! - [`program`]: words with their names, and what a program must not be.
//! - [`generate`]: that generator; it also writes the manual `docs/isa_match_unit.md`.
//!
//! Pure text and bits: no file is read or written here.

pub mod generate;
#[rustfmt::skip]
pub mod layout;
pub mod program;
pub mod word;

pub use program::Program;
pub use word::{DecodeError, Encoded, Word};
