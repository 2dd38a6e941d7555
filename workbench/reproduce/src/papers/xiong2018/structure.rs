// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section III: what the queues are made of and how requests and messages pass through them, seen
//! from cycles and outcomes.

use mb_cam_list::{CamListParameters, Corrections, HardwareConfig, SteppedHardware};
use mb_catalog::CatalogError;
use mb_core::{Cycles, Op, Outcome, ParameterSet, RecvId, Source};

use super::designs::Designs;
use super::single_operations::{SingleOperations, arrive, post, probe};
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, count, differs, fact, measure, number, shown};
use crate::error::MeasureError;
use crate::verdict::Measured;

/// Match bits that no other receive or message of a run has.
const UNMATCHED: u64 = u64::MAX;

/// More entries than two levels hold.
const BEYOND: u64 = 33_100;

pub(super) const TESTS: &[ClaimTest<Designs>] = &[
    measure("xiong2018.queues", queues),
    shown("xiong2018.cam.depth", |designs: &Designs| count(cam_depth(&designs.two_level)? as usize), INPUT),
    shown(
        "xiong2018.cam.match_cycles",
        |designs: &Designs| {
            number(SingleOperations::with_receives(&designs.two_level, 100)?.serve(arrive(50))?.searching as f64)
        },
        INPUT,
    ),
    shown("xiong2018.cam.insert_cycles", insertion, INPUT),
    shown(
        "xiong2018.ll.capacity",
        |designs: &Designs| count((capacity(&designs.two_level)? - cam_depth(&designs.two_level)?) as usize),
        INPUT,
    ),
    shown("xiong2018.queue.capacity", |designs: &Designs| count(capacity(&designs.two_level)? as usize), INPUT),
    shown("xiong2018.mover.cycles", stall, INPUT),
    measure("xiong2018.network.stall_rule", |designs: &Designs| {
        // However long the mover takes, an insertion that meets it waits for all of it.
        let waits = [1, 3, 9].map(|cycles| {
            let mut settings = designs.two_level.clone();
            let change = |parameters: &mut CamListParameters| parameters.transfer = Cycles(cycles);
            settings
                .change(&Source::User, change)
                .map_err(|error| CatalogError::Parameter { engine: mb_cam_list::ENTRY.card.name, error })?;
            Ok(waited(&settings)? / cycles)
        });
        let waits = waits.into_iter().collect::<Result<Vec<_>, MeasureError>>()?;
        number(if waits == [1; 3] { 1.0 } else { 0.0 })
    }),
    measure("xiong2018.mover.replenish", replenishment),
    shown(
        "xiong2018.ll.cycles_per_element",
        |designs: &Designs| {
            let mut run = SingleOperations::with_messages(&designs.two_level, 2000)?;
            number((run.serve(probe(1500))?.cycles - run.serve(probe(500))?.cycles) as f64 / 1000.0)
        },
        INPUT,
    ),
    shown(
        "xiong2018.p2l.n",
        |designs: &Designs| {
            let lists = [&designs.p2l4, &designs.p2l64].map(|settings| lists_side_by_side(settings).map(|n| n as f64));
            let [four, many] = lists;
            Ok(vec![Interpretation::new("", Measured::Numbers(vec![four?, many?]))])
        },
        INPUT,
    ),
    differs("xiong2018.p2l.insert_rr", policies, REFILL),
    measure("xiong2018.ll.freelist", free_list),
    measure("xiong2018.ll.insert_steps", insertion_steps),
    measure("xiong2018.ll.search_steps", search_steps),
    measure("xiong2018.comp_unit", completion_unit),
    measure("xiong2018.dataflow_request", request),
    measure("xiong2018.dataflow_packet", packet),
    measure("xiong2018.ll.parallel_access", overlap),
    differs("xiong2018.no_wildcards", wildcards, WILDCARDS),
];

/// Why a size or a number of cycles counts for nothing, though it is measured.
const INPUT: &str = "an input of the model, which a run gives back";

/// Why the mover does not take turns.
const REFILL: &str = "When matches have left the lists uneven, taking turns brings a younger entry into the CAM before \
     an older one, which MPI forbids. Our mover takes the oldest of the first entries. On even lists \
     the two agree.";

/// Why the engine has wildcards.
const WILDCARDS: &str = "The paper does not treat wildcards. Traces contain them, so our CAM of posted receives is \
     ternary.";

