// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Deviation and correlation of series whose values are known.

use mb_reproduce::statistics::{correlation, variation};

#[test]
fn deviation_and_correlation_of_known_series() {
    assert!((variation(&[1.0, 3.0]) - 0.5).abs() < 1e-12);
    assert!((correlation(&[1.0, 2.0, 3.0], &[6.0, 4.0, 2.0]) + 1.0).abs() < 1e-12);
    assert!(correlation(&[1.0, 2.0, 1.0, 2.0], &[1.0, 1.0, 2.0, 2.0]).abs() < 1e-12);
}
