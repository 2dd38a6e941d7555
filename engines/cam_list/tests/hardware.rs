// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine that calculates against the hardware that is stepped: two ways to the same cycle; and
//! the hardware as an engine, which passes cycles in which nothing happens.

use mb_cam_list::{CamList, CamListParameters, Corrections, HardwareConfig, Machine, Stepped};
use mb_core::{Accepted, Clock, Completion, Engine, Picos, QueueLengths};
use mb_kit::Server;
use mb_testkit::drive::{Fetch, Offer, Visits, judge};
use mb_testkit::{parameters, streams};

/// One cycle is a nanosecond.
const CLOCK: Clock = Clock::from_mhz(1000);

/// Values in the order of [`KEYS`]: levels so small that every stream reaches host memory, and cycles of every ratio.
const VARIANTS: &[[&str; 16]] = &[
    ["4", "1", "8", "1", "1", "3", "1", "1", "1", "1", "after_cam", "overlapped", "0", "0", "0", "5"],
    ["4", "3", "12", "1", "1", "3", "1", "1", "1", "1", "after_cam", "overlapped", "0", "0", "0", "5"],
    ["1", "2", "2", "2", "3", "1", "5", "4", "3", "0", "with_cam", "overlapped", "1", "1", "2", "7"],
    ["3", "4", "40", "1", "2", "2", "1", "9", "0", "2", "with_cam", "overlapped", "0", "0", "1", "1"],
    ["2", "4", "64", "1", "1", "3", "1", "1", "1", "1", "after_cam", "serial", "0", "0", "0", "5"],
    ["2", "2", "6", "5", "1", "1", "3", "6", "2", "0", "with_cam", "serial", "0", "1", "3", "2"],
    ["256", "64", "32768", "1", "1", "3", "1", "1", "1", "1", "after_cam", "overlapped", "0", "0", "0", "117"],
];

const KEYS: [&str; 16] = [
    "cam",
    "lists",
    "list_entries",
    "match",
    "cam_insert",
    "element",
    "list_insert",
    "transfer",
    "remove",
    "dispatch",
    "search",
    "arbiter",
    "ternary",
    "age_cam",
    "age_lists",
    "spill",
];

fn variant(values: &[&str; 16]) -> CamListParameters {
    let mut all = vec![("clock", "1000"), ("order", "mpi"), ("fifo", "1000000")];
    all.extend(KEYS.iter().copied().zip(values.iter().copied()));
    parameters(&all)
}

/// Answers in order of acceptance: cycle and outcome.
fn stepped(parameters: &CamListParameters, offers: &[Offer]) -> Result<Machine, String> {
    let mut machine = Machine::new(&HardwareConfig::new(parameters).unwrap(), Corrections::ALL);
    for offer in offers {
        while machine.now() < CLOCK.edge_at_or_after(offer.at).0 {
            machine.step();
        }
        machine.offer(offer.op);
    }
    for _ in 0..1_000_000 {
        if machine.is_idle() {
            return Ok(machine);
        }
        machine.step();
    }
    Err("the hardware does not come to rest".to_owned())
}

/// The completions of the hardware as an engine, in order of time.
fn as_an_engine(parameters: &CamListParameters, offers: &[Offer]) -> Vec<Completion> {
    let mut engine = Stepped::new(parameters, Corrections::ALL).unwrap();
    let mut done = Vec::new();
    for offer in offers {
        engine.run_until(offer.at, &mut done);
        assert_eq!(engine.offer(offer.at, offer.op), Accepted::Yes);
    }
    while let Some(event) = engine.next_event() {
        engine.run_until(Picos(event.0 - 1), &mut done);
        assert!(done.iter().all(|completion| completion.at < event), "an answer before its event");
        engine.run_until(event, &mut done);
    }
    done
}

#[test]
fn the_engine_is_the_hardware_cycle_by_cycle() {
    for values in VARIANTS {
        let parameters = variant(values);
        let judged = streams::check(300, |offers| {
            let mut engine = Server::new(CamList::new(&parameters).unwrap());
            let answers = judge(&mut engine, offers, Fetch::RunUntil, Visits::Own)?;
            let machine = stepped(&parameters, offers)?;
            let mut done = machine.done().to_vec();
            done.sort_by_key(|done| done.number);
            if done.len() != answers.len() {
                return Err(format!("{} answers, and {} by steps", answers.len(), done.len()));
            }
            for (answer, done) in answers.iter().zip(&done) {
                let (at, outcome) = (answer.completion.at.0 / 1000, answer.completion.outcome);
                if (at, outcome, answer.completion.visits) != (done.at, done.outcome, done.compared) {
                    let number = done.number + 1;
                    return Err(format!(
                        "operation {number}: cycle {at}, {outcome}, {} compared; by steps cycle {}, {}, {} compared",
                        answer.completion.visits, done.at, done.outcome, done.compared
                    ));
                }
            }
            let mut expected: Vec<_> = answers.iter().map(|answer| answer.completion).collect();
            expected.sort_by_key(|completion| completion.at);
            if as_an_engine(&parameters, offers) != expected {
                return Err("the hardware as an engine answers otherwise".to_owned());
            }
            let QueueLengths { unexpected, .. } = machine.queue_lengths();
            if machine.queue_lengths() != engine.queue_lengths() {
                return Err(format!(
                    "{:?} in the queues, by steps {:?}",
                    engine.queue_lengths(),
                    machine.queue_lengths()
                ));
            }
            if machine.buffers_in_use() != unexpected {
                return Err(format!("{} buffers for {unexpected} messages", machine.buffers_in_use()));
            }
            if machine.completed() != engine.service().counters().completed {
                return Err(format!("{} completions counted", machine.completed()));
            }
            Ok(())
        });
        assert_eq!(judged, Ok(()), "{values:?}");
    }
}
