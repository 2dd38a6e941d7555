// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A good trace with edits and right checksums: what hides behind the checksums must be found by the rules.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mb_fuzz::read_edited(data));
