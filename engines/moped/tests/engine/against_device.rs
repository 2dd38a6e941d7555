// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The same sequences on the engine and on the devices of `mb_moped`: outcomes, visits and cycles are equal.

use mb_core::random::Random;
use mb_core::{Completion, Envelope, Initiator, MsgId, Op, Outcome, Pattern, Picos, ProbeId, RecvId, Shortcuts};
use mb_kit::{OperationServer, Server};
use mb_moped::contract::{Field, Id, Kind, State};
use mb_moped::parameters::MatchOrder;
use mb_moped::{MatchEvent, presets};
use mb_moped_engine::{ENTRY, MopedEngine, MopedEngineParameters};
use mb_testkit::preset;

use crate::chip::{Chip, Message};

/// Rank and node of the receiver.
const RECEIVER: usize = 3;
const CYCLE: u64 = 1000;

pub(crate) fn parameters(name: &str, program: u64) -> MopedEngineParameters {
    MopedEngineParameters { program, ..preset(&ENTRY, name) }
}

/// Where the messages to the receiver are matched.
fn matcher(parameters: &MopedEngineParameters) -> usize {
    (parameters.program * parameters.hash_factor) as usize % parameters.nodes + RECEIVER
}

fn chip(parameters: &MopedEngineParameters) -> Chip {
    let device = parameters.device(&presets::parameters("base"));
    Chip::new(&device, parameters.switch.0, parameters.program as u16)
}

/// An operation, and the cycle of the store that completes its descriptor.
#[derive(Clone, Copy, Debug)]
struct Step {
    op: Op,
    at: u64,
}

impl Step {
    /// Accesses to ports up to that store, of which the engine counts those of the receiver.
    const fn accesses(&self) -> u64 {
        match self.op {
            Op::Post { .. } => 5,
            Op::Probe { .. } | Op::MatchedProbe { .. } => 3,
            Op::Arrive { .. } => 0,
            Op::Cancel { .. } => 1,
        }
    }

    fn message(&self) -> (usize, Message) {
        let receiver = RECEIVER as u16;
        let of = |kind, pattern: Pattern| {
            let tag = (pattern.ignore == 0).then_some(pattern.bits as u32);
            let sender = pattern.initiator.map(|initiator| initiator.0 as u16);
            (RECEIVER, Message { kind, sender, tag, receiver })
        };
        match self.op {
            Op::Post { pattern, .. } => of(Kind::Receive, pattern),
            Op::Probe { pattern, .. } => of(Kind::Probe, pattern),
            Op::MatchedProbe { pattern, .. } => of(Kind::MatchedProbe, pattern),
            Op::Arrive { envelope: Envelope { bits, initiator }, .. } => {
                let sender = initiator.0 as u16;
                (
                    initiator.0 as usize,
                    Message { kind: Kind::Send, sender: Some(sender), tag: Some(bits as u32), receiver },
                )
            }
            Op::Cancel { .. } => unreachable!("a cancel has no descriptor"),
        }
    }
}

/// What the devices show of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Seen {
    begin: u64,
    visited: u64,
    /// When the matching MOPED has counted a match.
    matched: Option<u64>,
    /// When the receiver's MOPED knows the answer.
    known: Option<u64>,
}

