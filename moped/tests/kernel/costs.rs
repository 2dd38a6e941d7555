// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the kernel costs, in instructions of supervisor mode.

use mb_moped::kernel::Boot;

use crate::{KernelRun, user};

/// Instructions in supervisor mode for one more of what the program repeats.
fn each(what: &str) -> f64 {
    let run = KernelRun { boot: Boot { slice: 1 << 40, ..KernelRun::on(1).boot }, ..KernelRun::on(1) };
    let [few, many] = [1000, 2000].map(|count: u64| {
        let count = count.to_string();
        run.succeeds(&[user(&["p", what, &count], 1, 0)]).counts[0].supervisor
    });
    (many - few) as f64 / 1000.0
}

#[test]
fn a_system_call_costs_176_instructions() {
    // 84 of them save and restore the state of the process.
    assert!((each("calls") - 176.0).abs() < 0.5, "{} instructions", each("calls"));
}

#[test]
fn a_page_of_zeros_costs_some_instructions_more_than_its_stores() {
    // 640 of them clear it, eight stores for each pass of a loop. The rest: trap, area, entry, and the way back to the
    // free list when the process ends.
    let cost = each("touch");
    assert!((900.0..1100.0).contains(&cost), "{cost} instructions");
}
