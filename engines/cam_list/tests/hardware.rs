// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine that calculates against the hardware that is stepped: two ways to the same cycle; and
//! the hardware as an engine, which passes cycles in which nothing happens.

use mb_cam_list::{
    Arbiter, CamList, CamListParameters, Corrections, HardwareConfig, ListSearch, Stepped, SteppedHardware,
};
use mb_core::{Accepted, Clock, Completion, Cycles, Delays, Engine, Picos, QueueLengths};
use mb_kit::Server;
use mb_testkit::drive::{Fetch, Offer, OperationResult, Visits, judge};
use mb_testkit::{checked, streams};

use super::BASE;

/// One cycle is a nanosecond.
const CLOCK: Clock = Clock::from_mhz(1000);

/// Levels so small that every stream reaches host memory.
const SMALL: CamListParameters =
    CamListParameters { clock: CLOCK, cam: 4, lists: 1, list_entries: 8, spill: Cycles(5), ..BASE };

/// Small levels with cycles of every ratio, and the sizes of the preset `p2l64`.
const VARIANTS: &[CamListParameters] = &[
    SMALL,
    CamListParameters { lists: 3, list_entries: 12, ..SMALL },
    CamListParameters {
        cam: 1,
        lists: 2,
        list_entries: 2,
        r#match: Cycles(2),
        cam_insert: Cycles(3),
        element: Cycles(1),
        list_insert: Cycles(5),
        transfer: Cycles(4),
        remove: Cycles(3),
        dispatch: Cycles(0),
        search: ListSearch::WithCam,
        ternary: Cycles(1),
        age_cam: Cycles(1),
        age_lists: Cycles(2),
        spill: Cycles(7),
        ..SMALL
    },
    CamListParameters {
        cam: 3,
        lists: 4,
        list_entries: 40,
        cam_insert: Cycles(2),
        element: Cycles(2),
        transfer: Cycles(9),
        remove: Cycles(0),
        dispatch: Cycles(2),
        search: ListSearch::WithCam,
        age_lists: Cycles(1),
        spill: Cycles(1),
        ..SMALL
    },
    CamListParameters { cam: 2, lists: 4, list_entries: 64, arbiter: Arbiter::Serial, ..SMALL },
    CamListParameters {
        cam: 2,
        lists: 2,
        list_entries: 6,
        r#match: Cycles(5),
        element: Cycles(1),
        list_insert: Cycles(3),
        transfer: Cycles(6),
        remove: Cycles(2),
        dispatch: Cycles(0),
        search: ListSearch::WithCam,
        arbiter: Arbiter::Serial,
        age_cam: Cycles(1),
        age_lists: Cycles(3),
        spill: Cycles(2),
        ..SMALL
    },
    CamListParameters { cam: 256, lists: 64, list_entries: 32_768, spill: Cycles(117), ..SMALL },
];

/// Answers in order of acceptance: cycle and outcome.
fn stepped(parameters: &CamListParameters, offers: &[Offer]) -> Result<SteppedHardware, String> {
    let mut machine = SteppedHardware::new(&HardwareConfig::new(parameters).unwrap(), Corrections::ALL);
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
    for parameters in VARIANTS {
        let judged = streams::check(300, |offers| {
            let mut engine = Server::new(CamList::new(checked(parameters)).unwrap());
            let answers = judge(&mut engine, offers, Fetch::RunUntil, Visits::Own)?;
            let machine = stepped(parameters, offers)?;
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
            if machine.capacity_events() != engine.capacity_events() {
                return Err(format!("{:?}, by steps {:?}", engine.capacity_events(), machine.capacity_events()));
            }
            let without_delays =
                |answer: &OperationResult| Completion { delays: Delays::default(), ..answer.completion };
            let mut expected: Vec<_> = answers.iter().map(without_delays).collect();
            expected.sort_by_key(|completion| completion.at);
            if as_an_engine(parameters, offers) != expected {
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
        assert_eq!(judged, Ok(()), "{parameters:?}");
    }
}
