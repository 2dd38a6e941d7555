// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Formulas of the ledger, and texts that are none.

use mb_reproduce::formula::{at, value};

#[test]
fn a_formula_has_the_value_that_arithmetic_gives() {
    assert_eq!(at("64*(8 + 8*n + 6)", 10), Some(6016));
    assert_eq!(at(" 64 * (21 + 8*n) + 2", 1), Some(1858));
    assert_eq!(at("8 - 2 - n", 3), Some(3));
    assert_eq!((at("1/n", 1), at("1/n", 2)), (Some(1), None));
    let of = |name: &str| (name == "l1_bytes").then_some(32768.0);
    assert_eq!((value("2 * l1_bytes / 1024", &of), value("l1_bits", &of)), (Some(64.0), None));
}

#[test]
fn what_is_no_formula_has_no_value() {
    for text in ["", "n n", "2n", "(8", "8)", "1/(n - 1)", "constant", "9223372036854775807 + n", "((((((((((((((((((n"]
    {
        assert_eq!(at(text, 1), None, "{text}");
    }
}
