// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The description of an engine in a shared library: any bytes are read or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mb_own::description::Description;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(read) = Description::read(bytes) {
        assert!(!read.name().is_empty());
    }
});
