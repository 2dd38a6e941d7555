// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls `mb_targets::preset`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mb_targets::preset(data));
