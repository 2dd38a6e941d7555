// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The comparison of every message that arrives with what was sent.

use mb_moped::kernel::MemoryFiles;
use mb_moped::machine::{ExecutionMode, Machine, MachineParameters};
use mb_moped::presets;

use crate::{USER, program};

/// Runs messages of 9 pages; damages the send buffer of the first one in the middle of its copy.
fn run(damages: bool) -> Machine<MemoryFiles> {
    let parameters = MachineParameters {
        harts: 2,
        memory: 32 << 20,
        mode: ExecutionMode::Timing,
        moped: Some(presets::parameters("optcopy")),
        ..MachineParameters::default()
    };
    let programs = [program(USER, 2, &["p", "pages"], &[])];
    let mut machine = Machine::new(&parameters, &programs, MemoryFiles::new(b"")).expect("a machine");
    let mut damaged = !damages;
    while machine.step().is_none() && machine.moved().moved() == 0 {
        damaged = damaged || machine.damage_message();
    }
    assert!(damaged);
    machine
}

#[test]
fn a_message_that_arrives_damaged_is_noticed() {
    let sound = run(false);
    let moved = sound.moved();
    assert_eq!((moved.moved(), moved.different(), moved.compared()), (1, 0, moved.bytes()));
    let machine = run(true);
    let moved = machine.moved();
    assert_eq!((moved.moved(), moved.different()), (1, 1));
    assert!(moved.differences()[0].ends_with("differs at byte 0"), "{:?}", moved.differences());
}
