// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Supervisor mode of RV64: registers, traps, interrupts, address translation, and harts without
//! timing that execute them.

mod across;
mod assembler;
mod chips;
mod harts;
mod registers;
mod translation;
