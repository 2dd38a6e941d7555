// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Presets, configurations that cannot be built, and real programs.

use mb_core::Cycles;
use mb_processor::hierarchy::Hierarchy;
use mb_processor::out_of_order::{Observer, OutOfOrder, OutOfOrderConfig, Passage, Stop, cortex_a72, ppc440};
use mb_processor::predictor::Direction;
use mb_processor::{
    Answer, Call, Class, Control, Hart, Host, Memory, Ppc32, Program as Elf, Retired, Rv64, Service, Step,
};

use crate::script::{Bench, DATA, Machine, Program, TEXT};

#[test]
fn a_cortex_a72_has_the_latencies_of_its_manuals() {
    let chase = |loads: u64, stride: u64, warm: u64| {
        let mut program = Program::new();
        for k in 0..loads {
            program.load(3, 3, DATA + stride * k);
        }
        Bench::warm(&cortex_a72(), warm).run(&program)
    };
    // Load to use.
    assert_eq!(chase(21, 8, 0x1000) - chase(20, 8, 0x1000), 4);
    // A line of 64 bytes from the L2: 1 for the address, 3 to find that it is not there, 20 to its first 16 bytes, 3 more.
    assert_eq!(chase(21, 64, 0) - chase(20, 64, 0), 1 + 3 + 20 + 3);
    // An instruction whose line is missing is dispatched when that is there and has passed what follows the cache's 3 cycles.
    let mut program = Program::new();
    program.constant(Class::Integer, 3);
    let dispatched = |mut bench: Bench| {
        bench.run(&program);
        bench.passages[0].dispatched.0
    };
    let warm = dispatched(Bench::warm(&cortex_a72(), 0));
    assert_eq!(dispatched(Bench::new(&cortex_a72())), warm + 20 + 3);
    // A branch that is fetched and mispredicted in cycle 0, against one that is not: the next instruction comes 14 cycles later.
    let next = |direction| {
        let mut config = cortex_a72();
        config.0.predictor.direction = direction;
        let mut program = Program::new();
        program.change(Control::Branch, None, TEXT + 0x100, true);
        program.constant(Class::Integer, 3);
        let mut bench = Bench::warm(&config, 0);
        bench.run(&program);
        bench.passages[1].fetched.0
    };
    assert_eq!(next(Direction::NotTaken) - next(Direction::Perfect), 14);
}

#[test]
fn a_core_that_cannot_be_built_is_refused_with_the_reason() {
    let refused = |change: fn(&mut OutOfOrderConfig)| {
        let (mut core, _) = ppc440(32);
        change(&mut core);
        OutOfOrder::new(core, 0).err().map(|error| error.to_string())
    };
    for (change, reason) in [
        ((|core| core.issue_width = 0) as fn(&mut OutOfOrderConfig), "issue width: 0"),
        (|core| core.memory_queue = 0, "a queue of 0 instructions: 1 to 1024 can be built"),
        (|core| core.fetch_queue = usize::MAX, "instructions: 1 to 1024 can be built"),
        (|core| core.address.count = 1025, "1025 address units: at most 1024 can be built"),
        (|core| core.predictor.target_sets = 1 << 62, "predictor: a table of more than 16777216 entries"),
        (|core| core.window = 1025, "a window of 1025 instructions: 1 to 1024 can be built"),
        (|core| core.fetch_block = 24, "a fetch block of 24 bytes is no power of two"),
        (|core| core.front_end = Cycles::ZERO, "from fetch to dispatch: 0 cycles"),
        (|core| core.multiply.count = 0, "there is no integer unit or no multiplier"),
        (|core| core.divide.interval = Cycles::ZERO, "divide units: a latency or interval of 0 cycles"),
        (
            |core| core.predictor.direction = Direction::Bimodal { entries: 100 },
            "predictor: 100 counters are no power of two",
        ),
        (
            |core| core.predictor.direction = Direction::Gshare { entries: 64, history: 33 },
            "predictor: a history of 33 branches is longer than 32",
        ),
        (
            |core| core.predictor.target_ways = 0,
            "predictor: a branch target buffer of 512 sets of 0 ways: sets are a power of two, ways at least 1",
        ),
        (|core| core.predictor.address_shift = 17, "predictor: instructions of 2^17 bytes"),
    ] {
        let error = refused(change).unwrap();
        assert!(error.contains(reason), "{error}");
    }
    assert_eq!(refused(|core| core.window = OutOfOrderConfig::MAX_WINDOW), None);
}

/// Lets every call pass, and keeps what is written.
#[derive(Default)]
struct Console {
    written: Vec<u8>,
}

impl Host for Console {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Call, memory: &mut Memory) -> Answer {
        match call.service {
            Service::Exit => Answer::Exit(call.arguments[0]),
            Service::Write => {
                let [_, address, bytes, _] = call.arguments;
                self.written.extend_from_slice(memory.get(address, bytes as usize).unwrap());
                Answer::Value(bytes)
            }
            _ => Answer::Value(0),
        }
    }
}

struct Executed(Vec<Retired>);

impl Observer for Executed {
    fn committed(&mut self, passage: &Passage) {
        self.0.push(passage.retired);
    }
}

fn check<H: Hart + Clone>(program: &Elf, mut hart: H, (core, caches): &Machine) {
    let mut untimed = (hart.clone(), program.memory(0), Console::default());
    let mut expected = Vec::new();
    let status = loop {
        match untimed.0.step(&mut untimed.1, &mut untimed.2).unwrap() {
            Step::Retired(retired) => expected.push(retired),
            Step::Exited(status) => break status,
            Step::Waiting => unreachable!("this host answers"),
        }
    };
    let (mut memory, mut console, mut executed) = (program.memory(0), Console::default(), Executed(Vec::new()));
    let mut hierarchy = Hierarchy::new(caches).unwrap();
    let mut core = OutOfOrder::new(*core, 0).unwrap();
    let until = Cycles(100_000_000);
    let stop = core.run_observed(&mut hart, &mut memory, &mut console, &mut hierarchy, until, &mut executed).unwrap();
    assert_eq!(stop, Stop::Exited(status));
    assert_eq!(executed.0, expected);
    assert!(memory == untimed.1, "memory is the same in the end");
    assert_eq!(console.written, untimed.2.written);
    assert!(!console.written.is_empty());
}

#[test]
fn a_timed_program_does_what_it_does_untimed() {
    let program = Elf::load(include_bytes!("../../../guest/elf/md5.ppc32.elf")).unwrap();
    check(&program, Ppc32::load(&program, 1).unwrap().remove(0), &ppc440(32));
    let program = Elf::load(include_bytes!("../../../guest/elf/md5.rv64.elf")).unwrap();
    check(&program, Rv64::load(&program, 1).unwrap().remove(0), &cortex_a72());
}
