// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The specification of a parameter, and the form of its values as text.

use std::fmt;

use super::ParameterError;
use crate::capacity::Holds;
use crate::time::Picos;

/// The unit of a number without a suffix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds with up to three decimals; kept as picoseconds.
    Nanoseconds,
    /// Cycles of the engine's clock.
    Cycles,
    /// Megahertz with up to three decimals; kept as kilohertz.
    Megahertz,
    /// A number of entries, lists, bytes or words.
    Count,
}

/// Suffixes of a number, and the decimals that each allows: a value is kept to the picosecond or kilohertz.
type Suffixes = &'static [(&'static str, usize)];

impl Unit {
    /// The unit's name in tables and files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Cycles => "cycles",
            Self::Megahertz => "MHz",
            Self::Count => "count",
        }
    }

    const fn suffixes(self) -> Suffixes {
        match self {
            Self::Nanoseconds => &[("ps", 0), ("ns", 3), ("us", 6), ("ms", 9), ("s", 12)],
            Self::Megahertz => &[("kHz", 0), ("MHz", 3), ("GHz", 6)],
            Self::Cycles => &[("cycles", 0), ("cycle", 0)],
            Self::Count => &[],
        }
    }

    /// Decimals of a number without a suffix.
    const fn decimals(self) -> usize {
        match self {
            Self::Nanoseconds | Self::Megahertz => 3,
            Self::Cycles | Self::Count => 0,
        }
    }

    const fn value(self, number: u64) -> Value {
        match self {
            Self::Nanoseconds => Value::Time(Picos(number)),
            Self::Megahertz => Value::Frequency(number),
            Self::Cycles | Self::Count => Value::Whole(number),
        }
    }
}

/// The values that a parameter can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Numbers from `low` to `high`, both in `unit`.
    Range {
        /// The unit.
        unit: Unit,
        /// The smallest value.
        low: u64,
        /// The largest value.
        high: u64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl Domain {
    /// The name of the unit in tables and files; `choice` for words.
    #[must_use]
    pub const fn unit_name(&self) -> &'static str {
        match self {
            Self::Range { unit, .. } => unit.as_str(),
            Self::Choice(_) => "choice",
        }
    }
}

impl fmt::Display for Domain {
    /// The ends of a range without their unit, or the words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range { low, high, .. } => write!(f, "{low} to {high}"),
            Self::Choice(words) => f.write_str(&words.join(", ")),
        }
    }
}

/// A value of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// A span of time ([`Unit::Nanoseconds`]).
    Time(Picos),
    /// A frequency in kilohertz ([`Unit::Megahertz`]).
    Frequency(u64),
    /// Cycles or a count.
    Whole(u64),
    /// One of the words of a [`Domain::Choice`].
    Word(&'static str),
}

impl fmt::Display for Value {
    /// As a preset writes it without a suffix: times in nanoseconds, frequencies in megahertz.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(Picos(thousandths)) | Self::Frequency(thousandths) if thousandths % 1000 == 0 => {
                write!(f, "{}", thousandths / 1000)
            }
            Self::Time(Picos(thousandths)) | Self::Frequency(thousandths) => {
                let fraction = format!("{:03}", thousandths % 1000);
                write!(f, "{}.{}", thousandths / 1000, fraction.trim_end_matches('0'))
            }
            Self::Whole(number) => write!(f, "{number}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// The specification of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParameterSpec {
    /// Its name in presets and after `--set`.
    pub key: &'static str,
    /// The values that it can have.
    pub domain: Domain,
    /// One sentence.
    pub meaning: &'static str,
    /// For the number of entries of the engine's structure: which entries it holds.
    pub holds: Option<Holds>,
    /// For a choice in whose place the user may give a file: what the file is.
    pub file: Option<&'static str>,
}

