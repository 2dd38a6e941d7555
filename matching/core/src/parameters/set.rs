// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A value and a source for every parameter.

use super::{Parameter, ParameterError, ParameterSpec, Parameters, Source, SourcedParameters, Value};
use crate::time::Clock;

/// A value and its source for every parameter of an engine or a network. Every value is in its domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParameterSet {
    specs: Vec<ParameterSpec>,
    values: Vec<Parameter>,
}

impl ParameterSet {
    /// The set of the `given` values: key, text and source. The last value of a key counts.
    ///
    /// # Errors
    /// [`ParameterError::Unknown`], [`ParameterError::Bad`] and [`ParameterError::Missing`].
    pub fn complete<'a>(
        specs: &[ParameterSpec],
        given: impl IntoIterator<Item = (&'a str, &'a str, Source)>,
    ) -> Result<Self, ParameterError> {
        let mut found = vec![None; specs.len()];
        for (key, text, source) in given {
            let place = place(specs, key)?;
            found[place] = Some(Parameter { value: specs[place].parse(text)?, source });
        }
        let missing = |spec: &ParameterSpec| ParameterError::Missing(spec.key.to_owned());
        let values = found.into_iter().zip(specs).map(|(value, spec)| value.ok_or_else(|| missing(spec)));
        Ok(Self { specs: specs.to_vec(), values: values.collect::<Result<_, _>>()? })
    }

    /// The set of typed values with their sources.
    ///
    /// # Errors
    /// [`ParameterError::Bad`] when a value is outside its domain.
    pub fn from_sourced<P: SourcedParameters>(sourced: P::Sourced) -> Result<Self, ParameterError> {
        let values = P::parameters(sourced);
        for (spec, parameter) in P::SPECS.iter().zip(&values) {
            spec.check(parameter.value)?;
        }
        Ok(Self { specs: P::SPECS.to_vec(), values })
    }

    /// Replaces the value of `key` by what `text` says. A value that the user restates keeps its source.
    ///
    /// # Errors
    /// [`ParameterError::Unknown`] and [`ParameterError::Bad`].
    pub fn set(&mut self, key: &str, text: &str, source: Source) -> Result<(), ParameterError> {
        let place = place(&self.specs, key)?;
        let value = self.specs[place].parse(text)?;
        if source != Source::User || value != self.values[place].value {
            self.values[place] = Parameter { value, source };
        }
        Ok(())
    }

    /// Applies `change` to the typed parameters. Values that differ afterwards have the source `source`.
    ///
    /// # Errors
    /// [`ParameterError::Bad`] when a value has left its domain; nothing is changed then.
    ///
    /// # Panics
    /// As [`typed`](Self::typed).
    pub fn change<P: Parameters>(
        &mut self,
        source: &Source,
        change: impl FnOnce(&mut P),
    ) -> Result<(), ParameterError> {
        let mut typed = self.typed::<P>();
        // A parameter that has no effect beside others may have another value here than in the set.
        let before = typed.values();
        change(&mut typed);
        let values = typed.values();
        for (spec, &value) in self.specs.iter().zip(&values) {
            spec.check(value)?;
        }
        for ((parameter, value), before) in self.values.iter_mut().zip(values).zip(before) {
            if before != value {
                *parameter = Parameter { value, source: source.clone() };
            }
        }
        Ok(())
    }

    /// The values as the struct that describes them.
    ///
    /// # Panics
    /// When `P` describes other parameters.
    #[must_use]
    pub fn typed<P: Parameters>(&self) -> P {
        self.try_typed().expect("the struct describes the parameters of the set")
    }

    /// The values as `P`, or `None` when `P` describes other parameters.
    #[must_use]
    pub fn try_typed<P: Parameters>(&self) -> Option<P> {
        let values: Vec<_> = self.values.iter().map(|parameter| parameter.value).collect();
        (self.specs == P::SPECS).then(|| P::from_values(&values))
    }

    /// Every parameter, in the order of the specifications.
    pub fn iter(&self) -> impl Iterator<Item = (&ParameterSpec, &Parameter)> {
        self.specs.iter().zip(&self.values)
    }

    /// The parameter `key`, if there is one.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Parameter> {
        self.iter().find(|(spec, _)| spec.key == key).map(|(_, parameter)| parameter)
    }

    /// The frequency of the parameter `clock`, which every engine with a clock has.
    #[must_use]
    pub fn clock(&self) -> Option<Clock> {
        match self.get("clock")?.value {
            Value::Frequency(khz) => Some(Clock::from_khz(khz)),
            _ => None,
        }
    }
}

fn place(specs: &[ParameterSpec], key: &str) -> Result<usize, ParameterError> {
    specs.iter().position(|spec| spec.key == key).ok_or_else(|| {
        let known = specs.iter().map(|spec| spec.key.to_owned()).collect();
        ParameterError::Unknown { key: key.to_owned(), known }
    })
}
