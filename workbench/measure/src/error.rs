// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a measurement failed.

/// Why a measurement failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HostMeasureError {
    /// The engine is a model and has no structure to run.
    #[error("the engine is a model, expected one that is measured on the host (`timing = measured`)")]
    NothingToMeasure,
    /// The bare structure had another outcome than its engine.
    #[error(
        "receiver {receiver}, operation {operation}: `{found}` found when measured, `{expected}` expected from the replay"
    )]
    Outcome {
        /// Number of the receiver, from 0.
        receiver: usize,
        /// Number of the operation, from 1.
        operation: usize,
        /// The outcome of the bare structure.
        found: String,
        /// The outcome of the engine.
        expected: String,
    },
    /// The caller stopped the measurement.
    #[error("interrupted")]
    Interrupted,
}