impl ParameterSpec {
    /// Reads a value: a number, with a unit or without, or a word.
    ///
    /// # Errors
    /// [`ParameterError::Bad`] when the text is not a value of the domain.
    pub fn parse(&self, text: &str) -> Result<Value, ParameterError> {
        let refuse = |expected| Err(self.refuse(text, expected));
        let unit = match self.domain {
            Domain::Choice(words) => {
                let found = words.iter().find(|word| **word == text);
                return found.map_or_else(|| refuse(self.expected()), |word| Ok(Value::Word(word)));
            }
            Domain::Range { unit, .. } => unit,
        };
        let end = text.find(|letter: char| letter.is_ascii_alphabetic() || letter == ' ').unwrap_or(text.len());
        let (number, suffix) = (&text[..end], text[end..].trim_start());
        let decimals = match unit.suffixes().iter().find(|(known, _)| *known == suffix) {
            Some((_, decimals)) => *decimals,
            None if suffix.is_empty() => unit.decimals(),
            None if is_number(number) && suffix.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                return refuse(self.expected_unit(unit));
            }
            None => return refuse(self.expected()),
        };
        let value = parse_decimal(number, decimals).map(|number| unit.value(number));
        match value {
            Some(value) if self.allows(&value) => Ok(value),
            _ => refuse(self.expected()),
        }
    }

    /// Accepts a value that is in the domain.
    ///
    /// # Errors
    /// [`ParameterError::Bad`] when it is not.
    pub fn check(&self, value: Value) -> Result<Value, ParameterError> {
        if self.allows(&value) { Ok(value) } else { Err(self.refuse(&value.to_string(), self.expected())) }
    }

    /// `value` with its unit: `25 ns`.
    #[must_use]
    pub fn show(&self, value: &Value) -> String {
        match self.domain {
            Domain::Range { unit: Unit::Count, .. } | Domain::Choice(_) => value.to_string(),
            Domain::Range { unit, .. } => format!("{value} {}", unit.as_str()),
        }
    }

    fn allows(&self, value: &Value) -> bool {
        match (self.domain, *value) {
            (Domain::Choice(words), Value::Word(word)) => words.contains(&word),
            (Domain::Range { unit: Unit::Nanoseconds, low, high }, Value::Time(Picos(number)))
            | (Domain::Range { unit: Unit::Megahertz, low, high }, Value::Frequency(number)) => {
                (low.saturating_mul(1000)..=high.saturating_mul(1000)).contains(&number)
            }
            (Domain::Range { unit: Unit::Cycles | Unit::Count, low, high }, Value::Whole(number)) => {
                (low..=high).contains(&number)
            }
            _ => false,
        }
    }

    fn expected(&self) -> String {
        match self.domain {
            Domain::Choice(words) => format!("one of: {}", words.join(", ")),
            Domain::Range { unit: unit @ (Unit::Nanoseconds | Unit::Megahertz), low, high } => {
                format!("{low} to {high} {} with at most three decimals", unit.as_str())
            }
            Domain::Range { unit, low, high } => format!("a whole number from {low} to {high} ({})", unit.as_str()),
        }
    }

    fn expected_unit(&self, unit: Unit) -> String {
        let known: Vec<_> = unit.suffixes().iter().map(|(suffix, _)| *suffix).collect();
        if known.is_empty() {
            return format!("{} without a unit", self.expected());
        }
        format!("a number without a unit or with one of: {}", known.join(", "))
    }

    fn refuse(&self, found: &str, expected: String) -> ParameterError {
        ParameterError::Bad { key: self.key.to_owned(), found: found.to_owned(), expected }
    }
}

fn is_number(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Reads a number with up to `decimals` decimals exactly, times 10 to that power; floating point would lose some.
fn parse_decimal(text: &str, decimals: usize) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) || fraction.len() > decimals {
        return None;
    }
    if decimals == 0 && text.contains('.') {
        return None;
    }
    let scale = 10_u64.checked_pow(decimals as u32)?;
    let fraction: u64 = if decimals == 0 { 0 } else { format!("{fraction:0<decimals$}").parse().ok()? };
    whole.parse::<u64>().ok()?.checked_mul(scale)?.checked_add(fraction)
}
