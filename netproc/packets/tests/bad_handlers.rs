// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Handlers that break a rule are named with hart, packet, place and rule, and what was measured before is kept.

use std::ops::ControlFlow;

use mb_core::parameters::Source;
use mb_netproc::contract::{Application, Phase};
use mb_netproc::run_error::{RunError, StopLocation};
use mb_netproc::{Spine, presets};
use mb_packets::session;
use mb_packets::traffic::generate;
use mb_packets::{CaptureSession, Checked, FilterSet, Headers, Mix, Sizes, TrafficParameters};

/// The packet that breaks the rule, of 40.
const PACKET: u64 = 20;

/// Runs with the rule broken by one packet.
fn run(rule: u8, timing: &str) -> Checked {
    run_with(timing, |number| if number == PACKET { rule } else { b'-' })
}

/// Runs with the same first byte in every payload.
fn run_all(byte: u8, timing: &str) -> Checked {
    run_with(timing, |_| byte)
}

fn run_with(timing: &str, byte: impl Fn(u64) -> u8) -> Checked {
    let mut set = presets::preset("smt4").unwrap();
    for (key, value) in [("application", "user"), ("timing", timing), ("handler_limit", "100000")] {
        set.set(key, value, Source::User).unwrap();
    }
    let parameters = set.typed();
    let traffic = TrafficParameters { packets: 40, mix: Mix::Md5, sizes: Sizes::Fixed, ..TrafficParameters::default() };
    let filters = FilterSet::of_scenarios(8, session::TABLES_SEED);
    let mut capture = generate(&traffic, &filters, &session::routes(&parameters), 1).unwrap();
    for (number, packet) in (0..).zip(&mut capture.packets) {
        let payload = Headers::of(&packet.bytes).unwrap().payload;
        packet.bytes[payload.start] = byte(number);
    }
    let session = CaptureSession::new(&parameters, Spine::BadHandler.file(), &capture).unwrap();
    session.run(40, None, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn broken(rule: u8, timing: &str) -> RunError {
    let checked = run(rule, timing);
    let report = &checked.run.report;
    // What was measured until then is kept, and every packet is accounted for.
    assert!(report.completed() >= 10 && report.completed() < 40 && report.is_balanced, "{report:?}");
    assert_eq!(checked.mismatch_count, 0);
    let error = *checked.run.error.expect("the rule is broken");
    let place = &error.place;
    assert!(place.hart.is_some_and(|hart| (1..4).contains(&hart)), "{error}");
    assert_eq!((place.packet, place.application), (Some(PACKET), Some(Application::User)), "{error}");
    error
}

/// The cause, and the function in which it happened.
fn found(rule: u8, timing: &str) -> (String, String) {
    let error = broken(rule, timing);
    let symbol = error.place.symbol.as_ref().map_or("no function", |(name, _)| name).to_owned();
    (error.cause.to_string(), symbol)
}

#[test]
fn a_handler_that_keeps_the_rules_runs_to_the_end() {
    for timing in ["functional", "cycles"] {
        let checked = run(b'-', timing);
        assert!(checked.run.error.is_none());
        assert_eq!(checked.run.report.forwarded, 40);
    }
}

#[test]
fn every_broken_rule_is_named() {
    let handler = "np_handler";
    let cases = [
        (b'f', "access of 4 bytes at 0x8; expected aligned bytes inside memory", handler),
        (b'i', "illegal instruction 0x00000000", handler),
        (b'w', "access of 8 bytes at 0x7000000000; expected aligned bytes inside memory", handler),
        (
            b'l',
            "more than 100000 cycles for one packet; expected an end; correct the loop, or raise handler_limit",
            "loop_for_ever",
        ),
        (b'v', "the handler returned 0; expected the value of np_forward, np_drop or np_consume", handler),
        (b'h', "the handler returned with 1 locks held; expected none; call np_release", handler),
        (b'b', "np_result with 57 bytes; expected at most 56", handler),
        (b'a', "np_allocate of 64 bytes while packets are handled; call it in np_handler_init", handler),
        (b'o', "np_flow for packet 20, which has no addresses, or while the hart holds a flow", handler),
        (b'e', "a flow is released by a hart that holds none; call np_flow before", handler),
    ];
    for timing in ["functional", "cycles"] {
        for (rule, text, function) in cases {
            assert_eq!(found(rule, timing), (text.to_owned(), function.to_owned()), "{}", char::from(rule));
        }
        for (rule, text) in [
            (b'r', "is acquired by the hart that holds it; expected a free lock"),
            (b'u', "is released by a hart that does not hold it; call np_acquire before"),
            (b'j', "illegal instruction"),
        ] {
            let (cause, _) = found(rule, timing);
            assert!(cause.contains(text), "{}: {cause}", char::from(rule));
        }
    }
}

/// What a handler may write is found to be its own, also where it writes by locks, atomics and functions of SPINE.
#[test]
fn stores_to_own_memory_are_allowed() {
    for timing in ["functional", "cycles"] {
        for rule in [b'k', b'-'] {
            let checked = run_all(rule, timing);
            assert!(checked.run.error.is_none(), "{timing}: {}", checked.run.error.unwrap());
            assert_eq!(checked.run.report.completed(), 40);
        }
    }
}

#[test]
fn a_store_to_foreign_memory_is_named_with_what_is_there() {
    let cases = [
        (b's', 8, "constants or data of SPINE", "np_handler"),
        (b'A', 8, "constants or data of SPINE", "np_handler"),
        (b'M', 8, "constants or data of SPINE", "memset"),
        (b'S', 8, "the stack of hart 0", "np_handler"),
        (b'H', 1, "np_hart_state of hart ", "np_handler"),
        (b'B', 1, "the record or buffer of another packet", "np_handler"),
        (b'E', 1, "the record or buffer of another packet", "np_handler"),
        (b'F', 8, "the flow table", "np_handler"),
        (b'T', 8, "a table of SPINE in the heap", "np_handler"),
        (b'N', 8, "memory that was not allocated", "np_handler"),
        (b'D', 8, "a register of the controller", "np_handler"),
        (b'c', 1, "code", "np_handler"),
    ];
    for timing in ["functional", "cycles"] {
        for (rule, bytes, target, function) in cases {
            let (cause, symbol) = found(rule, timing);
            let start = format!("the handler stores {bytes} bytes at 0x");
            assert!(cause.starts_with(&start), "{timing}, {}: {cause}", char::from(rule));
            let (_, rest) = cause.split_once(", ").unwrap();
            assert!(rest.starts_with(target), "{timing}, {}: {cause}", char::from(rule));
            assert!(rest.ends_with(
                "; expected its own data, its stack, np_hart_state, memory of np_allocate, the state of a flow that it \
                 holds, or frame and record of its packet"
            ));
            assert_eq!(symbol, function, "{timing}, {}", char::from(rule));
        }
    }
}

/// The instruction and the packet are those of the store, whatever the timing: a chip executes many instructions
/// between a store and its effect.
#[test]
fn a_store_has_the_same_place_in_both_timings() {
    for rule in [b's', b'A', b'M', b'B', b'c'] {
        let [functional, timed] = ["functional", "cycles"].map(|timing| broken(rule, timing).place);
        let place =
            |place: &StopLocation| (place.packet, place.application, place.phase, place.pc, place.symbol.clone());
        assert_eq!(place(&functional), place(&timed), "{}", char::from(rule));
        assert_eq!(timed.phase, Some(Phase::Handler));
    }
}

#[test]
fn an_error_is_one_line_with_the_place() {
    let error = broken(b'f', "functional");
    assert_eq!(error.place.phase, Some(Phase::Handler));
    let place = &error.place;
    let expected = format!(
        "hart {}, packet 20 (user, handler), pc {:#x} (np_handler+{:#x}), cycle {}: access of 4 bytes at 0x8; expected \
         aligned bytes inside memory",
        place.hart.unwrap(),
        place.pc.unwrap(),
        place.symbol.as_ref().unwrap().1,
        place.cycle
    );
    assert_eq!(error.to_string(), expected);
}
