// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Presets, invalid configurations, and real programs.

use mb_core::Cycles;
use mb_processor::hierarchy::Hierarchy;
use mb_processor::out_of_order::{
    CommitObserver, InstructionTiming, OutOfOrder, OutOfOrderConfig, OutOfOrderStop, cortex_a72, ppc440,
};
use mb_processor::predictor::Direction;
use mb_processor::{
    BranchKind, Hart, InstructionClass, Memory, Ppc32, Program as Elf, Retired, Rv64, Service, Step, Syscall,
    SyscallHandler, SyscallResult,
};

use crate::script::{Bench, CoreConfig, DATA, Program, TEXT};

#[test]
fn a_cortex_a72_has_the_latencies_of_its_manuals() {
    let chase = |loads: u64, stride: u64, warm: u64| {
        let mut program = Program::new();
        for k in 0..loads {
            program.load(3, 3, DATA + stride * k);
        }
        Bench::warm(&cortex_a72(), warm).run(&program)
    };
    // From load to use.
    assert_eq!(chase(21, 8, 0x1000) - chase(20, 8, 0x1000), 4);
    // A line of 64 bytes from the L2: 1 for the address, 3 for the lookup, 20 to its first 16
    // bytes, 3 for the others.
    assert_eq!(chase(21, 64, 0) - chase(20, 64, 0), 1 + 3 + 20 + 3);
    // An instruction that misses is dispatched after its line has arrived and the front end has
    // begun again.
    let mut program = Program::new();
    program.constant(InstructionClass::Integer, 3);
    let dispatched = |mut bench: Bench| {
        bench.run(&program);
        bench.timings[0].dispatched.0
    };
    let warm = dispatched(Bench::warm(&cortex_a72(), 0));
    assert_eq!(dispatched(Bench::new(&cortex_a72())), warm + 20 + 3);
    // After a branch that is fetched in cycle 0 and mispredicted, the next instruction is fetched
    // 14 cycles later than after a correctly predicted one.
    let next = |direction| {
        let mut config = cortex_a72();
        config.0.predictor.direction = direction;
        let mut program = Program::new();
        program.branch(BranchKind::Conditional, None, TEXT + 0x100, true);
        program.constant(InstructionClass::Integer, 3);
        let mut bench = Bench::warm(&config, 0);
        bench.run(&program);
        bench.timings[1].fetched.0
    };
    assert_eq!(next(Direction::NotTaken) - next(Direction::Perfect), 14);
}

#[test]
fn an_invalid_configuration_is_refused_with_the_parameter() {
    let refused = |change: fn(&mut OutOfOrderConfig)| {
        let (mut core, _) = ppc440(32);
        change(&mut core);
        OutOfOrder::new(core, 0).err().map(|error| error.to_string())
    };
    for (change, reason) in [
        (
            (|core| core.issue_width = 0) as fn(&mut OutOfOrderConfig),
            "parameter `issue_width`: found `0`, expected a whole number from 1 to 64 (count)",
        ),
        (|core| core.lsq = 0, "parameter `lsq`: found `0`, expected a whole number from 1 to 1024 (count)"),
        (
            |core| core.fetch_queue = usize::MAX,
            "parameter `fetch_queue`: found `18446744073709551615`, expected a whole number from 1 to 1024 (count)",
        ),
        (
            |core| core.address.count = 1025,
            "parameter `address_units`: found `1025`, expected a whole number from 0 to 1024 (count)",
        ),
        (
            |core| core.predictor.target_sets = 1 << 62,
            "parameter `btb_sets`: found `4611686018427387904`, expected a whole number from 0 to 65536 (count)",
        ),
        (|core| core.rob = 1025, "parameter `rob`: found `1025`, expected a whole number from 1 to 1024 (count)"),
        (|core| core.fetch_block = 24, "fetch_block is 24 bytes; expected a power of two"),
        (
            |core| core.front_end = Cycles::ZERO,
            "parameter `front_end`: found `0`, expected a whole number from 1 to 64 (cycles)",
        ),
        (
            |core| core.multiply.count = 0,
            "parameter `multiply_units`: found `0`, expected a whole number from 1 to 1024 (count)",
        ),
        (
            |core| core.divide.interval = Cycles::ZERO,
            "parameter `divide_interval`: found `0`, expected a whole number from 1 to 1024 (cycles)",
        ),
        (
            |core| core.predictor.direction = Direction::Bimodal { entries: 100 },
            "predictor: found 100 counters, expected a power of two",
        ),
        (
            |core| core.predictor.direction = Direction::Gshare { entries: 64, history: 33 },
            "parameter `predictor_history`: found `33`, expected a whole number from 0 to 32 (count)",
        ),
        (
            |core| core.predictor.target_ways = 0,
            "predictor: found btb_sets 512 and btb_ways 0, expected a power of two of sets and at least 1 way",
        ),
        (
            |core| core.predictor.address_shift = 17,
            "parameter `address_shift`: found `17`, expected a whole number from 0 to 16 (count)",
        ),
    ] {
        let error = refused(change).unwrap();
        assert!(error.contains(reason), "{error}");
    }
    assert_eq!(refused(|core| core.rob = OutOfOrderConfig::MAX_ENTRIES), None);
}

/// A handler that accepts every call and records what is written.
#[derive(Default)]
struct Console {
    written: Vec<u8>,
}

impl SyscallHandler for Console {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        match call.service {
            Service::Exit => SyscallResult::Exit(call.arguments[0]),
            Service::Write => {
                let [_, address, bytes, ..] = call.arguments;
                self.written.extend_from_slice(memory.get(address, bytes as usize).unwrap());
                SyscallResult::Value(bytes)
            }
            _ => SyscallResult::Value(0),
        }
    }
}

struct Executed(Vec<Retired>);

impl CommitObserver for Executed {
    fn committed(&mut self, timing: &InstructionTiming) {
        self.0.push(timing.retired);
    }
}

fn check<H: Hart + Clone>(program: &Elf, mut hart: H, (core, caches): &CoreConfig) {
    let mut untimed = (hart.clone(), program.memory(0), Console::default());
    let mut expected = Vec::new();
    let status = loop {
        match untimed.0.step(&mut untimed.1, &mut untimed.2).unwrap() {
            Step::Retired(retired) => expected.push(retired),
            Step::Exited(status) => break status,
            Step::Waiting => unreachable!("the handler never waits"),
        }
    };
    let (mut memory, mut console, mut executed) = (program.memory(0), Console::default(), Executed(Vec::new()));
    let mut hierarchy = Hierarchy::new(caches).unwrap();
    let mut core = OutOfOrder::new(*core, 0).unwrap();
    let until = Cycles(100_000_000);
    let stop = core.run_observed(&mut hart, &mut memory, &mut console, &mut hierarchy, until, &mut executed).unwrap();
    assert_eq!(stop, OutOfOrderStop::Exited(status));
    assert_eq!(executed.0, expected);
    assert!(memory == untimed.1, "the final memory differs");
    assert_eq!(console.written, untimed.2.written);
    assert!(!console.written.is_empty());
}

#[test]
fn a_timed_program_has_the_results_of_functional_execution() {
    let program = Elf::load(include_bytes!("../../firmware/elf/md5.ppc32.elf")).unwrap();
    check(&program, Ppc32::load(&program, 1).unwrap().remove(0), &ppc440(32));
    let program = Elf::load(include_bytes!("../../firmware/elf/md5.rv64.elf")).unwrap();
    check(&program, Rv64::load(&program, 1).unwrap().remove(0), &cortex_a72());
}