/// A receive and a message that do not fit wait beside each other.
fn queues(designs: &Designs) -> Interpretations {
    use mb_core::engine::Engine;
    let mut run = SingleOperations::new(&designs.two_level)?;
    run.serve(post(1))?;
    run.serve(arrive(2))?;
    let mb_core::QueueLengths { posted, unexpected } = run.engine.queue_lengths();
    count(posted.min(1) + unexpected.min(1))
}

/// The deepest entry that is found as soon as the first.
fn cam_depth(settings: &ParameterSet) -> Result<u64, MeasureError> {
    let mut run = SingleOperations::with_messages(settings, 1000)?;
    let first = run.serve(probe(1))?.cycles;
    for depth in 2..=1000 {
        if run.serve(probe(depth))?.cycles > first {
            return Ok(depth - 1);
        }
    }
    Err(MeasureError::NotSeen("the end of the CAM"))
}

/// The deepest entry before one costs more than a step along the list.
fn capacity(settings: &ParameterSet) -> Result<u64, MeasureError> {
    let mut run = SingleOperations::with_messages(settings, BEYOND)?;
    let step = run.serve(probe(900))?.cycles - run.serve(probe(899))?.cycles;
    let mut before = run.serve(probe(900))?.cycles;
    for depth in 901..=BEYOND {
        let now = run.serve(probe(depth))?.cycles;
        if now > before + step {
            return Ok(depth - 1);
        }
        before = now;
    }
    Err(MeasureError::NotSeen("the end of the lists"))
}

/// The additional time of an unexpected message, compared with a probe that finds nothing.
fn insertion(designs: &Designs) -> Interpretations {
    let message = SingleOperations::new(&designs.two_level)?.serve(arrive(1))?.cycles;
    let search = SingleOperations::new(&designs.two_level)?.serve(probe(1))?.cycles;
    number((message - search) as f64)
}

/// What an insertion into the lists waits for the mover: a message frees a slot of the full CAM
/// while a receive is posted.
fn stall(designs: &Designs) -> Interpretations {
    number(waited(&designs.two_level)? as f64)
}

fn waited(settings: &ParameterSet) -> Result<u64, MeasureError> {
    let mut run = SingleOperations::with_receives(settings, 400)?;
    run.serve_at_once(&[arrive(7), post(UNMATCHED)])?;
    Ok(run.counters().waiting_for_mover)
}

/// Every match in the CAM brings an entry from the list into it, until the list is empty.
fn replenishment(designs: &Designs) -> Interpretations {
    let mut run = SingleOperations::with_receives(&designs.two_level, 300)?;
    for number in 1..=44 {
        run.serve(arrive(number))?;
    }
    let moved = run.counters().transfers;
    let last = run.serve(arrive(300))?;
    for number in 45..=60 {
        run.serve(arrive(number))?;
    }
    let more = run.counters().transfers - moved;
    let shown = format!("44 behind the CAM: {moved} moved, then {more}");
    fact(moved == 44 && last.walking == 0 && more == 0, shown)
}

/// How many entries are found at the same time as the first one behind the CAM.
fn lists_side_by_side(settings: &ParameterSet) -> Result<u64, MeasureError> {
    let mut run = SingleOperations::with_messages(settings, 1000)?;
    let cam = cam_depth(settings)?;
    let first = run.serve(probe(cam + 1))?.cycles;
    for more in 1..500 {
        if run.serve(probe(cam + 1 + more))?.cycles > first {
            return Ok(more);
        }
    }
    Err(MeasureError::NotSeen("the second row of elements"))
}

/// Two lists of four elements behind two slots, with the cycles of the design.
fn small(designs: &Designs) -> Result<HardwareConfig, MeasureError> {
    let parameters = HardwareConfig::new(&designs.p2l4.typed())
        .map_err(|error| CatalogError::Parameter { engine: mb_cam_list::ENTRY.card.name, error })?;
    Ok(HardwareConfig { cam: 2, lists: 2, entries_per_list: 4, ..parameters })
}

/// Steps operations far apart; the outcome of the last one.
fn last_outcome(parameters: &HardwareConfig, corrections: Corrections, ops: &[Op]) -> Option<Outcome> {
    let mut machine = SteppedHardware::new(parameters, corrections);
    for op in ops {
        machine.offer(*op);
        settle(&mut machine);
    }
    machine.done().last().map(|done| done.outcome)
}

