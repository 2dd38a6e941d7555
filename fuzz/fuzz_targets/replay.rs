// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls `mb_targets::replay`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mb_targets::replay(data));
