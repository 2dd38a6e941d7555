// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parameter structs inside parameter structs: what derived code calls at compile time and when it reads values.

use super::{Domain, Embedded, ParameterSpec, Value};

/// A key behind a prefix, or a meaning behind what it is about.
#[derive(Clone, Copy, Debug)]
pub struct Text<const LONGEST: usize> {
    bytes: [u8; LONGEST],
    length: usize,
}

/// A key behind a prefix.
pub type Key = Text<64>;
/// A meaning behind what it is about.
pub type Meaning = Text<256>;

impl<const LONGEST: usize> Text<LONGEST> {
    const EMPTY: Self = Self { bytes: [0; LONGEST], length: 0 };

    const fn and(mut self, text: &str) -> Self {
        let (text, mut place) = (text.as_bytes(), 0);
        assert!(self.length + text.len() <= LONGEST, "the key or meaning of a parameter is too long");
        while place < text.len() {
            self.bytes[self.length] = text[place];
            self.length += 1;
            place += 1;
        }
        self
    }

    const fn as_str(&self) -> &str {
        match str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => panic!("what is made of whole strings is text"),
        }
    }
}

/// The keys of `specs` behind `prefix`, and their meanings behind `about` and a colon.
///
/// # Panics
/// When a text is too long, or there are not `N` of them.
#[must_use]
pub const fn texts<const N: usize>(prefix: &str, about: &str, specs: &[ParameterSpec]) -> [(Key, Meaning); N] {
    assert!(specs.len() == N, "there is a text for each specification");
    let mut texts = [(Key::EMPTY, Meaning::EMPTY); N];
    let mut place = 0;
    while place < N {
        let meaning = if about.is_empty() { Meaning::EMPTY } else { Meaning::EMPTY.and(about).and(": ") };
        texts[place] = (Key::EMPTY.and(prefix).and(specs[place].key), meaning.and(specs[place].meaning));
        place += 1;
    }
    texts
}

/// `specs` with other keys and meanings.
///
/// # Panics
/// When there are not `N` of them.
#[must_use]
pub const fn renamed<const N: usize>(
    specs: &[ParameterSpec],
    texts: &'static [(Key, Meaning); N],
) -> [ParameterSpec; N] {
    assert!(specs.len() == N, "there is a text for each specification");
    let mut renamed = [EMPTY; N];
    let mut place = 0;
    while place < N {
        let (key, meaning) = (texts[place].0.as_str(), texts[place].1.as_str());
        renamed[place] = ParameterSpec { key, meaning, ..specs[place] };
        place += 1;
    }
    renamed
}

const EMPTY: ParameterSpec =
    ParameterSpec { key: "", domain: Domain::Choice(&[]), meaning: "", holds: None, file: None };

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

/// Where the parameter `key` is in `table`.
const fn entry(table: &[(&str, Embedded)], key: &str) -> Option<Embedded> {
    let mut place = 0;
    while place < table.len() {
        if equal(table[place].0, key) {
            return Some(table[place].1);
        }
        place += 1;
    }
    None
}

/// The specification that `spec` becomes, or `None` if it is no parameter.
const fn embedded(spec: &ParameterSpec, table: &[(&str, Embedded)]) -> Option<ParameterSpec> {
    match entry(table, spec.key) {
        None => Some(*spec),
        Some(Embedded::Fixed(_)) => None,
        Some(Embedded::As(key, meaning)) => Some(ParameterSpec { key, meaning, ..*spec }),
        Some(Embedded::Range(low, high)) => match spec.domain {
            Domain::Range { unit, low: least, high: most } => {
                assert!(least <= low && low <= high && high <= most, "the range is not inside the parameter's");
                Some(ParameterSpec { domain: Domain::Range { unit, low, high }, ..*spec })
            }
            Domain::Choice(_) => panic!("a choice has no range"),
        },
    }
}

const fn find(specs: &[ParameterSpec], count: usize, key: &str) -> Option<usize> {
    let mut place = 0;
    while place < count {
        if equal(specs[place].key, key) {
            return Some(place);
        }
        place += 1;
    }
    None
}

/// The specifications of a nested struct as `table` changes them; joined ones count once.
///
/// # Panics
/// When a key of the table is not one of `specs`, or there are not `N` of them.
#[must_use]
pub const fn embed<const N: usize>(specs: &[ParameterSpec], table: &[(&str, Embedded)]) -> [ParameterSpec; N] {
    let mut known = 0;
    while known < table.len() {
        assert!(find(specs, specs.len(), table[known].0).is_some(), "the table has a key that is no parameter");
        known += 1;
    }
    let (mut found, mut length, mut place) = ([EMPTY; N], 0, 0);
    while place < specs.len() {
        if let Some(spec) = embedded(&specs[place], table)
            && find(&found, length, spec.key).is_none()
        {
            found[length] = spec;
            length += 1;
        }
        place += 1;
    }
    assert!(length == N, "every specification has a place");
    found
}

/// How many parameters [`embed`] leaves.
#[must_use]
pub const fn count(specs: &[ParameterSpec], table: &[(&str, Embedded)]) -> usize {
    let (mut count, mut place) = (0, 0);
    while place < specs.len() {
        if let Some(spec) = embedded(&specs[place], table) {
            let (mut earlier, mut is_new) = (0, true);
            while earlier < place {
                if let Some(other) = embedded(&specs[earlier], table)
                    && equal(other.key, spec.key)
                {
                    is_new = false;
                }
                earlier += 1;
            }
            count += is_new as usize;
        }
        place += 1;
    }
    count
}

/// A value for each of `specs`, from those of the embedded parameters.
#[must_use]
pub fn expand(specs: &[ParameterSpec], table: &[(&str, Embedded)], values: &[Value]) -> Vec<Value> {
    let mut keys: Vec<&str> = Vec::new();
    let mut place = |key| {
        keys.iter().position(|known| *known == key).unwrap_or_else(|| {
            keys.push(key);
            keys.len() - 1
        })
    };
    let mut value = |spec: &ParameterSpec| match (entry(table, spec.key), embedded(spec, table)) {
        (Some(Embedded::Fixed(value)), _) => value,
        (_, spec) => values[place(spec.expect("what is not fixed is embedded").key)],
    };
    specs.iter().map(&mut value).collect()
}

/// Of one element for each of `specs`, those of the embedded parameters: the first of joined ones.
#[must_use]
pub fn contract<T>(specs: &[ParameterSpec], table: &[(&str, Embedded)], all: Vec<T>) -> Vec<T> {
    let mut keys: Vec<&str> = Vec::new();
    let embedded = specs.iter().zip(all).filter_map(|(spec, element)| Some((embedded(spec, table)?.key, element)));
    let first = embedded.filter(|(key, _)| {
        let is_new = !keys.contains(key);
        keys.push(key);
        is_new
    });
    first.map(|(_, element)| element).collect()
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
