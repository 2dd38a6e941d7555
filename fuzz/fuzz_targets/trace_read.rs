// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Any bytes as the files of a trace: an error or a trace, never a panic, a hang or much memory.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mb_fuzz::read_raw(data));
