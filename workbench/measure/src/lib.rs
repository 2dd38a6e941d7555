// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Times of data structures on this host, and their use in a replay.
//!
//! The only crate of the workspace that reads a clock. A measured engine takes no simulated time.
//! This crate runs its structure alone, finds the time of each operation, and applies the times in
//! a replay:
//!
//! 1. [`closed_loop`] replays the trace and records the operations of each receiver, first without
//!    times, then with draft times.
//! 2. [`measure`] runs these operations on the bare structures, repeatedly and on one pinned core
//!    ([`host`]). It reads the clock so rarely that the cost of a timestamp is negligible
//!    ([`stopwatch`]).
//! 3. The trace is replayed again, and each operation takes its measured time ([`timed`]).
//!
//! Reasons and rejected alternatives: `docs/decisions/0006-measured-engine.md`.

mod error;
pub mod host;
mod record;
mod rows;
pub mod stopwatch;
pub mod timed;

use std::ops::ControlFlow;
use std::sync::Arc;

use mb_core::ReplayEngine;
use mb_kit::Server;

use crate::timed::TimedEngine;

pub use error::HostMeasureError;
pub use record::{OperationKind, Recorded};
pub use rows::{MeasuredKind, MeasuredOn};
pub use stopwatch::{Effort, HostClock, Measurement, Spans, TimestampSource, measure};
pub use timed::OpTimes;

/// The number of replays of [`closed_loop`].
pub const PASSES: u32 = 3;

/// Makes the engine of the next receiver.
pub type NextEngine<'a> = dyn FnMut() -> Box<dyn ReplayEngine> + 'a;

/// The result of [`closed_loop`].
#[derive(Clone, Debug)]
pub struct ClosedLoopResult<R> {
    /// The replay with measured times.
    pub replay: R,
    /// The measurement behind it.
    pub measurement: Measurement,
    /// Share of the operations, 0 to 1, that came at the same position of their receiver's sequence
    /// when they were measured and in the final replay. Times change the order of operations, and
    /// so what is measured next.
    pub same_order: f64,
}

/// Replays with measured times. `build` makes the measured engine. `replay` is called with the
/// number of the pass, from 0 to [`PASSES`] - 1, and with a builder of engines, which it calls once
/// for each receiver, always in the same order.
///
/// The first pass has no times and records the operations. The second has draft times
/// ([`Effort::draft`]) and records the order in which operations come with times. That order is
/// measured, and its times are applied in the third.
///
/// # Errors
/// Those of `replay`, and [`HostMeasureError`].
pub fn closed_loop<R, E: From<HostMeasureError>>(
    build: &dyn Fn() -> Box<dyn ReplayEngine>,
    effort: &Effort,
    clock: &mut dyn TimestampSource,
    replay: &mut dyn FnMut(u32, &mut NextEngine<'_>) -> Result<R, E>,
    keep_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<ClosedLoopResult<R>, E> {
    let (_, recorded) = pass(build, &Arc::default(), &mut |build| replay(0, build))?;
    let (spans, _) = measure(build, &recorded, &effort.draft(), clock, keep_on)?;
    let times = Arc::new(OpTimes::new(&recorded, &spans));
    let (_, recorded) = pass(build, &times, &mut |build| replay(1, build))?;
    let (spans, measurement) = measure(build, &recorded, effort, clock, keep_on)?;
    let times = Arc::new(OpTimes::new(&recorded, &spans));
    let (replay, replayed) = pass(build, &times, &mut |build| replay(2, build))?;
    Ok(ClosedLoopResult { replay, measurement, same_order: record::share_at_same_position(&recorded, &replayed) })
}

/// One replay with the times `times`, and the operations of its engines.
fn pass<R, E>(
    build: &dyn Fn() -> Box<dyn ReplayEngine>,
    times: &Arc<OpTimes>,
    replay: &mut dyn FnMut(&mut NextEngine<'_>) -> Result<R, E>,
) -> Result<(R, Vec<Vec<Recorded>>), E> {
    let records = record::Records::new();
    let mut receivers = 0..;
    let result = replay(&mut || {
        let receiver = receivers.next().unwrap_or_default();
        Box::new(Server::new(TimedEngine::new(build(), receiver, Arc::clone(times), records.of(receiver))))
    })?;
    Ok((result, records.take()))
}
