// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The list of receive engines and how one is chosen: `engine` or `engine:preset`, then single parameters.
//!
//! The list is generated from the folders of `engines/` by `cargo xtask gen`. A preset is a TOML file in which
//! every value has its source; it is read strictly, and an error names file and key.
//! [`find`] reads the preset, which takes about ten microseconds; [`EngineChoice::build`] makes any number of engines.

mod engines;
mod parameters;
mod preset;

use std::sync::Arc;

use mb_core::{
    BuildOwn, EngineEntry, ParameterError, ParameterSet, Parameters, Placement, ReplayEngine, Source, names,
};

pub use engines::ENGINES;
pub use parameters::parameters_table;
pub use preset::{PresetError, read_text as read_preset};

/// Why an engine could not be chosen or built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CatalogError {
    /// No such engine.
    #[error("{}", names::unknown("engine", name, known.iter().copied()))]
    UnknownEngine {
        /// The name.
        name: String,
        /// The engines there are.
        known: Vec<&'static str>,
    },
    /// The engine has no such preset.
    #[error("engine `{engine}`: {}", names::unknown("preset", name, known.iter().copied()))]
    UnknownPreset {
        /// The engine.
        engine: &'static str,
        /// The name.
        name: String,
        /// The presets there are.
        known: Vec<&'static str>,
    },
    /// The preset's file is wrong.
    #[error("engines/{engine}/presets/{preset}.toml: {error}")]
    Preset {
        /// The engine.
        engine: &'static str,
        /// The preset.
        preset: &'static str,
        /// What is wrong.
        #[source]
        error: PresetError,
    },
    /// A parameter given by the user is wrong, or the parameters contradict each other.
    #[error("engine `{engine}`: {error}")]
    Parameter {
        /// The engine.
        engine: &'static str,
        /// What is wrong.
        #[source]
        error: ParameterError,
    },
    /// A parameter is not written as `key=value`.
    #[error(transparent)]
    Assignment(#[from] NoAssignment),
}

/// A parameter is not written as `key=value`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("found `{0}`, expected key=value")]
pub struct NoAssignment(String);

/// Splits `key=value`, without the blanks around each.
///
/// # Errors
/// When there is no `=`.
pub fn parse_assignment(text: &str) -> Result<(&str, &str), NoAssignment> {
    let (key, value) = text.split_once('=').ok_or_else(|| NoAssignment(text.to_owned()))?;
    Ok((key.trim(), value.trim()))
}

/// An engine, the preset it started from and its complete parameter set.
#[derive(Clone, Debug)]
pub struct EngineChoice {
    /// The engine.
    pub entry: &'static EngineEntry,
    /// The preset's name.
    pub preset: &'static str,
    /// A value for every parameter of the engine.
    pub parameters: ParameterSet,
    /// Whether parameters differ from those of the preset.
    pub changed: bool,
    /// The builder that replaces `entry`, if the engine is user-defined.
    pub own: Option<Arc<dyn BuildOwn>>,
}

/// Finds the engine and preset that `spec` names: `engine` (its first preset) or `engine:preset`.
///
/// # Errors
/// When there is no such engine or preset, or the preset's file is wrong.
pub fn find(spec: &str) -> Result<EngineChoice, CatalogError> {
    let (name, preset_name) = spec.split_once(':').map_or((spec, None), |(name, preset)| (name, Some(preset)));
    let Some(entry) = ENGINES.iter().find(|entry| entry.card.name == name) else {
        return Err(CatalogError::UnknownEngine {
            name: name.to_owned(),
            known: ENGINES.iter().map(|entry| entry.card.name).collect(),
        });
    };
    choose(entry, preset_name)
}

/// The choice of `entry` with the preset of that name, or with its first one.
///
/// # Errors
/// As [`find`].
pub fn choose(entry: &'static EngineEntry, preset_name: Option<&str>) -> Result<EngineChoice, CatalogError> {
    let engine = entry.card.name;
    let chosen = match preset_name {
        Some(name) => entry.presets.iter().find(|preset| preset.name == name),
        None => entry.presets.first(),
    };
    let Some(preset) = chosen else {
        return Err(CatalogError::UnknownPreset {
            engine,
            name: preset_name.unwrap_or_default().to_owned(),
            known: entry.presets.iter().map(|preset| preset.name).collect(),
        });
    };
    let parameters = preset::read(entry.parameters, entry.presets, preset).map_err(|error| CatalogError::Preset {
        engine,
        preset: preset.name,
        error,
    })?;
    Ok(EngineChoice { entry, preset: preset.name, parameters, changed: false, own: None })
}

