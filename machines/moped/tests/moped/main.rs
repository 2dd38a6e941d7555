// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of the devices on a flat memory.

mod basics;
mod chip;
mod driver;
mod header;
mod judge;
mod lines;
mod streams;
mod timing;
