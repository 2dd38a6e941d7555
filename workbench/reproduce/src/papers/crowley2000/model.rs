// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the paper's claims are measured on: its three processors with SPINE, under one set of
//! assumptions.

use std::sync::Arc;

use mb_netproc::PacketReport;
use mb_netproc::contract::{Application, Classifier};
use mb_packets::{Mix, Sizes};

use super::experiment::{Assumptions, Experiment, PaperChip, Work};
use super::instructions::Counted;
use super::runs::Runs;
use crate::error::MeasureError;

/// Lengths of runs, in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lengths {
    /// Of a scenario.
    pub scenario: u64,
    /// Of the null application and of light applications alone.
    pub light: u64,
    /// Of the VPN node, whose packets take longest.
    pub vpn: u64,
    /// Of scenarios whose lengths of packets are calibrated.
    pub calibrated: u64,
    /// Of 3DES alone, for each worker.
    pub des3_per_worker: u64,
}

impl Lengths {
    /// Those by which claims are judged. Section 5.2 shows the first 2000 packets of a scenario;
    /// the others are as long as their rates need to settle.
    pub const PUBLISHED: Self = Self { scenario: 2000, vpn: 400, calibrated: 300, light: 500, des3_per_worker: 6 };
    /// For what is run once for every assumption.
    pub const SHORT: Self = Self { scenario: 400, vpn: 120, calibrated: 120, light: 250, des3_per_worker: 2 };
}

/// The processors and what they run, under one set of assumptions.
#[derive(Clone, Debug)]
pub struct Model {
    /// Values that the paper does not give.
    pub assumptions: Assumptions,
    /// Lengths of runs.
    pub lengths: Lengths,
    /// Whether calibrated interpretations are measured too.
    pub calibrated: bool,
    /// Every run so far; models that are clones of each other share them.
    pub runs: Runs,
}

impl Model {
    /// The one by which claims are judged.
    #[must_use]
    pub fn published() -> Self {
        Self {
            assumptions: Assumptions::default(),
            lengths: Lengths::PUBLISHED,
            calibrated: true,
            runs: Runs::default(),
        }
    }

    /// The same with other assumptions.
    #[must_use]
    pub fn with(&self, assumptions: Assumptions) -> Self {
        Self { assumptions, ..self.clone() }
    }

    /// An experiment with the model's assumptions.
    #[must_use]
    pub fn experiment(&self, chip: PaperChip, work: Work, classifier: Classifier) -> Experiment {
        let packets = match work {
            Work::Scenario(_, Sizes::Table2) => self.lengths.calibrated,
            Work::Scenario(Mix::Vpn, _) => self.lengths.vpn,
            Work::Scenario(..) => self.lengths.scenario,
            Work::Alone(Application::TripleDes) => self.lengths.des3_per_worker * chip.workers() as u64,
            Work::Null | Work::Alone(_) => self.lengths.light,
        };
        // What has no effect has one value, so that runs that are the same are done once.
        let (all, standard) = (self.assumptions, Assumptions::default());
        let smt = matches!(chip, PaperChip::Smt(_) | PaperChip::Superscalar);
        let assumptions = Assumptions {
            fetch: if smt { all.fetch } else { standard.fetch },
            priorities: if smt { all.priorities } else { standard.priorities },
            mean_burst: if matches!(work, Work::Alone(_)) { standard.mean_burst } else { all.mean_burst },
            classify_in: if classifier == Classifier::Hardware { standard.classify_in } else { all.classify_in },
            ..all
        };
        Experiment { chip, work, classifier, packets, assumptions }
    }

    /// The report of an experiment with the model's assumptions.
    ///
    /// # Errors
    /// As [`Runs::report`].
    pub fn report(
        &self,
        chip: PaperChip,
        work: Work,
        classifier: Classifier,
    ) -> Result<Arc<PacketReport>, MeasureError> {
        self.runs.report(&self.experiment(chip, work, classifier))
    }

    /// Packets in a second.
    ///
    /// # Errors
    /// As [`Runs::report`].
    pub fn rate(&self, chip: PaperChip, work: Work, classifier: Classifier) -> Result<f64, MeasureError> {
        let experiment = self.experiment(chip, work, classifier);
        Ok(self.runs.report(&experiment)?.rate(experiment.clock()))
    }

    /// Packets in a second of the null application behind the ideal classifier (figure 3).
    pub(super) fn null(&self, chip: PaperChip) -> Result<f64, MeasureError> {
        self.rate(chip, Work::Null, Classifier::Hardware)
    }

    /// Packets in a second of 3DES behind the ideal classifier (figure 4).
    pub(super) fn des3(&self, chip: PaperChip) -> Result<f64, MeasureError> {
        self.rate(chip, Work::Alone(Application::TripleDes), Classifier::Hardware)
    }

    /// Packets in a second of a scenario (figures 5 to 8), which the software classifies.
    pub(super) fn scenario(&self, chip: PaperChip, mix: Mix, sizes: Sizes) -> Result<f64, MeasureError> {
        self.rate(chip, Work::Scenario(mix, sizes), Classifier::Dpf)
    }

    /// Packets in a second, window by window.
    pub(super) fn windows(&self, chip: PaperChip, mix: Mix, sizes: Sizes) -> Result<Vec<f64>, MeasureError> {
        let experiment = self.experiment(chip, Work::Scenario(mix, sizes), Classifier::Dpf);
        let report = self.runs.report(&experiment)?;
        Ok(report.windows.iter().map(|window| window.rate(experiment.clock())).collect())
    }

    /// The instructions of an application for a packet.
    ///
    /// # Errors
    /// As [`Runs::counted`].
    pub fn counted(&self, application: Application, sizes: Sizes) -> Result<Counted, MeasureError> {
        self.runs.counted(application, sizes)
    }
}