/// Runs a sequence on the devices: what is seen of each step, in order of the searches, and which steps met.
fn on_devices(parameters: &MopedEngineParameters, steps: &[Step]) -> (Vec<Seen>, Vec<(u64, Option<u64>)>) {
    let mut chip = chip(parameters);
    chip.moped.log();
    let node = matcher(parameters);
    let ids: Vec<Id> = steps
        .iter()
        .map(|step| {
            let (core, message) = step.message();
            chip.prepare(core, &message)
        })
        .collect();
    let start = steps[0].at;
    assert!(chip.cycle < start, "descriptors are prepared before the first store");
    let mut seen: Vec<Seen> = Vec::new();
    let mut known = vec![None; steps.len()];
    let mut matches = Vec::new();
    let mut next = 0;
    let end = steps[steps.len() - 1].at + 5000;
    while chip.cycle < end {
        let before = chip.moped.counters(node);
        chip.step();
        let after = chip.moped.counters(node);
        assert!(after.searches - before.searches <= 1, "one search at a time");
        if after.searches > before.searches {
            seen.push(Seen { begin: chip.cycle, visited: after.visited - before.visited, ..Seen::default() });
        }
        if after.matched > before.matched {
            matches.push(chip.cycle);
        }
        for (index, id) in ids.iter().enumerate().take(next) {
            let pending = matches!(chip.moped.state(*id), Some(State::Pending | State::Reserved));
            if known[index].is_none() && !pending {
                known[index] = Some(chip.cycle);
            }
        }
        if steps.get(next).is_some_and(|step| step.at == chip.cycle) {
            let (core, message) = steps[next].message();
            chip.go(core, ids[next], &message);
            next += 1;
        }
    }
    assert_eq!(seen.len(), steps.len(), "every descriptor is searched");
    for (seen, known) in seen.iter_mut().zip(known) {
        seen.known = known;
    }
    // A search that ends with a match counts it in its last cycle.
    for seen in &mut seen {
        let end = seen.begin + parameters.find_cycles + seen.visited * parameters.walk_cycles;
        seen.matched = matches.contains(&end).then_some(end);
    }
    let number = |id: Id| ids.iter().position(|other| *other == id).expect("a descriptor of the sequence") as u64;
    let met = chip.moped.take_log(node).into_iter().filter_map(|event| match event {
        MatchEvent::Matched { receive, send } => Some((number(receive), Some(number(send)))),
        MatchEvent::Probed { probe, found } => Some((number(probe), found.map(number))),
        _ => None,
    });
    let met = met.collect();
    (seen, met)
}

fn on_engine(parameters: &MopedEngineParameters, steps: &[Step]) -> Vec<Completion> {
    let mut engine = Server::new(MopedEngine::new(parameters));
    let offer = |step: &Step| {
        let at = step.at - step.accesses() * parameters.port_cycles;
        engine.answer(Picos(at * CYCLE), step.op).expect("an engine that refuses nothing")
    };
    steps.iter().map(offer).collect()
}

/// A sequence whose operations are in one order at the receiver and at the matching MOPED, `least` to `most` cycles
/// apart.
fn sequence(
    random: &mut Random,
    parameters: &MopedEngineParameters,
    (least, most): (u64, u64),
    length: u64,
) -> Vec<Step> {
    let node = matcher(parameters);
    // What is not forwarded must not overtake a message.
    let detour = if parameters.is_forwarded() { 0 } else { parameters.switch.0 };
    let senders: Vec<u32> = (0..16).filter(|sender| ![RECEIVER, node].contains(&(*sender as usize))).collect();
    let mut at = 2000;
    let mut steps = Vec::new();
    for number in 0..length {
        let envelope = Envelope { bits: random.below(3), initiator: Initiator(random.pick(&senders[..3])) };
        let ignore = if random.below(3) > 0 { 0 } else { u64::MAX };
        let pattern = Pattern {
            ignore,
            initiator: (random.below(3) > 0).then_some(envelope.initiator),
            ..Pattern::exactly(envelope)
        };
        let op = match random.below(10) {
            0..5 => Op::Arrive { msg: MsgId(number), envelope },
            5..9 => Op::Post { recv: RecvId(number), pattern },
            _ => Op::Probe { probe: ProbeId(number), pattern },
        };
        let step = Step { op, at: 0 };
        at += random.within(least, most) + step.accesses() + if step.accesses() > 0 { detour } else { 0 };
        steps.push(Step { at, ..step });
    }
    steps
}

