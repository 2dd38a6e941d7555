// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The header for C and the structures of Rust have the same layout: a C compiler is asked.

use std::fmt::Write;
use std::fs;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use mb_plugin::abi::{Operation, RawCompletion, State, Table, VERSION, status};

/// A C program that compiles only if every number of the header is that of Rust.
fn program() -> String {
    let mut text = String::from("#include <stddef.h>\n#include \"matchbench_engine.h\"\n");
    let mut same = |c: &str, rust: i64| {
        let _ = writeln!(text, "_Static_assert({c} == {rust}, \"{c}\");");
    };
    same("(long)MATCHBENCH_ENGINE_VERSION", i64::from(VERSION));
    for (name, value) in [
        ("MB_OK", status::OK),
        ("MB_BUSY", status::BUSY),
        ("MB_IDLE", status::IDLE),
        ("MB_MORE", status::MORE),
        ("MB_LATER", status::LATER),
        ("MB_FAULT", status::FAULT),
    ] {
        same(name, i64::from(value));
    }
    macro_rules! fields {
        ($c:literal, $rust:ty, $($field:ident),+) => {
            same(concat!("sizeof(", $c, ")"), size_of::<$rust>() as i64);
            $(same(
                concat!("offsetof(", $c, ", ", stringify!($field), ")"),
                offset_of!($rust, $field) as i64,
            );)+
        };
    }
    fields!("mb_operation", Operation, kind, initiator, any_initiator, reserved, id, bits, ignore);
    fields!("mb_completion", RawCompletion, at, kind, visits, id, message, waiting, beyond);
    fields!("mb_state", State, posted, unexpected, busy, posted_overflows, unexpected_overflows, spilled);
    fields!(
        "mb_engine_table",
        Table,
        version,
        bytes,
        description,
        description_bytes,
        create,
        destroy,
        placement,
        offer,
        next_event,
        run_until,
        state,
        message,
        answer
    );
    text
}

fn compile(text: &str, name: &str) -> (bool, String) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{name}.c"));
    fs::write(&file, text).unwrap();
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/include");
    let arguments = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", include];
    let done = Command::new("cc").args(arguments).arg(&file).output().expect("a C compiler");
    (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn the_header_and_this_file_have_the_same_layout() {
    let (same, told) = compile(&program(), "layout");
    assert!(same, "{told}");
}

#[test]
fn another_layout_does_not_compile() {
    let other = program().replace("offsetof(mb_completion, id) == 16", "offsetof(mb_completion, id) == 24");
    assert_ne!(other, program());
    let (same, told) = compile(&other, "other");
    assert!(!same && told.contains("offsetof(mb_completion, id)"), "{told}");
}
