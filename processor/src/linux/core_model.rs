// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The core models that programs run on, by name, and their parameters.

use mb_core::parameters::{Embedded, ParameterError, ParameterSet, PresetValues, SourcedParameters, Value};

use crate::barrel::BarrelConfig;
use crate::chip::{self, ChipConfig, cmp, cmp2, in_order, smt};
use crate::hierarchy::HierarchyConfig;
use crate::out_of_order::{CORTEX_A72, CoreSources, OutOfOrderConfig, PPC440, cortex_a72, ppc440};
use crate::shared_l2::SharedL2Config;

/// An out-of-order core with its caches.
#[derive(Clone, Debug, mb_core::Parameters)]
#[parameters(sourced = SourcedOutOfOrder)]
pub(super) struct OutOfOrderModel {
    /// The core.
    #[parameter(nested)]
    pub(super) core: OutOfOrderConfig,
    /// Its caches.
    #[parameter(nested, embed = ONE_CORE)]
    pub(super) caches: HierarchyConfig,
}

/// A chip with its caches; contexts other than the first are idle.
#[derive(Clone, Debug, mb_core::Parameters)]
#[parameters(sourced = SourcedChip)]
pub(super) struct ChipModel {
    /// The cores.
    #[parameter(nested)]
    pub(super) core: ChipConfig,
    /// Their caches.
    #[parameter(nested, embed = OF_THE_CORES)]
    pub(super) caches: SharedL2Config,
}

const ONE_CORE: &[(&str, Embedded)] = &[
    ("cores", Embedded::Fixed(Value::Whole(1))),
    ("coherence", Embedded::Fixed(Value::Word("ideal"))),
    ("line_upgrade", Embedded::Fixed(Value::Whole(0))),
    ("line_transfer", Embedded::Fixed(Value::Whole(0))),
];

/// Replaced by the numbers of the chip.
const OF_THE_CORES: &[(&str, Embedded)] =
    &[("cores", Embedded::Fixed(Value::Whole(1))), ("contexts", Embedded::Fixed(Value::Whole(1)))];

/// The parameters of a model, typed.
#[derive(Clone, Debug)]
pub(super) enum CoreConfig {
    Functional,
    OutOfOrder(Box<OutOfOrderModel>),
    Barrel(Box<BarrelConfig>),
    Chip(Box<ChipModel>),
}

/// A core model with its caches, by name, and its parameters.
#[derive(Clone, Debug)]
pub struct CoreModel {
    /// A value and its source for every parameter.
    pub parameters: ParameterSet,
}

/// A model: its name and its parameters.
type Model = (&'static str, fn() -> Result<ParameterSet, ParameterError>);

/// The models.
const MODELS: [Model; 16] = [
    // Execution without time: each instruction counts as one cycle for the program's clocks.
    ("functional", || ParameterSet::complete(&[], [])),
    ("cortex_a72", || out_of_order(cortex_a72(), CORTEX_A72)),
    ("ppc440", || out_of_order(ppc440(32), PPC440)),
    ("barrel", || {
        set::<BarrelConfig>(PresetValues { values: BarrelConfig::hemmert2007(1)?, sources: BarrelConfig::SOURCES })
    }),
    ("smt1", || on_chip(&smt(1))),
    ("smt2", || on_chip(&smt(2))),
    ("smt4", || on_chip(&smt(4))),
    ("smt8", || on_chip(&smt(8))),
    ("smt1_in_order", || on_chip(&in_order(smt(1)))),
    ("cmp1", || on_chip(&cmp(1))),
    ("cmp2", || on_chip(&cmp(2))),
    ("cmp4", || on_chip(&cmp(4))),
    ("cmp8", || on_chip(&cmp(8))),
    ("cmp1_in_order", || on_chip(&in_order(cmp(1)))),
    ("cmp2_1", || on_chip(&cmp2(1))),
    ("cmp2_4", || on_chip(&cmp2(4))),
];

fn set<P: SourcedParameters>(sourced: P::Sourced) -> Result<ParameterSet, ParameterError> {
    ParameterSet::from_sourced::<P>(sourced)
}

fn out_of_order(
    (core, caches): (OutOfOrderConfig, HierarchyConfig),
    (of_core, of_caches): CoreSources,
) -> Result<ParameterSet, ParameterError> {
    let core = PresetValues { values: core, sources: of_core };
    set::<OutOfOrderModel>(SourcedOutOfOrder { core, caches: PresetValues { values: caches, sources: of_caches } })
}

fn on_chip(core: &ChipConfig) -> Result<ParameterSet, ParameterError> {
    let caches = SharedL2Config::preset(core.cores, core.contexts);
    set::<ChipModel>(SourcedChip { core: chip::crowley2000(*core), caches })
}

impl CoreModel {
    /// The names of all models.
    pub fn names() -> impl Iterator<Item = &'static str> {
        MODELS.iter().map(|model| model.0)
    }

    /// The model of a name in [`names`](Self::names), with the parameters of its preset.
    ///
    /// # Panics
    /// When a value of a preset is outside its range; there is a test.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let (_, parameters) = MODELS.iter().find(|model| model.0 == name)?;
        Some(Self { parameters: parameters().expect("the values of a preset are in their ranges") })
    }

    /// Whether it has time.
    #[must_use]
    pub fn has_time(&self) -> bool {
        !matches!(self.config(), CoreConfig::Functional)
    }

    pub(super) fn config(&self) -> CoreConfig {
        if let Some(parts) = self.parameters.try_typed() {
            return CoreConfig::OutOfOrder(Box::new(parts));
        }
        if let Some(config) = self.parameters.try_typed() {
            return CoreConfig::Barrel(Box::new(config));
        }
        let Some(ChipModel { core, caches }) = self.parameters.try_typed() else { return CoreConfig::Functional };
        let caches = SharedL2Config { cores: core.cores, contexts: core.contexts, ..caches };
        CoreConfig::Chip(Box::new(ChipModel { core, caches }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_every_model_has_a_source() {
        assert!(CoreModel::names().all(|name| CoreModel::of(name).is_some()));
    }
}
