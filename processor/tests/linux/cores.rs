// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The same program on every core model.

use mb_processor::Program;
use mb_processor::linux::{CoreModel, Simulation};

use crate::programs::{build, run, start};

#[test]
fn a_program_has_the_same_output_on_every_core_model() {
    let Some(path) = build("library.c", "riscv64-linux-gnu-gcc", "cores") else { return };
    let program = Program::load(&std::fs::read(&path).expect("a file of this test")).expect("a program");
    let mut process = start(&path);
    let status = run(&mut process);
    let expected = process.linux.files().output.clone();
    let mut instructions = Vec::new();
    for name in CoreModel::names() {
        let model = CoreModel::of(name).expect("a name of the list");
        let mut simulation = Simulation::new(&model, program.clone(), start(&path)).expect("a preset");
        let found = simulation.run(u64::MAX).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        assert_eq!(found, Some(status), "{name}");
        let output = &simulation.linux().files().output;
        assert!(*output == expected, "{name}: {}", String::from_utf8_lossy(output));
        instructions.push(simulation.counts()[0].1);
    }
    // The number of instructions, without the last call, which some models count.
    let least = instructions.iter().min().expect("not empty");
    assert!(instructions.iter().all(|count| count - least <= 1), "{instructions:?}");
    std::fs::remove_file(path).expect("a file of this test");
}
