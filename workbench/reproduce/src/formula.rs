// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Formulas as the ledger writes them: whole numbers, names, `+`, `-`, `*`, `/` and parentheses.
//!
//! Cost: proportional to the text, each time.

/// The value of `text` at `n`, its only name, or `None` if it is not such a formula or its value is no whole number
/// that an `f64` holds exactly.
#[must_use]
pub fn at(text: &str, n: i64) -> Option<i64> {
    const MOST: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    let value = value(text, &|name| (name == "n").then_some(n as f64))?;
    (value.fract() == 0.0 && value.abs() < MOST).then_some(value as i64)
}

/// The value of `text`, or `None` if it is not a formula, `of` does not know a name, or the value is not finite.
#[must_use]
pub fn value(text: &str, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
    let mut rest = text.trim_start();
    let value = sum(&mut rest, of, 0)?;
    (rest.is_empty() && value.is_finite()).then_some(value)
}

/// Maximum depth of parentheses; no formula of a paper has more.
const DEPTH: u32 = 16;

type Names<'a> = &'a dyn Fn(&str) -> Option<f64>;

fn sum(rest: &mut &str, of: Names<'_>, depth: u32) -> Option<f64> {
    let mut total = product(rest, of, depth)?;
    loop {
        if take(rest, '+') {
            total += product(rest, of, depth)?;
        } else if take(rest, '-') {
            total -= product(rest, of, depth)?;
        } else {
            return Some(total);
        }
    }
}

fn product(rest: &mut &str, of: Names<'_>, depth: u32) -> Option<f64> {
    let mut total = factor(rest, of, depth)?;
    loop {
        if take(rest, '*') {
            total *= factor(rest, of, depth)?;
        } else if take(rest, '/') {
            total /= factor(rest, of, depth)?;
        } else {
            return Some(total);
        }
    }
}

fn factor(rest: &mut &str, of: Names<'_>, depth: u32) -> Option<f64> {
    if take(rest, '(') {
        let value = if depth < DEPTH { sum(rest, of, depth + 1)? } else { return None };
        return take(rest, ')').then_some(value);
    }
    let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    let value = match word.bytes().next()? {
        b'0'..=b'9' => word.parse::<u64>().ok()? as f64,
        _ => of(word)?,
    };
    *rest = after.trim_start();
    Some(value)
}

fn take(rest: &mut &str, letter: char) -> bool {
    match rest.strip_prefix(letter) {
        Some(after) => {
            *rest = after.trim_start();
            true
        }
        None => false,
    }
}
