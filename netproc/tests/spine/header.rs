// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The numbers and offsets of the tests are those of `netproc.h`, and the sources compile to the
//! committed files by the commands of the crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use mb_netproc::spine::{COMPILER, SOURCES, Spine, commands};

use crate::contract::{app, phase, reason, verdict};

/// The constants of a header, by name.
fn constants(header: &str) -> BTreeMap<String, u64> {
    let number = |text: &str| {
        let text = text.trim().trim_end_matches(['u', 'l']);
        text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
    };
    let mut found = BTreeMap::new();
    for part in header.lines().map(|line| line.split("//").next().unwrap_or("")).flat_map(|line| line.split([',', '{']))
    {
        let define = part.trim().strip_prefix("#define ").and_then(|rest| rest.split_once(' '));
        if let Some((name, value)) = define.or_else(|| part.trim().trim_end_matches("};").split_once('='))
            && let Some(value) = number(value)
        {
            found.insert(name.trim().to_owned(), value);
        }
    }
    found
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("spine")
}

fn source(name: &str) -> &'static str {
    SOURCES.iter().find(|(found, _)| *found == name).expect("a source").1
}

#[test]
fn numbers_are_those_of_the_header() {
    let found = constants(source("netproc.h"));
    let expected = [
        ("NP_APP_NULL", app::NULL.into()),
        ("NP_APP_IP_FORWARD", app::IP_FORWARD.into()),
        ("NP_APP_HTTPMON", app::HTTPMON.into()),
        ("NP_APP_MD5", app::MD5.into()),
        ("NP_APP_3DES", app::TRIPLE_DES.into()),
        ("NP_APP_USER", app::USER.into()),
        ("NP_APP_NONE", app::NONE.into()),
        ("NP_FORWARD", verdict::FORWARD.into()),
        ("NP_DROP", verdict::DROP.into()),
        ("NP_DROP_HANDLER", reason::HANDLER.into()),
        ("NP_DROP_TRUNCATED", reason::TRUNCATED.into()),
        ("NP_DROP_TOO_LONG", reason::TOO_LONG.into()),
        ("NP_DROP_CHECK", reason::CHECK.into()),
        ("NP_DROP_TYPE", reason::TYPE.into()),
        ("NP_DROP_HEADER", reason::HEADER.into()),
        ("NP_DROP_CHECKSUM", reason::CHECKSUM.into()),
        ("NP_DROP_TTL", reason::TTL.into()),
        ("NP_DROP_NO_ROUTE", reason::NO_ROUTE.into()),
        ("NP_DROP_NO_CLASS", reason::NO_CLASS.into()),
        ("NP_DROP_FLOWS", reason::FLOWS.into()),
        ("NP_PHASE_START", phase::START as u64),
        ("NP_PHASE_IDLE", phase::IDLE as u64),
        ("NP_PHASE_OS", phase::OS as u64),
        ("NP_PHASE_CLASSIFY", phase::CLASSIFY as u64),
        ("NP_PHASE_HANDLER", phase::HANDLER as u64),
        ("NP_PHASE_COMPLETE", phase::COMPLETE as u64),
        ("NP_DEVICE", 0x1000_0000),
        ("NP_MAGIC", 0x0031_504e),
    ];
    for (name, value) in expected {
        assert_eq!(found.get(name), Some(&value), "{name}");
    }
}

#[test]
fn the_crate_has_all_sources() {
    let on_disk: BTreeSet<String> = std::fs::read_dir(folder())
        .expect("the folder of the sources")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .filter(|name| [".c", ".h", ".S", ".ld"].iter().any(|suffix| name.ends_with(suffix)))
        .collect();
    let known: BTreeSet<String> = SOURCES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(known, on_disk);
}

/// Compiles a program, without the commands that have run; `None` if the compiler is not the one of the committed
/// files. Programs of the same instructions share a folder for objects.
fn build(
    done: &mut BTreeSet<Vec<String>>,
    bit_manipulation: bool,
    handler: Option<&Path>,
    name: &str,
) -> Option<Vec<u8>> {
    let version = Command::new(COMPILER).arg("--version").output().ok()?;
    let version = String::from_utf8(version.stdout).ok()?;
    if !version.lines().next()?.ends_with("12.2.0") {
        return None;
    }
    let objects = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("netproc-{bit_manipulation}"));
    std::fs::create_dir_all(&objects).expect("a folder for objects");
    let output = objects.join(format!("{name}.elf"));
    for command in commands(COMPILER, bit_manipulation, handler, &objects, &output) {
        if !done.insert(command.clone()) {
            continue;
        }
        let status = Command::new(&command[0]).args(&command[1..]).current_dir(folder()).status();
        assert!(status.is_ok_and(|status| status.success()), "{command:?}");
    }
    Some(std::fs::read(output).expect("the program"))
}

#[test]
fn the_commands_compile_the_committed_programs() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/block_port.c");
    let bad = folder().join("tests/bad.c");
    let mut done = BTreeSet::new();
    for (spine, bits, handler) in [
        (Spine::Plain, false, None),
        (Spine::BitManipulation, true, None),
        (Spine::BlockPort, false, Some(example.as_path())),
        (Spine::BadHandler, false, Some(bad.as_path())),
    ] {
        if let Some(program) = build(&mut done, bits, handler, &format!("{spine:?}")) {
            assert!(program == spine.file(), "{spine:?}: the committed file differs; run make guest");
        }
    }
}
