// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The types that fields of parameter structs have.

use super::{ParameterError, ParameterSpec, Source, Sourced, Unit, Value};
use crate::time::{Clock, Cycles, Picos};

/// A parameter's value and its source.
pub type Parameter = Sourced<Value>;

impl Parameter {
    /// The parameter of a typed value.
    pub fn of<T: ParameterType>(typed: Sourced<T>) -> Self {
        Self { value: typed.value.to_value(), source: typed.source }
    }
}

/// A struct whose fields are parameters; derived.
pub trait Parameters: Sized {
    /// Every parameter, in the order of the fields.
    const SPECS: &'static [ParameterSpec];

    /// The struct with these values: one for each of [`SPECS`](Self::SPECS), in that order and of its domain.
    /// [`ParameterSet::typed`](super::ParameterSet::typed) calls it.
    ///
    /// # Panics
    /// When the values are others.
    fn from_values(values: &[Value]) -> Self;

    /// The values, in the order of [`SPECS`](Self::SPECS).
    fn values(&self) -> Vec<Value>;

    /// Whether every value is in its domain, which those of a [`ParameterSet`](super::ParameterSet) are.
    ///
    /// # Errors
    /// [`ParameterError::Bad`].
    fn check_domains(&self) -> Result<(), ParameterError> {
        Self::SPECS.iter().zip(self.values()).try_for_each(|(spec, value)| spec.check(value).map(drop))
    }
}

/// How a parameter of a nested struct is embedded: the entries of a table of `#[parameter(nested, embed = TABLE)]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Embedded {
    /// It is no parameter here and has this value.
    Fixed(Value),
    /// It has another name and meaning; of several parameters with one name, all have its value.
    As(&'static str, &'static str),
    /// It has a smaller range.
    Range(u64, u64),
}

/// A parameter struct beside which one with sources is derived: `#[parameters(sourced = Name)]`.
pub trait SourcedParameters: Parameters {
    /// The same fields, each with its source.
    type Sourced;

    /// The values and sources, in the order of [`SPECS`](Parameters::SPECS).
    /// [`ParameterSet::from_sourced`](super::ParameterSet::from_sourced) calls it.
    fn parameters(sourced: Self::Sourced) -> Vec<Parameter>;
}

/// The sources of the values of a preset: each with the keys of the values that have it, with spaces between them.
pub type ValueSources = &'static [(Source, &'static str)];

/// The values of a preset in code, with their sources.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PresetValues<P> {
    /// The values.
    pub values: P,
    /// Where they come from.
    pub sources: ValueSources,
}

impl<P: Parameters> PresetValues<P> {
    /// The values and sources, in the order of [`SPECS`](Parameters::SPECS).
    ///
    /// # Panics
    /// When a value has no source or several, or there is a source for something else. Each preset has a test.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        let keys: Vec<_> = self.sources.iter().flat_map(|(_, keys)| keys.split_whitespace()).collect();
        for key in &keys {
            assert!(P::SPECS.iter().any(|spec| spec.key == *key), "source of `{key}`: there is no such parameter");
            assert!(keys.iter().filter(|other| *other == key).count() == 1, "`{key}`: has several sources");
        }
        let of = |key: &str| self.sources.iter().find(|(_, keys)| keys.split_whitespace().any(|known| known == key));
        let source = |key| of(key).unwrap_or_else(|| panic!("`{key}`: has no source")).0.clone();
        let values = P::SPECS.iter().zip(self.values.values());
        values.map(|(spec, value)| Sourced { value, source: source(spec.key) }).collect()
    }
}

/// An enum whose variants are the words of a parameter; derived.
pub trait Choice: Copy + 'static {
    /// The words.
    const WORDS: &'static [&'static str];
    /// The variants, in the order of the words.
    const ALL: &'static [Self];

    /// The variant's word.
    fn word(self) -> &'static str;
}

impl Choice for bool {
    const WORDS: &'static [&'static str] = &["off", "on"];
    const ALL: &'static [Self] = &[false, true];

    fn word(self) -> &'static str {
        Self::WORDS[usize::from(self)]
    }
}

/// A type of a field.
pub trait ParameterType: Sized {
    /// The value as this type.
    ///
    /// # Panics
    /// When it is the value of another type, which a checked set excludes.
    fn from_value(value: &Value) -> Self;

    /// As a value.
    fn to_value(&self) -> Value;
}

/// A type of numbers; they have a range.
pub trait Quantity: ParameterType {
    /// The unit of the range and of a number without a suffix.
    const UNIT: Unit;
    /// The largest end of a range.
    const MAX: u64;
}

fn unexpected(value: &Value) -> ! {
    panic!("the value {value:?} is not of the type of its field")
}

impl<C: Choice> ParameterType for C {
    fn from_value(value: &Value) -> Self {
        let Value::Word(word) = value else { unexpected(value) };
        let place = C::WORDS.iter().position(|known| known == word);
        place.map_or_else(|| unexpected(value), |place| C::ALL[place])
    }

    fn to_value(&self) -> Value {
        Value::Word(self.word())
    }
}

impl ParameterType for Picos {
    fn from_value(value: &Value) -> Self {
        let Value::Time(time) = value else { unexpected(value) };
        *time
    }

    fn to_value(&self) -> Value {
        Value::Time(*self)
    }
}

impl Quantity for Picos {
    const UNIT: Unit = Unit::Nanoseconds;
    const MAX: u64 = u64::MAX / 1000;
}

impl ParameterType for Clock {
    fn from_value(value: &Value) -> Self {
        let Value::Frequency(khz) = value else { unexpected(value) };
        Self::from_khz(*khz)
    }

    fn to_value(&self) -> Value {
        Value::Frequency(self.hertz() / 1000)
    }
}

impl Quantity for Clock {
    const UNIT: Unit = Unit::Megahertz;
    const MAX: u64 = u64::MAX / 1_000_000;
}

impl ParameterType for Cycles {
    fn from_value(value: &Value) -> Self {
        let Value::Whole(number) = value else { unexpected(value) };
        Self(*number)
    }

    fn to_value(&self) -> Value {
        Value::Whole(self.0)
    }
}

impl Quantity for Cycles {
    const UNIT: Unit = Unit::Cycles;
    const MAX: u64 = u64::MAX;
}

macro_rules! count {
    ($($kind:ty),*) => {$(
        impl ParameterType for $kind {
            fn from_value(value: &Value) -> Self {
                let Value::Whole(number) = value else { unexpected(value) };
                <$kind>::try_from(*number).unwrap_or_else(|_| unexpected(value))
            }

            fn to_value(&self) -> Value {
                Value::Whole(u64::try_from(*self).expect("a count has at most 64 bits"))
            }
        }

        impl Quantity for $kind {
            const UNIT: Unit = Unit::Count;
            const MAX: u64 = <$kind>::MAX as u64;
        }
    )*};
}

count!(u32, u64, usize);
