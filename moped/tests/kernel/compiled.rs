// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The committed files are what the compiler makes of the sources.

use std::path::Path;
use std::process::Command;

use mb_moped::kernel::KERNEL;
use mb_processor::{Isa, LoadError, PhysicalImage, Program};

use crate::USER;

/// The program of the tests of `moped`.
const MOPED: &[u8] = include_bytes!("../../elf/kernel_moped.rv64.elf");

#[test]
fn committed_files_are_built_from_the_sources() {
    let version = Command::new("riscv64-linux-gnu-gcc").arg("--version").output();
    if !version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(" 12.2.0")) {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let sources = ["tests/user.c", "tests/moped.c"].map(|name| folder.join(name));
    for (name, committed, options) in [
        ("kernel", KERNEL, vec![]),
        ("kernel_user", USER, vec![sources[0].as_os_str()]),
        ("kernel_moped", MOPED, vec![sources[1].as_os_str()]),
    ] {
        let file = target.join(format!("{name}.rv64.elf"));
        let mut command = Command::new(folder.join("build.sh"));
        if !options.is_empty() {
            command.arg("-u");
        }
        assert!(command.arg("-o").arg(&file).args(options).status().unwrap().success());
        assert!(
            std::fs::read(&file).unwrap() == committed,
            "moped/elf/{name}.rv64.elf is not current; run make -C moped"
        );
    }
}

#[test]
fn the_kernel_is_an_image_of_physical_memory_and_its_test_programs_are_user_programs() {
    let error = Program::load(KERNEL).expect_err("a kernel");
    assert!(matches!(error, LoadError::Segment { address: 0xffff_ffc0_8000_0000, .. }), "{error}");
    let image = PhysicalImage::read(KERNEL).expect("an image");
    assert_eq!((image.entry(), image.end() > 0x8020_0000), (0x8000_0000, true));
    for file in [USER, MOPED] {
        let program = Program::load(file).expect("a program");
        assert_eq!(program.isa(), Isa::Rv64);
        let [start, main] = ["_start", "main"].map(|name| program.symbol(name).expect("a symbol"));
        assert_eq!(start.address, program.entry());
        assert!(program.code().contains(&main.address) && main.bytes > 0);
    }
}
