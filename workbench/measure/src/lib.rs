// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Times of structures on this host, and their place in a replay: pinning, warm-up, stopwatch.
//!
//! The only crate of the house that reads a clock. A measured engine takes no time itself; here its structure is run by
//! itself, the time of each operation is found, and a replay is charged with it:
//!
//! 1. [`closed_loop`] replays and records what each receiver's engine was asked for, first without cost, then with a draft of it;
//! 2. [`measure`] runs these operations on the bare structures, again and again on one pinned core ([`host`]), and reads the
//!    clock so rarely that reading it costs nothing ([`stopwatch`]);
//! 3. the replay is run once more, and each operation takes what was measured for it ([`charge`]).
//!
//! Why so, and what was not chosen: `docs/decisions/0006-measured-engine.md`.

pub mod charge;
pub mod host;
mod record;
pub mod stopwatch;

use std::ops::ControlFlow;
use std::sync::Arc;

use mb_core::Engine;
use mb_kit::Server;

use crate::charge::Charged;

pub use charge::Charges;
pub use record::{Kind, Recorded};
pub use stopwatch::{Clock, Effort, HostClock, Measurement, Spans, measure};

/// Why there is no measurement.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MeasureError {
    /// The engine is a model: it has no structure that could be run by itself.
    #[error("there is nothing to measure: the engine is a model")]
    NothingToMeasure,
    /// The structure by itself answered otherwise than within its engine.
    #[error("receiver {receiver}, operation {operation}: `{found}` when measured, but `{expected}` in the replay")]
    Outcome {
        /// Number of the receiver, from 0.
        receiver: usize,
        /// Number of the operation, from 1.
        operation: usize,
        /// What the bare structure answered.
        found: String,
        /// What the engine answered.
        expected: String,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// How many replays [`closed_loop`] asks for.
pub const PASSES: u32 = 3;

/// Makes the engine of the next receiver.
pub type NextEngine<'a> = dyn FnMut() -> Box<dyn Engine> + 'a;

/// What [`closed_loop`] found.
#[derive(Clone, Debug)]
pub struct Found<R> {
    /// The replay whose operations took the measured times.
    pub replay: R,
    /// The measurement behind it.
    pub measurement: Measurement,
    /// Share of the operations that were charged and had stood in the same place of their receiver's sequence when they were
    /// measured, 0 to 1. Times change which of two operations comes first, and so what is measured next.
    pub same_order: f64,
}

/// Replays with measured times: `replay` is called with the number of the pass, from 0 to [`PASSES`] - 1, and with a builder of
/// engines that it calls once for each receiver, always in the same order. `build` makes the measured engine.
///
/// The first pass takes no time and records. The second is charged with a draft of a measurement of that record
/// ([`Effort::draft`]), and records the order in which operations come when they take their time. That order is measured, and
/// charged in the third.
///
/// # Errors
/// Those of `replay`, and [`MeasureError`].
pub fn closed_loop<R, E: From<MeasureError>>(
    build: &dyn Fn() -> Box<dyn Engine>,
    effort: &Effort,
    clock: &mut dyn Clock,
    replay: &mut dyn FnMut(u32, &mut NextEngine<'_>) -> Result<R, E>,
    keep_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Found<R>, E> {
    let (_, recorded) = pass(build, &Arc::default(), &mut |build| replay(0, build))?;
    let (spans, _) = measure(build, &recorded, &effort.draft(), clock, keep_on)?;
    let charges = Arc::new(Charges::new(&recorded, &spans));
    let (_, recorded) = pass(build, &charges, &mut |build| replay(1, build))?;
    let (spans, measurement) = measure(build, &recorded, effort, clock, keep_on)?;
    let charges = Arc::new(Charges::new(&recorded, &spans));
    let (replay, charged) = pass(build, &charges, &mut |build| replay(2, build))?;
    Ok(Found { replay, measurement, same_order: record::same_places(&recorded, &charged) })
}

/// A replay charged with `charges`, and what its engines were asked for.
fn pass<R, E>(
    build: &dyn Fn() -> Box<dyn Engine>,
    charges: &Arc<Charges>,
    replay: &mut dyn FnMut(&mut NextEngine<'_>) -> Result<R, E>,
) -> Result<(R, Vec<Vec<Recorded>>), E> {
    let records = record::Records::new();
    let mut receivers = 0..;
    let result = replay(&mut || {
        let receiver = receivers.next().unwrap_or_default();
        Box::new(Server::new(Charged::new(build(), receiver, Arc::clone(charges), records.of(receiver))))
    })?;
    Ok((result, records.take()))
}
