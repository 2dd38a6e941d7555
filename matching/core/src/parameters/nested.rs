// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parameter structs inside parameter structs: what derived code calls at compile time and when it reads values.

use super::{ParameterSpec, Value};

/// Most bytes of a key with its prefix.
const LONGEST: usize = 64;

/// A key behind a prefix.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Key {
    const fn new(prefix: &str, key: &str) -> Self {
        let mut made = Self { bytes: [0; LONGEST], length: 0 };
        made.append(prefix);
        made.append(key);
        made
    }

    const fn append(&mut self, text: &str) {
        let (text, mut place) = (text.as_bytes(), 0);
        assert!(self.length + text.len() <= LONGEST, "the key of a parameter is too long");
        while place < text.len() {
            self.bytes[self.length] = text[place];
            self.length += 1;
            place += 1;
        }
    }

    const fn as_str(&self) -> &str {
        match str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => panic!("a key of whole strings is text"),
        }
    }
}

/// The keys of `specs` behind `prefix`.
///
/// # Panics
/// When a key is longer than 64 bytes, or there are not `N` of them.
#[must_use]
pub const fn keys<const N: usize>(prefix: &str, specs: &[ParameterSpec]) -> [Key; N] {
    assert!(specs.len() == N, "there is a key for each specification");
    let mut keys = [Key { bytes: [0; LONGEST], length: 0 }; N];
    let mut place = 0;
    while place < N {
        keys[place] = Key::new(prefix, specs[place].key);
        place += 1;
    }
    keys
}

/// `specs` with other keys.
///
/// # Panics
/// When there are not `N` of them.
#[must_use]
pub const fn with_keys<const N: usize>(specs: &[ParameterSpec], keys: &'static [Key; N]) -> [ParameterSpec; N] {
    assert!(specs.len() == N, "there is a key for each specification");
    let mut renamed = [EMPTY; N];
    let mut place = 0;
    while place < N {
        renamed[place] = ParameterSpec { key: keys[place].as_str(), ..specs[place] };
        place += 1;
    }
    renamed
}

const EMPTY: ParameterSpec = ParameterSpec { key: "", domain: super::Domain::Choice(&[]), meaning: "", holds: None };

/// The specifications of all fields of a struct.
///
/// # Panics
/// When two parameters have the same key, or there are not `N` of them.
#[must_use]
pub const fn join<const N: usize>(fields: &[&[ParameterSpec]]) -> [ParameterSpec; N] {
    let mut joined = [EMPTY; N];
    let (mut length, mut field) = (0, 0);
    while field < fields.len() {
        let mut place = 0;
        while place < fields[field].len() {
            let spec = fields[field][place];
            let mut earlier = 0;
            while earlier < length {
                assert!(!equal(joined[earlier].key, spec.key), "two parameters have the same key");
                earlier += 1;
            }
            joined[length] = spec;
            length += 1;
            place += 1;
        }
        field += 1;
    }
    assert!(length == N, "every specification has a place");
    joined
}

const fn equal(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut place = 0;
    while place < one.len() {
        if one[place] != other[place] {
            return false;
        }
        place += 1;
    }
    true
}

/// Removes the first `count` of `values`.
///
/// # Panics
/// When there are fewer.
pub const fn take<'a>(values: &mut &'a [Value], count: usize) -> &'a [Value] {
    let (first, rest) = values.split_at(count);
    *values = rest;
    first
}
