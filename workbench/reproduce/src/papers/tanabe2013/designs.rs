// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The designs that the paper compares, and the measurements that several claims share.

use mb_catalog::EngineChoice;
use mb_core::Picos;
use mb_core::engine::Completion;
use mb_lhs::LhsParameters;

use crate::benchmarks::{self, EngineRun, Sources};
use crate::claim_test::{Interpretation, Interpretations};
use crate::error::MeasureError;
use crate::verdict::Measured;

/// Why a setting is not measured.
pub(super) const SETTING: &str = "settings of the model, which a run only gives back";

/// Depth at which slopes are read.
pub(super) const DEPTH: u64 = 1000;

/// Other settings of a design with head separation.
pub(super) type Change = fn(&mut LhsParameters);

/// How far apart envelopes lie: as section 4.2 measures, which is what the presets have.
pub(super) const PACKED: &str = "16 bytes apart";

/// How far apart envelopes lie: one in each cache line, as section 3 recommends.
pub(super) const LINE_EACH: Change = |parameters| (parameters.entry, parameters.pointer) = (64, 8);

/// Both.
pub(super) const APART: [(&str, Change); 2] = [(PACKED, |_| ()), ("one in each cache line", LINE_EACH)];

/// The designs that the paper compares, and its future work.
#[derive(Clone, Debug)]
pub struct Designs {
    /// DIMMnet-2 with head separation.
    pub dimmnet2: EngineChoice,
    /// DIMMnet-3 with head separation, as the paper emulates it.
    pub dimmnet3: EngineChoice,
    /// DIMMnet-2 without.
    pub undivided: EngineChoice,
    /// Groups by rank.
    pub ipush: EngineChoice,
    /// Groups by rank and several cores.
    pub multicore: EngineChoice,
    /// QsNET-II as the published line.
    pub qsnet2: EngineChoice,
    /// BlueGene/P as the published line.
    pub bgp: EngineChoice,
    /// The ALPU of 128 cells.
    pub alpu: EngineChoice,
}

impl Designs {
    /// Engine and preset of each.
    pub const SPECS: [&str; 8] = [
        "lhs:dimmnet2",
        "lhs:dimmnet3",
        "lhs:undivided",
        "lhs:ipush",
        "lhs:multicore",
        "linear:qsnet2",
        "linear:bgp",
        "alpu:tanabe2013",
    ];

    /// As the presets have them.
    ///
    /// # Errors
    /// When a preset cannot be read.
    pub fn published() -> Result<Self, MeasureError> {
        let [dimmnet2, dimmnet3, undivided, ipush, multicore, qsnet2, bgp, alpu] = Self::SPECS.map(mb_catalog::find);
        Ok(Self {
            dimmnet2: dimmnet2?,
            dimmnet3: dimmnet3?,
            undivided: undivided?,
            ipush: ipush?,
            multicore: multicore?,
            qsnet2: qsnet2?,
            bgp: bgp?,
            alpu: alpu?,
        })
    }

    /// The five conditions of figure 4.
    pub(super) const fn figure4(&self) -> [&EngineChoice; 5] {
        [&self.undivided, &self.qsnet2, &self.alpu, &self.dimmnet2, &self.dimmnet3]
    }
}

/// `design` with other settings.
pub(super) fn changed(
    design: &EngineChoice,
    change: impl FnOnce(&mut LhsParameters),
) -> Result<EngineChoice, MeasureError> {
    let mut design = design.clone();
    design.change(change)?;
    Ok(design)
}

/// A search that finds the last of `depth` messages, from 64 sources in turn.
pub(super) fn search(design: &EngineChoice, depth: u64) -> Result<Picos, MeasureError> {
    benchmarks::unexpected(design.build()?, depth, Sources::InTurn)
}

/// Nanoseconds for each message of a deep search.
pub(super) fn slope(design: &EngineChoice) -> Result<f64, MeasureError> {
    Ok(search(design, DEPTH)?.as_ns() / DEPTH as f64)
}

/// The answer to the search of [`search`], how long it took, and the run it ended.
pub(super) fn searched(design: &EngineChoice, depth: u64) -> Result<(Completion, Picos, EngineRun), MeasureError> {
    let mut run = EngineRun::new(design.build()?);
    for number in 1..=depth {
        run.serve(Sources::InTurn.arrive(number))?;
    }
    run.pause();
    let (completion, took) = run.serve(Sources::InTurn.post(depth))?;
    Ok((completion, took, run))
}

/// A measurement in both interpretations of how far envelopes are apart.
pub(super) fn apart(measure: impl Fn(Change) -> Result<Measured, MeasureError>) -> Interpretations {
    APART.iter().map(|&(name, change)| Ok(Interpretation::new(name, measure(change)?))).collect()
}