fn compare(parameters: &MopedEngineParameters, steps: &[Step], what: &str) -> u64 {
    let message = if parameters.is_forwarded() { parameters.switch.0 } else { 0 };
    let mut waited = 0;
    let (all_seen, met) = on_devices(parameters, steps);
    let completions = on_engine(parameters, steps);
    let pairs = completions.iter().filter_map(|completion| match completion.outcome {
        Outcome::Matched(RecvId(recv), MsgId(msg)) => Some((recv, Some(msg))),
        Outcome::Probed(ProbeId(probe), found) => Some((probe, found.map(|MsgId(msg)| msg))),
        _ => None,
    });
    assert_eq!(pairs.collect::<Vec<_>>(), met, "{what}");
    for ((seen, completion), step) in all_seen.iter().zip(completions).zip(steps) {
        let end = seen.begin + parameters.find_cycles + seen.visited * parameters.walk_cycles;
        assert_eq!(completion.at, Picos((end + message) * CYCLE), "{what}: {step:?} {seen:?}");
        assert_eq!(u64::from(completion.visits), seen.visited, "{what}: {step:?}");
        let is_match = matches!(completion.outcome, Outcome::Matched(..));
        assert_eq!(seen.matched.is_some(), is_match, "{what}: {step:?} {completion:?}");
        // The receiver's MOPED hears of what it has asked for.
        let asked = match completion.outcome {
            Outcome::Matched(..) => matches!(step.op, Op::Post { .. }),
            Outcome::Probed(..) => true,
            _ => false,
        };
        if asked {
            assert_eq!(seen.known, Some(end + message), "{what}: {step:?}");
        }
        let way = if matches!(step.op, Op::Arrive { .. }) { parameters.switch.0 } else { message };
        waited += u64::from(seen.begin > step.at + 1 + way);
    }
    waited
}

#[test]
fn streams_have_the_outcomes_visits_and_cycles_of_the_devices() {
    let mut waited = 0;
    for seed in 0..40 {
        let mut random = Random::of(seed, &[]);
        let base = parameters("gu2011", random.pick(&[0, 1, 2]));
        let parameters = MopedEngineParameters {
            switch: mb_core::Cycles(random.within(2, 40)),
            find_cycles: random.within(1, 4),
            walk_cycles: random.within(1, 3),
            ..base
        };
        let steps = sequence(&mut random, &parameters, (1, 30), 40);
        waited += compare(&parameters, &steps, &format!("seed {seed}"));
    }
    assert!(waited > 100, "{waited} searches waited for an older one");
}

#[test]
fn slots_are_those_of_the_devices() {
    for seed in 0..10 {
        let mut random = Random::of(seed, &[1]);
        let mut parameters = parameters("literal", 1);
        assert_eq!(parameters.order, MatchOrder::Slot);
        parameters.descriptors = 48;
        // A search ends before the next descriptor comes, because the device takes waiting searches by slots too.
        let steps = sequence(&mut random, &parameters, (120, 150), 30);
        compare(&parameters, &steps, &format!("seed {seed}"));
    }
}

fn arrive(number: u64, sender: u32) -> Op {
    Op::Arrive { msg: MsgId(number), envelope: Envelope { bits: number, initiator: Initiator(sender) } }
}

fn post(number: u64, sender: u32) -> Op {
    let pattern = Pattern::exactly(Envelope { bits: number, initiator: Initiator(sender) });
    Op::Post { recv: RecvId(number), pattern }
}

/// Completes descriptors, and whether the matching MOPED has rejected any; and whether the engine backs off.
fn rejected(parameters: &MopedEngineParameters, steps: &[Step]) -> (bool, bool) {
    let mut chip = chip(parameters);
    let prepared: Vec<_> = steps
        .iter()
        .map(|step| {
            let (core, message) = step.message();
            (core, chip.prepare(core, &message), message)
        })
        .collect();
    for (step, (core, id, message)) in steps.iter().zip(prepared) {
        chip.run_to(step.at);
        chip.go(core, id, &message);
    }
    chip.run_to(chip.cycle + 500);
    let mut engine = MopedEngine::new(parameters);
    for step in steps {
        engine.serve(Picos((step.at - step.accesses()) * CYCLE), step.op);
    }
    (chip.moped.counters(matcher(parameters)).rejected > 0, engine.counters().backoffs > 0)
}

