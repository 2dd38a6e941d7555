// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs that do what they must not are stopped and named; others go on.

use mb_moped::kernel::UserProgram;
use mb_processor::functional::HartStop;

use crate::{KernelRun, USER, user};

const SIGILL: u64 = 4;
const SIGTRAP: u64 = 5;
const SIGBUS: u64 = 7;
const SIGKILL: u64 = 9;
const SIGSEGV: u64 = 11;

#[test]
fn a_hostile_program_is_stopped_and_named() {
    let outside = ": outside of the user's address space";
    let nothing = ": nothing is mapped there";
    for (what, signal, name, address, more) in [
        ("kernel", SIGSEGV, "load from a page without right to read", "0xffffffc080200000", outside),
        ("kernel_write", SIGSEGV, "store to a page without right to write", "0xffffffc080200000", outside),
        ("kernel_jump", SIGSEGV, "fetch from a page without right to execute", "0xffffffc080000000", outside),
        ("device", SIGSEGV, "load from a page without right to read", "0x3000000000", nothing),
        ("physical", SIGSEGV, "load from a page without right to read", "0x80200000", nothing),
        ("null", SIGSEGV, "store to a page without right to write", "0x0", nothing),
        ("text", SIGSEGV, "store to a page without right to write", "0x11", ""),
        ("execute", SIGSEGV, "fetch from a page without right to execute", "0x1", ""),
        ("illegal", SIGILL, "illegal instruction", "0xffffffff", ""),
        ("csr", SIGILL, "illegal instruction", "0x180022f3", ""),
        ("sret", SIGILL, "illegal instruction", "0x10200073", ""),
        ("fence", SIGILL, "illegal instruction", "0x12000073", ""),
        ("wait", SIGILL, "illegal instruction", "0x10500073", ""),
        ("breakpoint", SIGTRAP, "breakpoint", "0x1", ""),
        ("misaligned", SIGBUS, "misaligned atomic", "0x1", ""),
    ] {
        // Another program on the same core is not harmed, and one that shares the fate of the rank.
        let hostile = ["p", "hostile", what];
        let programs = [user(&hostile, 1, 1), user(&["p", "count", "3000"], 2, 0)];
        let outcome = KernelRun::on(2).run(&programs);
        assert_eq!(outcome.stop, HartStop::Exited(128 + signal), "{what}");
        let message = outcome.host.messages();
        let start = format!("kernel: program 0 rank 0 pid 1 core 1: {name}, address {address}");
        assert!(message.starts_with(&start) && message.contains(&format!("{more}, pc 0x")), "{message}");
        // Its place is known too: the program cannot hide its stack, nor does one that is nowhere do harm.
        let places: Vec<_> = outcome.host.places().iter().map(|place| format!("{:#x}", place.pc)).collect();
        assert!(places.len() == 1 && message.ends_with(&format!("pc {}\n", places[0])), "{places:?} {message}");
        let mut ended: Vec<_> = outcome.host.ended().iter().map(|end| (end.program, end.rank, end.status)).collect();
        ended.sort_unstable();
        assert_eq!(ended, [(0, 0, 128 + signal), (1, 0, 0), (1, 1, 0)], "{what}");
    }
}

#[test]
fn a_process_does_not_see_the_memory_of_another() {
    // The other rank of the program, which maps this address and waits, ends with it.
    for harts in [1, 2] {
        let outcome = KernelRun::on(harts).run(&[user(&["p", "hostile", "other"], 2, 0)]);
        assert!(outcome.host.messages().contains("rank 1 pid 2 core"), "{}", outcome.host.messages());
        assert!(outcome.host.messages().contains("address 0x10000000"), "{}", outcome.host.messages());
        let mut ended: Vec<_> = outcome.host.ended().iter().map(|end| (end.rank, end.status)).collect();
        ended.sort_unstable();
        assert_eq!(ended, [(0, 128 + SIGKILL), (1, 128 + SIGSEGV)]);
    }
}

#[test]
fn the_kernel_does_not_read_for_a_program_what_the_program_must_not_read() {
    let outcome = KernelRun::on(1).run(&[user(&["p", "hostile", "buffer"], 1, 0)]);
    assert_eq!((outcome.stop, outcome.output()), (HartStop::Exited(14), String::new()));
}

#[test]
fn a_file_that_is_no_program_is_named() {
    let mut other_machine = USER.to_vec();
    other_machine[18] = 62;
    let mut relocatable = USER.to_vec();
    relocatable[16] = 3;
    let mut headers = USER.to_vec();
    headers[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
    for (file, message) in [
        (&b"short"[..], "shorter than an ELF header"),
        (&[0; 4096], "not an ELF file with 64 bits, little-endian"),
        (&other_machine, "not for RISC-V"),
        (&relocatable, "not an executable at fixed addresses; link with -static -no-pie"),
        (&headers, "the program headers are outside of the file"),
    ] {
        let program = UserProgram { file, ranks: 1, first_core: 0, arguments: &["p"], environment: &[] };
        let outcome = KernelRun::on(2).run(&[program]);
        assert_eq!(outcome.stop, HartStop::Exited(255));
        let expected = format!("kernel: program 0: {message}\nkernel: hart 0: cannot load a program\n");
        assert_eq!(outcome.host.messages(), expected);
    }
}
