// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How operations follow each other in time. What a walk costs is in the tests of `workbench/reproduce`.

use mb_core::{Clock, Cycles, Engine, Envelope, Initiator, MsgId, Op, Pattern, Picos, RecvId, Shortcuts};
use mb_firmware::Guest;
use mb_list_ooo::machine::FirmwareCore;
use mb_list_ooo::parameters::ListOooParts;
use mb_list_ooo::{ENTRY, ListOoo, pipeline};
use mb_processor::{Hart, InstructionClass, Ppc32, Rv64};
use mb_testkit::preset;

const CLOCK: Clock = Clock::from_mhz(500);

fn envelope(bits: u64) -> Envelope {
    Envelope { bits, initiator: Initiator(1) }
}

fn post(number: u64) -> Op {
    Op::Post { recv: RecvId(number), pattern: Pattern::exactly(envelope(number)) }
}

fn arrive(number: u64) -> Op {
    Op::Arrive { msg: MsgId(number), envelope: envelope(number) }
}

/// Cycles of operations that come as fast as the firmware takes them: when each was begun and answered.
fn back_to_back(ops: &[Op]) -> Vec<(u64, u64)> {
    let mut machine = FirmwareCore::new(&ListOooParts::new(&preset(&ENTRY, "hemmert2007"))).unwrap();
    ops.iter()
        .map(|op| {
            let served = machine.serve(op, Cycles::ZERO);
            (served.start.0, served.at.0)
        })
        .collect()
}

#[test]
fn an_operation_begins_when_the_core_sleeps_and_its_answer_comes_to_the_picosecond() {
    let ops = [post(1), post(2), arrive(2)];
    let times = back_to_back(&ops);
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1].0 - pair[0].1).collect();
    // From the call that answers to the sleep; the first time, the instructions between are in no
    // cache, and a miss costs 12 cycles where a hit costs 1.
    assert_eq!(gaps, [4 + 12 - 1, 4]);
    let mut engine = ListOoo::new(&preset(&ENTRY, "hemmert2007")).unwrap();
    for op in ops {
        engine.offer(Picos::ZERO, op);
    }
    let mut done = Vec::new();
    let mut busy = Picos::ZERO;
    for (index, (start, at)) in times.into_iter().enumerate() {
        let due = CLOCK.span(Cycles(at));
        assert_eq!(engine.next_event(), Some(due));
        engine.run_until(due - Picos(1), &mut done);
        assert_eq!(done.len(), index, "too early");
        assert_eq!(engine.busy(), busy);
        engine.run_until(due, &mut done);
        assert_eq!(done.len(), index + 1, "too late");
        busy += CLOCK.span(Cycles(at - start));
        assert_eq!(engine.busy(), busy);
    }
    assert_eq!(engine.next_event(), None);
}

/// Time that passes while the core sleeps changes nothing but where time is counted from: an edge of the clock.
#[test]
fn an_operation_that_comes_late_begins_at_the_next_edge() {
    let alone = back_to_back(&[post(1)])[0];
    let mut engine = ListOoo::new(&preset(&ENTRY, "hemmert2007")).unwrap();
    let now = CLOCK.span(Cycles(1000)) - Picos(1);
    let completion = engine.answer(now, post(1)).expect("it has no outstanding answer");
    assert_eq!(completion.at, CLOCK.span(Cycles(1000 + alone.1 - alone.0)));
}

#[test]
fn the_firmware_neither_multiplies_nor_divides() {
    fn check<H: Hart>(hart: &H, code: std::ops::Range<u64>) {
        let mut found = 0;
        let mut pc = code.start;
        while pc < code.end {
            let Some(instruction) = hart.instruction_at(pc) else { break };
            assert!(!matches!(instruction.class, InstructionClass::Multiply | InstructionClass::Divide), "at {pc:#x}");
            found += 1;
            pc += u64::from(instruction.bytes);
        }
        assert!(found > 100, "{found} instructions");
    }
    for guest in [Guest::Queue, Guest::QueuePortals] {
        use mb_processor::Isa::{Ppc32 as P, Rv64 as R};
        check(&Ppc32::load(&guest.program(P), 1).unwrap()[0], guest.program(P).code());
        check(&Rv64::load(&guest.program(R), 1).unwrap()[0], guest.program(R).code());
    }
}

#[test]
fn a_drawn_pipeline_has_a_row_for_each_instruction_of_the_operation() {
    let parameters = ListOooParts::new(&preset(&ENTRY, "hemmert2007"));
    let mut machine = FirmwareCore::new(&parameters).unwrap();
    machine.serve(&post(1), Cycles::ZERO);
    let before = machine.statistics().instructions;
    machine.serve(&arrive(1), Cycles::ZERO);
    let instructions = machine.statistics().instructions - before;
    let text = pipeline::draw(&parameters, &[post(1)], &[arrive(1)], String::new()).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("I\t")).count();
    assert_eq!(rows as u64, instructions);
    assert!(text.contains("receiver_perform+0x"), "instructions are named by function");
}
