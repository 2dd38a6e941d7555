// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of the devices on a flat memory.

mod alignment;
mod basics;
mod chip;
mod driver;
mod header;
mod judge;
mod lines;
mod literal;
mod operations;
mod streams;
mod timing;
