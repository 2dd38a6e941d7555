// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Constructors of the parameters that several patterns share.

use mb_core::ParameterSpec;
use mb_core::parameters::{Domain, Unit};

use crate::generate::Parameter;

pub(super) const fn count(
    key: &'static str,
    default: &'static str,
    range: (u64, u64),
    help: &'static str,
) -> Parameter {
    let domain = Domain::Range { unit: Unit::Count, low: range.0, high: range.1 };
    Parameter { spec: ParameterSpec { key, domain, meaning: help }, default }
}

pub(super) const fn choice(
    key: &'static str,
    words: &'static [&'static str],
    default: &'static str,
    help: &'static str,
) -> Parameter {
    Parameter { spec: ParameterSpec { key, domain: Domain::Choice(words), meaning: help }, default }
}

pub(super) const fn compute(default: &'static str, help: &'static str) -> Parameter {
    let domain = Domain::Range { unit: Unit::Nanoseconds, low: 0, high: 1_000_000_000_000 };
    Parameter { spec: ParameterSpec { key: "compute", domain, meaning: help }, default }
}

pub(super) const fn iterations(default: &'static str) -> Parameter {
    count("iterations", default, (1, 1_000_000_000), "Steps of the program.")
}

pub(super) const fn bytes(default: &'static str) -> Parameter {
    count("bytes", default, (0, 1 << 48), "Size of a message, bytes.")
}

pub(super) const fn grid(key: &'static str) -> Parameter {
    count(key, "0", (0, i32::MAX as u64), "Ranks along this axis; 0 on all axes: as even as the ranks allow.")
}

pub(super) const ORDER: Parameter = choice(
    "order",
    &["arrival", "reverse", "random"],
    "arrival",
    "Order in which receives are posted, against that in which their messages are sent.",
);