/// Every engine with every one of its presets that keeps MPI's order.
///
/// # Errors
/// When a preset's file is wrong.
pub fn all() -> Result<Vec<EngineChoice>, CatalogError> {
    Ok(presets()?.into_iter().filter(|choice| choice.breaks_order().is_none()).collect())
}

/// The presets that do not: published designs taken literally, which are chosen by name only.
///
/// # Errors
/// When a preset's file is wrong.
pub fn literal() -> Result<Vec<EngineChoice>, CatalogError> {
    Ok(presets()?.into_iter().filter(|choice| choice.breaks_order().is_some()).collect())
}

fn presets() -> Result<Vec<EngineChoice>, CatalogError> {
    let pairs = ENGINES.iter().flat_map(|entry| entry.presets.iter().map(move |preset| (entry, preset)));
    pairs.map(|(entry, preset)| choose(entry, Some(preset.name))).collect()
}

impl EngineChoice {
    /// `engine:preset`, as [`find`] reads it.
    #[must_use]
    pub fn spec(&self) -> String {
        format!("{}:{}", self.entry.card.name, self.preset)
    }

    /// Replaces one parameter by a value from `source`. A value that the user restates changes nothing.
    ///
    /// # Errors
    /// When the key is unknown or the value does not fit.
    pub fn set(&mut self, key: &str, value: &str, source: Source) -> Result<(), CatalogError> {
        let before = self.parameters.get(key).cloned();
        self.parameters.set(key, value, source).map_err(|error| self.parameter_error(error))?;
        self.changed |= self.parameters.get(key) != before.as_ref();
        Ok(())
    }

    /// Changes the typed parameters `P` of this engine; what differs afterwards has the source [`Source::User`].
    ///
    /// # Errors
    /// When a value does not fit.
    ///
    /// # Panics
    /// When `P` describes another engine.
    pub fn change<P: Parameters>(&mut self, change: impl FnOnce(&mut P)) -> Result<(), CatalogError> {
        self.changed = true;
        self.parameters.change(&Source::User, change).map_err(|error| self.parameter_error(error))
    }

    /// Makes one engine.
    ///
    /// # Errors
    /// When the parameters contradict each other.
    pub fn build(&self) -> Result<Box<dyn ReplayEngine>, CatalogError> {
        let built =
            if let Some(own) = &self.own { own.build(&self.parameters) } else { (self.entry.build)(&self.parameters) };
        built.map_err(|error| self.parameter_error(error))
    }

    /// What makes many engines, in less time than [`build`](Self::build) if their firmware has to boot.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn builder(&self) -> Result<Builder<'_>, CatalogError> {
        Ok(Builder { choice: self, first: self.build()? })
    }

    /// Where the engine runs.
    #[must_use]
    pub fn placement(&self) -> Placement {
        let own = self.own.as_ref().and_then(|own| own.placement(&self.parameters).ok().flatten());
        own.unwrap_or_else(|| (self.entry.placement)(&self.parameters))
    }

    /// Whether a comparison runs its preset only when it is named, because the simulation is slow.
    #[must_use]
    pub fn is_on_request(&self) -> bool {
        self.entry.presets.iter().any(|preset| preset.name == self.preset && preset.on_request)
    }

    /// How its outcomes break MPI's order; `None` if they keep it, as those of every choice in [`all`] do.
    #[must_use]
    pub fn breaks_order(&self) -> Option<&'static str> {
        (self.entry.breaks_order)(&self.parameters)
    }

    /// The number of assumed parameters and of all.
    #[must_use]
    pub fn assumed_parameters(&self) -> (usize, usize) {
        let assumed = self.parameters.iter().filter(|(_, parameter)| matches!(parameter.source, Source::Assumed(_)));
        (assumed.count(), self.parameters.iter().count())
    }

    fn parameter_error(&self, error: ParameterError) -> CatalogError {
        CatalogError::Parameter { engine: self.entry.card.name, error }
    }
}

/// Makes engines of one choice: copies of the first one where that is faster.
pub struct Builder<'a> {
    choice: &'a EngineChoice,
    /// It is offered no operation.
    first: Box<dyn ReplayEngine>,
}