fn settle(machine: &mut SteppedHardware) {
    while !machine.is_idle() {
        machine.step();
    }
}

/// A receive whose tag others share.
fn post_same(number: u64) -> Op {
    let Op::Post { pattern, .. } = post(0) else { unreachable!("a post is a post") };
    Op::Post { recv: RecvId(number), pattern }
}

/// Which of two equal receives, 5 and 8, is found after the lists were made uneven: the second list
/// has lost two.
pub(super) fn refilled(designs: &Designs, corrections: Corrections) -> Result<RecvId, MeasureError> {
    let posts = [post(1), post(2), post(3), post(4), post_same(5), post(6), post(7), post_same(8)];
    let ops = [posts.as_slice(), &[arrive(4), arrive(6), arrive(1), arrive(2), arrive(0)]].concat();
    match last_outcome(&small(designs)?, corrections, &ops) {
        Some(Outcome::Matched(found, _)) => Ok(found),
        _ => Err(MeasureError::NotSeen("the match of a receive that was moved")),
    }
}

/// Insertion in turn and search side by side show in the cycles of rows, refilling in turn in what
/// [`refilled`] finds.
fn policies(designs: &Designs) -> Interpretations {
    let mut rows = true;
    for settings in [&designs.p2l4, &designs.p2l64] {
        let (lists, mut run) = (lists_side_by_side(settings)?, SingleOperations::with_messages(settings, 1000)?);
        let step = run.serve(probe(256 + lists + 1))?.cycles - run.serve(probe(256 + lists))?.cycles;
        let first = run.serve(probe(257))?.cycles;
        for depth in 257..=1000 {
            rows &= run.serve(probe(depth))?.cycles == first + step * ((depth - 257) / lists);
        }
    }
    let interpretation = |name, corrections| {
        let in_turn = refilled(designs, corrections)? == RecvId(8);
        let insertion = if rows { "insert in turn" } else { "insert otherwise" };
        let refill = if in_turn { "refill in turn" } else { "refill by age" };
        let shown = format!("{insertion}, {refill}, parallel");
        Ok::<_, MeasureError>(Interpretation::new(name, Measured::Fact(rows && in_turn, shown)))
    };
    Ok(vec![interpretation("in MPI's order", Corrections::ALL)?, interpretation("as published", Corrections::NONE)?])
}

/// A machine with one list of four elements behind two slots, after `ops`, each when the one before
/// is over.
fn one_list(designs: &Designs, ops: &[Op]) -> Result<SteppedHardware, MeasureError> {
    let parameters = HardwareConfig { lists: 1, entries_per_list: 4, ..small(designs)? };
    let mut machine = SteppedHardware::new(&parameters, Corrections::ALL);
    for op in ops {
        machine.offer(*op);
        settle(&mut machine);
    }
    Ok(machine)
}

/// The slot that becomes free is the last to be used again.
fn free_list(designs: &Designs) -> Interpretations {
    // Receives 1 and 2 are in the CAM. Receive 3 leaves its slot, and two more come.
    let machine = one_list(designs, &[post(1), post(2), post(3), post(4), post(5), arrive(3), post(6), post(7)])?;
    let slots: Vec<_> = machine.posted_in_list(0).map(|(slot, _)| slot).collect();
    fact(slots == [1, 2, 3, 0], format!("slots in use, head first: {slots:?}; slot 0 was given back"))
}

/// Each receive goes to the slot at the head of the free list, and the tail is linked to it.
fn insertion_steps(designs: &Designs) -> Interpretations {
    let mut all = Vec::new();
    for length in 2..=6 {
        let posts: Vec<_> = (1..=length).map(post).collect();
        all.push(one_list(designs, &posts)?.posted_in_list(0).map(|(slot, _)| slot).collect::<Vec<_>>());
    }
    let grows = all.iter().enumerate().all(|(length, slots)| slots.iter().copied().eq(0..length as u32));
    fact(grows, format!("linked from head to tail: {all:?}"))
}

