// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Spans of time that the program or sizes determine, limited so that sums do not overflow.

use mb_core::time::Picos;

use super::world::World;

/// Scales recorded CPU time.
#[inline]
pub(super) fn compute_time(world: &World, ns: u64) -> Picos {
    if ns == 0 {
        return Picos::ZERO;
    }
    let picos = ns.saturating_mul(1000);
    let scale = world.config.cpu_scale;
    // Exact in the common case. Otherwise the 53 bits of a float are enough for 2.5 hours in
    // picoseconds.
    #[expect(clippy::float_cmp, reason = "exactly one means: do not scale")]
    let unscaled = scale == 1.0;
    let scaled = if unscaled { picos } else { (picos as f64 * scale) as u64 };
    Picos(scaled.min(END.0))
}

/// `each * bytes`, at most [`END`].
#[inline]
pub(super) fn times(each: Picos, bytes: u64) -> Picos {
    Picos(each.0.saturating_mul(bytes).min(END.0))
}

/// `at + span`, at most twice [`END`].
#[inline]
pub(super) fn after(at: Picos, span: Picos) -> Picos {
    Picos(at.0.saturating_add(span.0).min(2 * END.0))
}

/// The end of simulated time, 2^62 ps or 53 days. Spans are limited to it and their sums to twice
/// as much, so that no extreme size or time overflows before the replay reaches the end and stops.
pub(crate) const END: Picos = Picos(1 << 62);
