// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Grids of ranks.

use mb_core::ParameterError;

/// Splits `ranks` into `N` factors that are as equal as possible, largest first.
fn even_grid<const N: usize>(ranks: u32) -> [u32; N] {
    let mut grid = [1; N];
    let mut left = ranks;
    for (axis, side) in grid.iter_mut().enumerate() {
        // The smallest divisor that is at least the n-th root of what is left, for n axes left.
        let axes = (N - axis) as u32;
        let enough = |side: u32| u128::from(side).pow(axes) >= u128::from(left);
        *side = divisors(left).find(|&side| enough(side)).unwrap_or(left);
        left /= *side;
    }
    grid.sort_unstable_by(|a, b| b.cmp(a));
    grid
}

/// Divisors of `number` in increasing order.
fn divisors(number: u32) -> impl Iterator<Item = u32> {
    let root = number.isqrt();
    let small = (1..=root).filter(move |side| number.is_multiple_of(*side));
    let large = (1..=root).rev().filter(move |side| number.is_multiple_of(*side)).map(move |side| number / side);
    small.chain(large)
}

/// The sides of the grid of `ranks` ranks: those `given`, or as equal as possible where all are 0.
///
/// # Errors
/// When the sides given make another number of ranks.
pub(super) fn grid<const N: usize>(given: [u64; N], ranks: u32) -> Result<[u32; N], ParameterError> {
    if given == [0; N] {
        return Ok(even_grid(ranks));
    }
    let found = given.iter().fold(1_u64, |product, &side| product.saturating_mul(side));
    if found != u64::from(ranks) {
        let text = given.map(|side| side.to_string()).join(" x ");
        return Err(ParameterError::Contradiction(format!("grid {text}: found {found} ranks, expected {ranks}")));
    }
    Ok(given.map(|side| side as u32))
}