/// A message for the second element of the list unlinks it behind the first; its slot is the last
/// to be used again.
fn search_steps(designs: &Designs) -> Interpretations {
    let before = [post(1), post(2), post(3), post(4), post(5), arrive(4)];
    let after = [before.as_slice(), &[post(6), post(7)]].concat();
    let slots = |ops: &[Op]| Ok::<_, MeasureError>(one_list(designs, ops)?.posted_in_list(0).collect::<Vec<_>>());
    let (unlinked, used) = (slots(&before)?, slots(&after)?);
    let receives = |slots: &[(u32, RecvId)]| slots.iter().map(|(_, recv)| recv.0).collect::<Vec<_>>();
    let right = unlinked == [(0, RecvId(3)), (2, RecvId(5))] && used[2..] == [(3, RecvId(6)), (1, RecvId(7))];
    fact(
        right,
        format!("receives {:?} linked, then {:?}, the last in the free slot", receives(&unlinked), receives(&used)),
    )
}

/// A wait for two of three receives ends in the cycle of the second match, a wait for four never.
fn completion_unit(designs: &Designs) -> Interpretations {
    let mut machine = SteppedHardware::new(&small(designs)?, Corrections::ALL);
    for op in [post(1), post(2), post(3), arrive(3), arrive(1), arrive(2)] {
        machine.offer(op);
    }
    let (waited, counted) = (machine.wait(2), machine.completed());
    let second = machine.done().iter().filter(|done| matches!(done.outcome, Outcome::Matched(..))).nth(1);
    let in_time = waited.is_some() && waited == second.map(|done| done.at);
    let never = machine.wait(4);
    fact(in_time && counted == 2 && never.is_none(), format!("the wait for 2 of 3 ends with {counted} counted"))
}

/// The numbers of entries in the queues and in the data memory, and the count of the completion unit.
fn state(machine: &SteppedHardware) -> (usize, usize, usize, u64) {
    let mb_core::QueueLengths { posted, unexpected } = machine.queue_lengths();
    (posted, unexpected, machine.buffers_in_use(), machine.completed())
}

fn steps(designs: &Designs, ops: &[Op]) -> Result<Vec<(usize, usize, usize, u64)>, MeasureError> {
    let mut machine = SteppedHardware::new(&small(designs)?, Corrections::ALL);
    Ok(ops
        .iter()
        .map(|op| {
            machine.offer(*op);
            settle(&mut machine);
            state(&machine)
        })
        .collect())
}

fn request(designs: &Designs) -> Interpretations {
    let found = steps(designs, &[arrive(1), post(1), post(2)])?;
    let shown = "a hit empties queue and buffer and is counted, a miss is posted";
    fact(found == [(0, 1, 1, 0), (0, 0, 0, 1), (1, 0, 0, 1)], shown)
}

fn packet(designs: &Designs) -> Interpretations {
    let found = steps(designs, &[post(1), arrive(1), arrive(2)])?;
    let shown = "a hit removes the request and is counted, a miss is stored and inserted";
    fact(found == [(1, 0, 0, 0), (0, 0, 0, 1), (0, 1, 1, 1)], shown)
}

/// Two deep searches, one of each queue, take little longer than one.
fn overlap(designs: &Designs) -> Interpretations {
    let mut run = SingleOperations::new(&designs.two_level)?;
    for number in 1..=1000 {
        run.serve(post(number))?;
    }
    for number in 2001..=3000 {
        run.serve(arrive(number))?;
    }
    let offered = run.cycle(run.now);
    let answers = run.serve_at_once(&[post(3000), arrive(1000)])?;
    let cycles: Vec<_> = answers.iter().map(|answer| run.cycle(answer.at) - offered).collect();
    let [one, both] = cycles[..] else { return Err(MeasureError::NotSeen("two answers")) };
    fact(both < one + one / 10, format!("one search {one} cycles, one of each queue {both}"))
}

/// Whether a receive of any source takes a message.
fn wildcards(designs: &Designs) -> Interpretations {
    let mut run = SingleOperations::new(&designs.two_level)?;
    run.serve(arrive(1))?;
    let Op::Post { recv, pattern } = post(1) else { unreachable!("a post is a post") };
    let pattern = mb_core::Pattern { initiator: None, ..pattern };
    let outcome = run.serve(Op::Post { recv, pattern })?.completion.outcome;
    let works = matches!(outcome, Outcome::Matched(..));
    fact(!works, if works { "any source and any tag work" } else { "none" })
}
