// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs that cannot continue are refused with address, symbol and number.

use mb_core::parameters::{Source, Value};
use mb_processor::Program;
use mb_processor::linux::{CoreModel, Linux, Simulation, StartError};

use crate::console::Console;
use crate::programs::{build, start};

/// What the program with this argument says on a core model.
fn failure(path: &std::path::Path, model: &str, argument: &str) -> String {
    let program = Program::load(&std::fs::read(path).expect("a file of this test")).expect("a program");
    let arguments = [b"refused".to_vec(), argument.as_bytes().to_vec()];
    let process = Linux::start(&program, &arguments, &[], 32 << 20, Console::default()).expect("enough memory");
    let model = CoreModel::of(model).expect("a model");
    let mut simulation = Simulation::new(&model, program, process).expect("a preset");
    match simulation.run(u64::MAX) {
        Err(failure) => failure.to_string(),
        Ok(status) => panic!("{status:?}: {}", String::from_utf8_lossy(&simulation.linux().files().error)),
    }
}

#[test]
fn an_unknown_call_or_instruction_is_named_with_address_and_symbol() {
    let Some(path) = build("refused.c", "riscv64-linux-gnu-gcc", "refused") else { return };
    let program = Program::load(&std::fs::read(&path).expect("a file of this test")).expect("a program");
    for model in ["functional", "cortex_a72", "barrel", "smt1"] {
        for (argument, symbol, offset, text) in [
            ("call", "unknown_call", 4, "system call 198 (socket) is not implemented"),
            ("number", "unknown_number", 4, "system call 999 is not implemented"),
            ("instruction", "unknown_instruction", 0, "illegal instruction 0x00000000"),
            ("register", "unknown_register", 0, "illegal instruction 0x30002573"),
            ("load", "bad_load", 0, "access of 8 bytes at 0x0; expected aligned bytes inside memory"),
        ] {
            let address = program.symbol(symbol).expect("a function").address + offset;
            let place = if offset == 0 { symbol.to_owned() } else { format!("{symbol}+{offset:#x}") };
            assert_eq!(failure(&path, model, argument), format!("pc {address:#x} ({place}): {text}"), "{model}");
        }
    }
    std::fs::remove_file(path).expect("a file of this test");
}

#[test]
fn an_unknown_parameter_and_too_little_memory_are_refused() {
    let mut model = CoreModel::of("cortex_a72").expect("a model");
    let mut set = |key: &str, text: &str| model.parameters.set(key, text, Source::User);
    assert!(
        set("size", "1").expect_err("unknown").to_string().starts_with("unknown parameter `size`; expected one of ")
    );
    assert_eq!(
        set("rob", "1").and_then(|()| set("fetch_width", "65")).expect_err("too large").to_string(),
        "parameter `fetch_width`: found `65`, expected a whole number from 1 to 64 (count)"
    );
    assert_eq!(model.parameters.get("rob").map(|rob| rob.value), Some(Value::Whole(1)));
    let Some(path) = build("library.c", "riscv64-linux-gnu-gcc", "memory") else { return };
    let program = Program::load(&std::fs::read(&path).expect("a file of this test")).expect("a program");
    let error = Linux::start(&program, &[], &[], 1 << 20, Console::default()).err().expect("too little");
    assert!(matches!(error, StartError::Memory { found: 0x10_0000, .. }), "{error}");
    drop(start(&path));
    std::fs::remove_file(path).expect("a file of this test");
}
