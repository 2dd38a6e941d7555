// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values with their sources: every number of a model says where it is from.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use crate::time::{Clock, Cycles, Picos};

/// Where a value is from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// Printed in, or following from, a publication: which one, and where in it.
    Paper {
        /// File of `papers/` or a citation.
        file: Cow<'static, str>,
        /// Section, table or page.
        place: Cow<'static, str>,
    },
    /// Measured: what on, and how.
    Measured(Cow<'static, str>),
    /// Assumed: why this value is sensible.
    Assumed(Cow<'static, str>),
    /// Fitted so that the named claim holds; that claim is then not counted as reproduced.
    Calibrated(Cow<'static, str>),
    /// Given by the user of this run.
    User,
}

impl Source {
    /// The word in tables and files.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Paper { .. } => "paper",
            Self::Measured(_) => "measured",
            Self::Assumed(_) => "assumed",
            Self::Calibrated(_) => "calibrated",
            Self::User => "user",
        }
    }

    /// The rest of the source, in words.
    #[must_use]
    pub fn detail(&self) -> String {
        match self {
            Self::Paper { file, place } => format!("{file}, {place}"),
            Self::Measured(text) | Self::Assumed(text) | Self::Calibrated(text) => text.to_string(),
            Self::User => "given on the command line".to_owned(),
        }
    }
}

/// A value and its source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it is from.
    pub source: Source,
}

/// The unit of a setting; it decides how the value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds with up to three decimals; kept as picoseconds.
    Nanoseconds,
    /// Cycles of the engine's clock.
    Cycles,
    /// Megahertz with up to three decimals; kept as kilohertz.
    Megahertz,
    /// A count of something (entries, lists, words).
    Count,
    /// One of the listed words.
    Choice(&'static [&'static str]),
}

impl Unit {
    /// The unit's name in tables and files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Cycles => "cycles",
            Self::Megahertz => "MHz",
            Self::Count => "count",
            Self::Choice(_) => "choice",
        }
    }
}

/// A setting's value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A span of time ([`Unit::Nanoseconds`]).
    Time(Picos),
    /// A frequency in kilohertz ([`Unit::Megahertz`]).
    Frequency(u64),
    /// Cycles or a count.
    Whole(u64),
    /// A [`Unit::Choice`].
    Word(String),
}

impl fmt::Display for Value {
    /// As a preset writes it: times in nanoseconds, frequencies in megahertz.
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

/// What a setting is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SettingSpec {
    /// Its name in presets and after `--set`.
    pub key: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// One sentence.
    pub help: &'static str,
    /// Smallest and largest allowed value (in ns, cycles, MHz or counts); not used for choices.
    pub range: (u64, u64),
}

/// A value with its source under its specification.
pub type Setting = Sourced<Value>;

/// Why settings were refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SettingError {
    /// No such setting.
    #[error("unknown setting `{key}`; expected one of: {known}")]
    Unknown {
        /// What was given.
        key: String,
        /// All that exist.
        known: String,
    },
    /// A value of the wrong form or outside its range.
    #[error("setting `{key}`: found `{found}`, expected {expected}")]
    Bad {
        /// The setting.
        key: String,
        /// What was given.
        found: String,
        /// What would do.
        expected: String,
    },
    /// A setting has no value.
    #[error("setting `{key}` has no value in preset `{preset}`")]
    Missing {
        /// The setting.
        key: String,
        /// Where it was looked for.
        preset: String,
    },
    /// Values that do not go together.
    #[error("settings contradict each other: {0}")]
    Contradiction(String),
}

/// Complete settings of one engine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    values: BTreeMap<&'static str, Setting>,
}

impl Settings {
    /// No settings yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses and stores the value written as `text` for the setting `key` of `specs`.
    ///
    /// # Errors
    /// [`SettingError::Unknown`] and [`SettingError::Bad`].
    pub fn set(&mut self, specs: &[SettingSpec], key: &str, text: &str, source: Source) -> Result<(), SettingError> {
        let Some(spec) = specs.iter().find(|spec| spec.key == key) else {
            let known: Vec<_> = specs.iter().map(|spec| spec.key).collect();
            return Err(SettingError::Unknown { key: key.to_owned(), known: known.join(", ") });
        };
        let value = spec.parse(text)?;
        self.values.insert(spec.key, Setting { value, source });
        Ok(())
    }

    /// All settings in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Setting)> {
        self.values.iter().map(|(&key, setting)| (key, setting))
    }

    /// Whether `key` has a value.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    fn value(&self, key: &str) -> &Value {
        &self.values.get(key).unwrap_or_else(|| panic!("setting `{key}` was not completed by the catalog")).value
    }

    /// The time under `key`.
    ///
    /// # Panics
    /// When the engine's own table does not declare `key` as [`Unit::Nanoseconds`].
    #[must_use]
    pub fn time(&self, key: &str) -> Picos {
        match self.value(key) {
            Value::Time(time) => *time,
            other => panic!("setting `{key}` is no time but {other:?}"),
        }
    }

    /// The whole number under `key`.
    ///
    /// # Panics
    /// When the engine's own table does not declare `key` as a count or cycles.
    #[must_use]
    pub fn whole(&self, key: &str) -> u64 {
        match self.value(key) {
            Value::Whole(number) => *number,
            other => panic!("setting `{key}` is no whole number but {other:?}"),
        }
    }

    /// The cycles under `key`.
    ///
    /// # Panics
    /// As [`Settings::whole`].
    #[must_use]
    pub fn cycles(&self, key: &str) -> Cycles {
        Cycles(self.whole(key))
    }

    /// The clock whose megahertz are under `key`.
    ///
    /// # Panics
    /// When the engine's own table does not declare `key` as [`Unit::Megahertz`].
    #[must_use]
    pub fn clock(&self, key: &str) -> Clock {
        match self.value(key) {
            Value::Frequency(khz) => Clock::from_khz(*khz),
            other => panic!("setting `{key}` is no frequency but {other:?}"),
        }
    }

    /// The word under `key`.
    ///
    /// # Panics
    /// When the engine's own table does not declare `key` as a choice.
    #[must_use]
    pub fn word(&self, key: &str) -> &str {
        match self.value(key) {
            Value::Word(word) => word,
            other => panic!("setting `{key}` is no word but {other:?}"),
        }
    }
}

