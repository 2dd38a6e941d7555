// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The functions of the fuzz targets. The programs of `fuzz/fuzz_targets` call them; they need the
//! fuzzing library and a nightly Rust, the functions need neither.
//!
//! An input that a target does not accept makes its function panic.

mod asm_text;
mod capture_read;
mod conform_outcomes;
mod elf_load;
mod engine_description;
mod preset;
mod trace;
mod unit_run;
mod word_decode;

pub use asm_text::asm_text;
pub use capture_read::capture_read;
pub use conform_outcomes::conform_outcomes;
pub use elf_load::elf_load;
pub use engine_description::engine_description;
pub use preset::preset;
pub use trace::{replay, trace_killed, trace_read, trace_sealed};
pub use unit_run::unit_run;
pub use word_decode::word_decode;
