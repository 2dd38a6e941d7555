// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Claims that state a value of a preset: `engine:preset formula`, with the parameters of the preset as names.
//!
//! A time counts in nanoseconds, a frequency in megahertz.

use mb_core::Picos;
use mb_core::parameters::Value;

use crate::formula;

/// The value that a preset has.
///
/// # Errors
/// When no engine has such a preset, or the formula has another name than a number of it.
pub fn of(pointer: &str) -> Result<f64, String> {
    let (preset, text) = pointer.split_once(' ').unwrap_or((pointer, ""));
    let choice = mb_catalog::find(preset).map_err(|error| error.to_string())?;
    let number = |name: &str| match choice.parameters.get(name)?.value {
        Value::Time(Picos(thousandths)) | Value::Frequency(thousandths) => Some(thousandths as f64 / 1000.0),
        Value::Whole(number) => Some(number as f64),
        Value::Word(_) => None,
    };
    formula::value(text, &number)
        .ok_or_else(|| format!("found `{text}`, expected a formula of numbers and of parameters of `{preset}`"))
}
