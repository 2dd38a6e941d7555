// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel on chips: the same results as without timing, from boot on and from the middle of a
//! run.

use mb_moped::kernel::{Boot, KernelHost, MemoryFiles, UserProgram};
use mb_processor::chip::{Chip, ChipConfig, ChipStop, TranslationConfig, cmp, in_order};
use mb_processor::functional::{self, Functional, FunctionalParameters};
use mb_processor::shared_l2::{SharedL2, SharedL2Config};
use mb_processor::system::{MemorySystem, NoDevice};
use mb_processor::{FixedLatency, Memory};

use crate::{KernelRun, user};

/// Runs a chip. The memory is behind a pointer, since the chip is compiled for each type.
fn run_chip(
    chip: &mut Chip,
    until: u64,
    mut memory: &mut dyn MemorySystem,
    host: &mut KernelHost<MemoryFiles>,
) -> ChipStop {
    chip.run_supervised(until, &mut memory, host, &mut ()).expect("no fault")
}

struct Timed {
    config: ChipConfig,
    translation: TranslationConfig,
    latency: u64,
    fetch: u64,
}

impl Timed {
    fn on(cores: usize) -> Self {
        Self { config: cmp(cores), translation: TranslationConfig::default(), latency: 3, fetch: 2 }
    }

    /// Runs to the end on a chip, after `functional` units of time without timing; returns the status
    /// too.
    fn run(&self, functional: u64, slice: u64, programs: &[UserProgram<'_>]) -> (Chip, KernelHost<MemoryFiles>, u64) {
        let (cores, contexts) = (self.config.cores, self.config.contexts);
        let memory = |memory| FixedLatency::new(memory, NoDevice, cores, contexts, self.latency, self.fetch);
        self.run_on(memory, functional, slice, programs)
    }

    fn run_on<M: MemorySystem>(
        &self,
        system: impl FnOnce(Memory) -> M,
        functional: u64,
        slice: u64,
        programs: &[UserProgram<'_>],
    ) -> (Chip, KernelHost<MemoryFiles>, u64) {
        let harts = self.config.harts();
        let boot = Boot { harts: harts as u32, slice, ..Boot::default() };
        let (memory, states) = boot.start(programs).expect("a machine");
        let mut host = KernelHost::new(MemoryFiles::new(b"input"), 1);
        let mut machine = Functional::new(memory, NoDevice, &states, 0, FunctionalParameters::default());
        assert_eq!(machine.run(&mut host, functional), functional::HartStop::Until);
        let (memory, _, states, time) = machine.into_parts();
        let mut memory = system(memory);
        let mut chip = Chip::with_supervisor(&self.config, &self.translation, &states, time).expect("a chip");
        let stop = run_chip(&mut chip, 30_000_000, &mut memory, &mut host);
        let ChipStop::Exited { status, .. } = stop else { panic!("{stop:?} {}", host.messages()) };
        (chip, host, status)
    }
}

#[test]
fn programs_end_on_a_chip_as_without_timing() {
    for (harts, ranks, arguments) in [
        (1, 1, ["p", "hello", "0"]),
        (1, 1, ["p", "files", "0"]),
        (1, 3, ["p", "ring_yield", "2"]),
        (2, 2, ["p", "ring", "20"]),
        (2, 5, ["p", "registers", "400"]),
        (4, 4, ["p", "move", "4"]),
        (2, 3, ["p", "sleep", "200000"]),
    ] {
        let programs = [user(&arguments, ranks, 0)];
        let expected = KernelRun::on(harts as u32).succeeds(&programs);
        for functional in [0, 3000] {
            for config in [cmp(harts), in_order(cmp(harts))] {
                let timed = Timed { config, ..Timed::on(harts) };
                let (_, host, status) = timed.run(functional, 5000, &programs);
                assert_eq!((status, host.messages()), (0, String::new()), "{arguments:?}");
                assert_eq!(host.files().output(), expected.host.files().output(), "{arguments:?}");
            }
        }
    }
}

#[test]
fn programs_end_on_coherent_caches() {
    for (cores, ranks, arguments) in
        [(2, 2, ["p", "ring", "10"]), (4, 6, ["p", "ring_yield", "3"]), (1, 1, ["p", "files", ""])]
    {
        let programs = [user(&arguments, ranks, 0)];
        let expected = KernelRun::on(cores as u32).succeeds(&programs);
        let caches = SharedL2Config::crowley2000(cores, 1);
        let system = |memory| SharedL2::new(&caches, memory, NoDevice).expect("caches");
        let (chip, host, status) = Timed::on(cores).run_on(system, 0, 20_000, &programs);
        assert_eq!((status, host.messages()), (0, String::new()), "{arguments:?}");
        assert_eq!(host.files().output(), expected.host.files().output(), "{arguments:?}");
        for hart in 0..cores {
            let statistics = chip.statistics(hart);
            assert!(statistics.supervisor > 0 && statistics.supervisor < statistics.committed, "{statistics:?}");
            assert!(statistics.traps > 0 && statistics.walks > 0, "{statistics:?}");
        }
    }
}

#[test]
fn a_hostile_program_is_stopped_on_a_chip_as_without_timing() {
    for what in [
        "kernel",
        "kernel_write",
        "kernel_jump",
        "device",
        "physical",
        "null",
        "text",
        "execute",
        "illegal",
        "csr",
        "sret",
        "fence",
        "wait",
        "breakpoint",
        "misaligned",
        "other",
    ] {
        let hostile = ["p", "hostile", what];
        let programs = [user(&hostile, 2, 0)];
        let expected = KernelRun::on(2).run(&programs);
        let (_, host, status) = Timed::on(2).run(0, 10_000, &programs);
        // Both ranks do the same, and either may be the first; "other" is stopped in rank 1.
        let line = |text: String| {
            let line = text.lines().next().unwrap_or_default().to_owned();
            line.split_once(": ").and_then(|(_, rest)| rest.split_once(": ")).map(|(_, rest)| rest.to_owned())
        };
        assert_eq!(line(host.messages()), line(expected.host.messages()), "{what}");
        assert!(line(host.messages()).is_some(), "{what}: {}", host.messages());
        assert!(matches!(expected.stop, functional::HartStop::Exited(found) if found > 128) && status > 128, "{what}");
    }
}

#[test]
fn the_state_moves_from_chip_to_harts_without_timing() {
    let programs = [user(&["p", "registers", "300"], 3, 0)];
    let boot = Boot { harts: 2, slice: 3000, ..Boot::default() };
    let (mut memory, mut states) = boot.start(&programs).expect("a machine");
    let mut host = KernelHost::new(MemoryFiles::default(), 1);
    let mut time = 0;
    for round in 0.. {
        assert!(round < 1000, "the program does not end");
        // On a chip, up to a cycle in which the state of all harts is precise.
        let mut system = FixedLatency::new(memory, NoDevice, 2, 1, 3, 2);
        let mut chip = Chip::with_supervisor(&cmp(2), &TranslationConfig::default(), &states, time).expect("a chip");
        let mut until = time + 4000;
        let stop = loop {
            let stop = run_chip(&mut chip, until, &mut system, &mut host);
            let precise = (0..2).all(|hart| chip.state(hart).is_some() && system.drained(hart, 0));
            if stop != ChipStop::Until || precise {
                break stop;
            }
            until += 1;
        };
        if let ChipStop::Exited { status, .. } = stop {
            assert_eq!((status, host.messages()), (0, String::new()));
            return;
        }
        states = (0..2).map(|hart| chip.state(hart).expect("precise")).collect();
        let base = mb_moped::kernel::MEMORY_BASE;
        let bytes = system.bytes(base, boot.memory as usize).expect("memory").to_vec();
        memory = Memory::new(base, bytes.len());
        memory.write(base, &bytes).expect("memory");
        let mut machine = Functional::new(memory, NoDevice, &states, chip.now(), FunctionalParameters::default());
        let stop = machine.run(&mut host, chip.now() + 4000);
        (memory, _, states, time) = machine.into_parts();
        if let functional::HartStop::Exited(status) = stop {
            assert_eq!((status, host.messages()), (0, String::new()));
            return;
        }
    }
}