impl SettingSpec {
    fn parse(&self, text: &str) -> Result<Value, SettingError> {
        let (low, high) = self.range;
        let bad = || SettingError::Bad {
            key: self.key.to_owned(),
            found: text.to_owned(),
            expected: match self.unit {
                Unit::Choice(words) => format!("one of: {}", words.join(", ")),
                Unit::Nanoseconds | Unit::Megahertz => {
                    format!("{low} to {high} {} with at most three decimals", self.unit.as_str())
                }
                unit => format!("a whole number from {low} to {high} ({})", unit.as_str()),
            },
        };
        match self.unit {
            Unit::Choice(words) => {
                if words.contains(&text) {
                    Ok(Value::Word(text.to_owned()))
                } else {
                    Err(bad())
                }
            }
            Unit::Nanoseconds => {
                let picos = parse_thousandths(text).map(Picos).ok_or_else(bad)?;
                let fits = picos >= Picos::from_ns(low) && picos <= Picos::from_ns(high);
                if fits { Ok(Value::Time(picos)) } else { Err(bad()) }
            }
            Unit::Megahertz => {
                let khz = parse_thousandths(text).ok_or_else(bad)?;
                if khz >= low * 1000 && khz <= high * 1000 { Ok(Value::Frequency(khz)) } else { Err(bad()) }
            }
            Unit::Cycles | Unit::Count => {
                let number: u64 = text.parse().map_err(|_| bad())?;
                if (low..=high).contains(&number) { Ok(Value::Whole(number)) } else { Err(bad()) }
            }
        }
    }
}

/// Reads a decimal number exactly, in thousandths; floating point would lose some.
fn parse_thousandths(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 3 {
        return None;
    }
    let thousandths: u64 = format!("{fraction:0<3}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(thousandths)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[SettingSpec] = &[
        SettingSpec { key: "entry", unit: Unit::Nanoseconds, help: "Per entry.", range: (0, 10_000) },
        SettingSpec { key: "clock", unit: Unit::Megahertz, help: "Clock.", range: (1, 10_000) },
        SettingSpec { key: "mode", unit: Unit::Choice(&["nic", "host"]), help: "Where.", range: (0, 0) },
    ];

    fn set(key: &str, text: &str) -> Result<Settings, SettingError> {
        let mut settings = Settings::new();
        settings.set(SPECS, key, text, Source::User)?;
        Ok(settings)
    }

    #[test]
    fn decimal_nanoseconds_are_kept_to_the_picosecond() {
        assert_eq!(set("entry", "44.4").unwrap().time("entry"), Picos(44_400));
        assert_eq!(set("entry", "0.001").unwrap().time("entry"), Picos(1));
    }

    #[test]
    fn decimal_megahertz_are_kept_to_the_kilohertz() {
        assert_eq!(set("clock", "321.3").unwrap().clock("clock"), Clock::from_khz(321_300));
        assert_eq!(set("clock", "150").unwrap().clock("clock"), Clock::from_mhz(150));
    }

    #[test]
    fn a_value_is_shown_as_a_preset_writes_it() {
        for (key, text) in [
            ("entry", "44.4"),
            ("entry", "0.001"),
            ("entry", "100"),
            ("clock", "150"),
            ("clock", "321.3"),
            ("mode", "nic"),
        ] {
            let settings = set(key, text).unwrap();
            let (_, setting) = settings.iter().next().unwrap();
            assert_eq!(setting.value.to_string(), text);
        }
    }

    #[test]
    fn an_unknown_setting_names_those_that_exist() {
        let error = set("entyr", "3").unwrap_err();
        assert_eq!(error.to_string(), "unknown setting `entyr`; expected one of: entry, clock, mode");
    }

    #[test]
    fn a_bad_value_says_what_was_found_and_expected() {
        let message = |key, text| set(key, text).unwrap_err().to_string();
        assert_eq!(
            message("entry", "1.2345"),
            "setting `entry`: found `1.2345`, expected 0 to 10000 ns with at most three decimals"
        );
        assert_eq!(
            message("clock", "0"),
            "setting `clock`: found `0`, expected 1 to 10000 MHz with at most three decimals"
        );
        assert_eq!(message("mode", "gpu"), "setting `mode`: found `gpu`, expected one of: nic, host");
        assert_eq!(
            message("entry", "-1"),
            "setting `entry`: found `-1`, expected 0 to 10000 ns with at most three decimals"
        );
    }
}