#[test]
fn entries_of_a_pair_are_free_in_the_cycle_of_the_devices() {
    let parameters = MopedEngineParameters { descriptors: 8, ..parameters("gu2011", 1) };
    let message = parameters.switch.0;
    let mut steps: Vec<_> =
        (0..7).map(|number| Step { op: arrive(number, 10 + number as u32 % 3), at: 1000 + 100 * number }).collect();
    // The receive finds the fifth send: both leave the table, the receive when the search ends at the matching MOPED.
    steps.push(Step { op: post(4, 11), at: 2000 });
    let end = 2000 + 1 + message + parameters.find_cycles + 5 * parameters.walk_cycles;
    for (others, free) in [(0, end + 1), (1, end + 2 * message)] {
        for late in -3_i64..4 {
            let mut steps = steps.clone();
            // A send takes the entry of the receive.
            steps.extend((0..others).map(|_| Step { op: arrive(20, 12), at: end - message + 5 }));
            // Of two messages of one cycle that of the lower node comes first: the receiver's, as in the engine.
            let at = free.checked_add_signed(late).expect("a cycle") - 1 - message;
            steps.push(Step { op: arrive(21, 13), at });
            assert_eq!(rejected(&parameters, &steps), (late < 0, late < 0), "{others} others, {late} cycles late");
        }
    }
}

#[test]
fn a_full_table_rejects_what_would_match() {
    for count in [7, 8] {
        let parameters = MopedEngineParameters { descriptors: 8, ..parameters("gu2011", 1) };
        let mut steps: Vec<_> = (0..count)
            .map(|number| Step { op: arrive(number, 10 + number as u32 % 3), at: 1000 + 100 * number })
            .collect();
        steps.push(Step { op: post(0, 10), at: 3000 });
        assert_eq!(rejected(&parameters, &steps), (count == 8, count == 8), "{count} sends wait");
    }
}

#[test]
fn a_cancel_takes_a_message_each_way() {
    for program in [0, 1] {
        let parameters = parameters("gu2011", program);
        let message = if program == 0 { 0 } else { 1 + 2 * parameters.switch.0 };
        let mut chip = chip(&parameters);
        let posted = Step { op: post(1, 5), at: 1000 };
        let (core, descriptor) = posted.message();
        let id = chip.prepare(core, &descriptor);
        chip.run_to(1000);
        chip.go(core, id, &descriptor);
        chip.run_to(2000);
        chip.store(core, id, Field::Cancel, 0);
        while chip.moped.state(id) != Some(State::Cancelled) {
            chip.step();
        }
        assert_eq!(chip.cycle, 2000 + message);
        let cancel = Step { op: Op::Cancel { recv: RecvId(1) }, at: 2000 };
        let done = on_engine(&parameters, &[posted, cancel]);
        assert_eq!((done[1].at, done[1].outcome), (Picos(chip.cycle * CYCLE), Outcome::Cancelled(RecvId(1))));
    }
}

#[test]
fn a_back_off_begins_and_ends_with_four_messages() {
    let parameters = MopedEngineParameters { descriptors: 2, ..parameters("gu2011", 1) };
    let message = parameters.switch.0;
    let mut chip = chip(&parameters);
    let mut sends = Vec::new();
    for sender in [10, 11, 12] {
        let (core, descriptor) = Step { op: arrive(1, sender), at: 0 }.message();
        let id = chip.prepare(core, &descriptor);
        sends.push((core, id, descriptor));
    }
    for (core, id, descriptor) in &sends {
        chip.run_to(chip.cycle + 100);
        chip.go(*core, *id, descriptor);
    }
    // The third descriptor is rejected; a reservation is refused when all MOPEDs know that all have the bit.
    let rejected = chip.cycle + 1 + message;
    chip.run_to(rejected + 3 * message);
    assert_eq!(chip.moped.counters(matcher(&parameters)).rejected, 1);
    assert_eq!(chip.reserve(RECEIVER), None);
    assert_eq!(chip.cycle - rejected, 4 * message);
    for (core, id, _) in &sends {
        while chip.poll(*core, *id) != State::Revoked as u64 {}
    }
    chip.run_to(chip.cycle + 100);
    chip.store(RECEIVER, sends[0].1, Field::Resume, 0);
    let resumed = chip.cycle;
    while chip.reserve(RECEIVER).is_none() {}
    assert_eq!(chip.cycle - resumed, 1 + 4 * message);
}

#[test]
fn presets_have_the_parameters_of_the_device() {
    let base = presets::parameters("base");
    let device = |name| parameters(name, 1).device(&base);
    assert_eq!(device("gu2011"), base);
    assert_eq!(device("gu2011_256").descriptors, 256);
    let literal = device("literal");
    assert_eq!(literal.order, presets::parameters("slot_order").order);
    assert_eq!(literal.backoff, presets::parameters("published_backoff").backoff);
}
