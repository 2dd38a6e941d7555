// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Formulas in n as the ledger writes them: whole numbers, `n`, `+`, `-`, `*` and parentheses.
//!
//! Cost: proportional to the text, each time.

/// The value of `text` at `n`, or `None` if it is not such a formula or its value does not fit.
#[must_use]
pub fn at(text: &str, n: i64) -> Option<i64> {
    let mut rest = text.trim_start();
    let value = sum(&mut rest, n, 0)?;
    rest.is_empty().then_some(value)
}

/// Maximum depth of parentheses; no formula of a paper has more.
const DEPTH: u32 = 16;

fn sum(rest: &mut &str, n: i64, depth: u32) -> Option<i64> {
    let mut total = product(rest, n, depth)?;
    loop {
        if take(rest, '+') {
            total = total.checked_add(product(rest, n, depth)?)?;
        } else if take(rest, '-') {
            total = total.checked_sub(product(rest, n, depth)?)?;
        } else {
            return Some(total);
        }
    }
}

fn product(rest: &mut &str, n: i64, depth: u32) -> Option<i64> {
    let mut total = factor(rest, n, depth)?;
    while take(rest, '*') {
        total = total.checked_mul(factor(rest, n, depth)?)?;
    }
    Some(total)
}

fn factor(rest: &mut &str, n: i64, depth: u32) -> Option<i64> {
    if take(rest, 'n') {
        return Some(n);
    }
    if take(rest, '(') {
        let value = if depth < DEPTH { sum(rest, n, depth + 1)? } else { return None };
        return take(rest, ')').then_some(value);
    }
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let value = rest[..digits].parse().ok()?;
    *rest = rest[digits..].trim_start();
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
