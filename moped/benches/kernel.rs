// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions per second of harts without timing under the kernel, beside those of a hart without
//! privileges in the same run.

use mb_firmware::Guest;
use mb_moped::kernel::{Boot, KernelHost, MemoryFiles, UserProgram};
use mb_processor::functional::{Functional, FunctionalParameters, HartStop};
use mb_processor::system::NoDevice;
use mb_processor::{Hart, Isa, Memory, Rv64, Service, Step, Syscall, SyscallHandler, SyscallResult};

const USER: &[u8] = include_bytes!("../elf/kernel_user.rv64.elf");

/// Instructions of a run of the kernel on so many harts, each with a process of this kind.
fn kernel(harts: u32, file: &[u8], arguments: &[&str]) -> u64 {
    let boot = Boot { harts, ..Boot::default() };
    let program = UserProgram { file, ranks: harts, first_core: 0, arguments, environment: &[] };
    let (memory, states) = boot.start(&[program]).expect("a machine");
    let mut machine = Functional::new(memory, NoDevice, &states, 0, FunctionalParameters::default());
    let mut host = KernelHost::new(MemoryFiles::default(), 1);
    assert_eq!(machine.run(&mut host, u64::MAX), HartStop::Exited(0), "{}", host.messages());
    (0..states.len()).map(|hart| machine.counts(hart)).map(|counts| counts.user + counts.supervisor).sum()
}

/// Accepts every call.
struct Mute;

impl SyscallHandler for Mute {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Syscall, _: &mut Memory) -> SyscallResult {
        if call.service == Service::Exit { SyscallResult::Exit(call.arguments[0]) } else { SyscallResult::Value(0) }
    }
}

/// The same instructions without a kernel.
fn bare() -> u64 {
    let program = Guest::Stream.program(Isa::Rv64);
    let mut memory = program.memory(1 << 20);
    let mut hart = Rv64::load(&program, 1).expect("RV64").remove(0);
    hart.set_stack(memory.range().end & !15);
    let mut count = 0;
    while !matches!(hart.step(&mut memory, &mut Mute).expect("no fault"), Step::Exited(_)) {
        count += 1;
    }
    count
}

/// Nanoseconds that this process has run, without the time in which the host ran others.
fn run_time() -> u64 {
    let statistics = std::fs::read_to_string("/proc/self/schedstat").expect("a Linux host");
    statistics.split(' ').next().and_then(|first| first.parse().ok()).expect("a number")
}

/// Million instructions per second of run time.
fn rate(run: &dyn Fn() -> u64) -> f64 {
    let (begin, mut instructions) = (run_time(), 0);
    loop {
        instructions += run();
        let time = run_time() - begin;
        if time > 200_000_000 {
            return instructions as f64 / time as f64 * 1e3;
        }
    }
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
fn main() {
    let stream = Guest::Stream.file(Isa::Rv64);
    let runs: [(&str, &dyn Fn() -> u64); 5] = [
        ("stream without kernel", &bare),
        ("stream, 1 hart", &|| kernel(1, stream, &["stream"])),
        ("stream, 16 harts", &|| kernel(16, stream, &["stream"])),
        ("loop, 1 hart", &|| kernel(1, USER, &["p", "count", "3000000"])),
        ("system calls, 1 hart", &|| kernel(1, USER, &["p", "calls", "50000"])),
    ];
    // In turns, so that a change of the host's speed affects all of them. The best of each counts.
    let mut best = [0.0_f64; 5];
    for _ in 0..6 {
        for ((_, run), best) in runs.iter().zip(&mut best) {
            *best = best.max(rate(run));
        }
    }
    for ((name, _), rate) in runs.iter().zip(best) {
        println!("{name:<24} {rate:>7.1} M inst/s");
    }
}
