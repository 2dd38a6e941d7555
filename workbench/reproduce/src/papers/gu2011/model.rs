// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the claims are measured on: the table of runs, and the structures of the chip and its devices.

use mb_moped::{MopedParameters, presets};
use mb_processor::directory::DirectoryConfig;

use super::runs::{ChipBenchmark, ChipVariant, Row, Runs, TABLE, Transport};
use crate::error::MeasureError;

/// Section 5: the patterns of IMB, in the paper's order, with messages of 16 KB.
pub const PATTERNS: [ChipBenchmark; 6] = [
    ChipBenchmark::Pattern("PP", 16384),
    ChipBenchmark::Pattern("XC", 16384),
    ChipBenchmark::Pattern("BC", 16384),
    ChipBenchmark::Pattern("RD", 16384),
    ChipBenchmark::Pattern("GA", 16384),
    ChipBenchmark::Pattern("AA", 16384),
];
/// Section 6: those with messages of 1 MB.
pub const LARGE: [ChipBenchmark; 3] = [
    ChipBenchmark::Pattern("PP", 1 << 20),
    ChipBenchmark::Pattern("XC", 1 << 20),
    ChipBenchmark::Pattern("BC", 1 << 20),
];
/// Section 5: the kernels of NPB, class S.
pub const KERNELS: [ChipBenchmark; 5] = [
    ChipBenchmark::Kernel("sp"),
    ChipBenchmark::Kernel("cg"),
    ChipBenchmark::Kernel("mg"),
    ChipBenchmark::Kernel("ft"),
    ChipBenchmark::Kernel("bt"),
];

/// A quantity of figure 10.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure10Quantity {
    /// Cycles.
    Time,
    /// Loads, stores and fetches of cores that miss their L1.
    L1,
    /// Lines that come from another cache, for cores and devices.
    Private,
    /// Lines that come from memory, for cores and devices.
    Global,
    /// As `Private`, for cores alone.
    PrivateOfCores,
    /// As `Global`, for cores alone.
    GlobalOfCores,
}

impl Figure10Quantity {
    /// The columns of the table that are added up.
    const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Time => &["cycles"],
            Self::L1 => &["l1_load_misses", "l1_store_misses", "l1_fetch_misses"],
            Self::Private => &["l2_private", "device_private"],
            Self::Global => &["l2_global", "device_global"],
            Self::PrivateOfCores => &["l2_private"],
            Self::GlobalOfCores => &["l2_global"],
        }
    }
}

/// The runs and the structures.
#[derive(Clone, Debug)]
pub struct Model {
    /// Every run.
    pub runs: Runs,
    /// The chip of the runs by which claims are judged.
    pub chip: ChipVariant,
    /// The base design of the device.
    pub device: MopedParameters,
    /// Caches, directory, memory and switch.
    pub memory: DirectoryConfig,
}

impl Model {
    /// The table as it is stored, and the presets.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn published() -> Result<Self, MeasureError> {
        Ok(Self {
            runs: Runs::read(TABLE)?,
            chip: ChipVariant::default(),
            device: presets::parameters("base"),
            memory: DirectoryConfig::gu2011(16, 1),
        })
    }

    /// The same on another chip.
    #[must_use]
    pub fn on(&self, chip: ChipVariant) -> Self {
        Self { chip, ..self.clone() }
    }

    /// The row of a benchmark.
    ///
    /// # Errors
    /// When the run was not made.
    pub fn row(&self, benchmark: ChipBenchmark, transport: Transport) -> Result<&Row, MeasureError> {
        self.runs.row(benchmark, transport, &self.chip)
    }

    /// A quantity of a run.
    ///
    /// # Errors
    /// When the run was not made.
    pub fn count(
        &self,
        benchmark: ChipBenchmark,
        transport: Transport,
        quantity: Figure10Quantity,
    ) -> Result<f64, MeasureError> {
        let row = self.row(benchmark, transport)?;
        quantity.columns().iter().map(|column| row.number(column)).sum()
    }

    /// By how many per cent a quantity is lower on `transport` than on `reference`.
    ///
    /// # Errors
    /// When a run was not made, or the reference has none of the quantity.
    pub fn reduction_from(
        &self,
        reference: Transport,
        benchmark: ChipBenchmark,
        transport: Transport,
        quantity: Figure10Quantity,
    ) -> Result<f64, MeasureError> {
        let before = self.count(benchmark, reference, quantity)?;
        let after = self.count(benchmark, transport, quantity)?;
        if before == 0.0 {
            return Err(MeasureError::NotSeen("a miss of the reference"));
        }
        Ok(100.0 * (1.0 - after / before))
    }

    /// The same, from unmodified MPI, as figure 10 has it.
    ///
    /// # Errors
    /// As [`Self::reduction_from`].
    pub fn reduction(
        &self,
        benchmark: ChipBenchmark,
        transport: Transport,
        quantity: Figure10Quantity,
    ) -> Result<f64, MeasureError> {
        self.reduction_from(Transport::Shm, benchmark, transport, quantity)
    }
}