impl Builder<'_> {
    /// Makes one engine.
    ///
    /// # Panics
    /// Never: the same parameters have built the first one.
    #[must_use]
    pub fn build(&self) -> Box<dyn ReplayEngine> {
        self.first.copy().unwrap_or_else(|| self.choice.build().expect("the parameters have built an engine"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mb_linear::LinearParameters;

    #[test]
    fn every_preset_of_every_engine_is_complete_and_builds() {
        for choice in presets().unwrap() {
            choice.build().unwrap();
            assert_eq!(choice.parameters.iter().count(), choice.entry.parameters.len(), "{}", choice.spec());
        }
    }

    #[test]
    fn the_default_of_every_engine_keeps_the_order() {
        for entry in ENGINES {
            assert_eq!(choose(entry, None).unwrap().breaks_order(), None, "{}", entry.card.name);
        }
    }

    #[test]
    fn an_engine_without_a_preset_is_its_first_preset() {
        assert_eq!(find("ideal").unwrap().spec(), "ideal:zero");
        assert_eq!(find("linear:bgp").unwrap().spec(), "linear:bgp");
    }

    #[test]
    fn at_most_one_preset_stands_for_an_engine_and_it_keeps_the_order_and_is_quick() {
        for entry in ENGINES {
            let mine: Vec<_> = entry.presets.iter().filter(|preset| preset.representative).collect();
            assert!(mine.len() <= 1, "{}", entry.card.name);
            for preset in mine {
                assert!(!preset.on_request, "{}:{}", entry.card.name, preset.name);
                let choice = choose(entry, Some(preset.name)).unwrap();
                assert_eq!((entry.breaks_order)(&choice.parameters), None, "{}", choice.spec());
            }
        }
        let of = |name| find(name).unwrap().entry.presets.iter().find(|preset| preset.representative);
        assert_eq!(of("linear").map(|preset| preset.name), Some("software"));
        assert_eq!(of("alpu").map(|preset| preset.name), Some("tanabe2013"));
        assert_eq!(of("netproc").map(|preset| preset.name), None);
    }

    #[test]
    fn an_unknown_name_lists_those_that_exist() {
        let message = |spec| find(spec).unwrap_err().to_string();
        let engines: Vec<_> = ENGINES.iter().map(|entry| entry.card.name).collect();
        let engines = engines.join(", ");
        assert_eq!(
            message("lienar"),
            format!("unknown engine `lienar`; did you mean `linear`? expected one of: {engines}")
        );
        assert_eq!(
            message("ideal:one"),
            "engine `ideal`: unknown preset `one`; expected one of: zero, hemmert2007_stated, hemmert2007_reported"
        );
    }

    #[test]
    fn a_wrong_preset_is_named_with_its_engine() {
        static WRONG: EngineEntry = EngineEntry {
            presets: &[mb_core::engine::Preset {
                name: "broken",
                toml: "entry = { value = \"-1\", source = \"assumed\", note = \"why\" }",
                on_request: false,
                representative: true,
            }],
            ..mb_linear::ENTRY
        };
        assert_eq!(
            choose(&WRONG, None).unwrap_err().to_string(),
            "engines/linear/presets/broken.toml: parameter `entry`: found `-1`, \
             expected 0 to 1000000 ns with at most three decimals"
        );
    }

    #[test]
    fn a_parameter_of_the_user_replaces_the_value_and_its_source() {
        let mut choice = find("linear:qsnet2").unwrap();
        choice.set("entry", "12.5", Source::User).unwrap();
        assert_eq!(choice.parameters.get("entry").unwrap().source, Source::User);
        assert_eq!(choice.parameters.typed::<LinearParameters>().entry, mb_core::Picos(12_500));
        assert!(choice.changed && !find("linear:qsnet2").unwrap().changed);
        assert_eq!(
            choice.set("depth", "3", Source::User).unwrap_err().to_string(),
            "engine `linear`: unknown parameter `depth`; expected one of: entry, operation, placement"
        );
    }

    #[test]
    fn a_value_that_the_user_restates_keeps_its_source() {
        let mut choice = find("cam_list:two_level").unwrap();
        choice.set("cam", "256", Source::User).unwrap();
        choice.set("clock", "0.3213 GHz", Source::User).unwrap();
        assert_eq!(choice.parameters, find("cam_list:two_level").unwrap().parameters);
        assert!(!choice.changed);
        // A measured value replaces the source even if it is the same.
        choice.set("match", "1", Source::Measured("counted".into())).unwrap();
        assert_eq!(choice.parameters.get("match").unwrap().source.kind(), "measured");
        assert!(choice.changed);
    }

    #[test]
    fn a_typed_change_is_one_of_the_user() {
        let mut choice = find("linear:qsnet2").unwrap();
        choice.change(|parameters: &mut LinearParameters| parameters.entry = mb_core::Picos(12_500)).unwrap();
        assert_eq!(choice.parameters.get("entry").unwrap().source, Source::User);
        assert_eq!(choice.parameters.get("operation").unwrap().source.kind(), "assumed");
        assert!(choice.changed);
    }

    #[test]
    fn an_assignment_has_a_key_and_a_value() {
        assert_eq!(parse_assignment("entry = 12.5"), Ok(("entry", "12.5")));
        assert_eq!(parse_assignment("entry").unwrap_err().to_string(), "found `entry`, expected key=value");
    }
}
