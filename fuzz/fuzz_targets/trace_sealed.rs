// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A valid trace with edits and recomputed checksums: the rules must detect what checksums do not.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mb_fuzz::read_edited(data));
