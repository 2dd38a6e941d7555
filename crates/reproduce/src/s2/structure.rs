// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section III: what the queues are made of and how requests and messages pass through them, seen from cycles and outcomes.

use mb_cam_list::{Corrections, Machine, Parameters};
use mb_core::{Op, Outcome, RecvId, Settings};
use mb_parts::LinkedMemory;

use super::{Designs, Run, arrive, post, probe};
use crate::MeasureError;
use crate::registry::{Entry, Reading, count, differs, fact, measure, number};
use crate::verdict::Measured;

type Readings = Result<Vec<Reading>, MeasureError>;

/// A number of a queue's first level that no receive or message of a run has.
const NOBODY: u64 = u64::MAX;

/// More entries than two levels hold.
const BEYOND: u64 = 33_100;

pub(super) const ENTRIES: &[Entry<Designs>] = &[
    measure("s2.queues", queues),
    measure("s2.cam.depth", |designs: &Designs| count(cam_depth(&designs.two_level)? as usize)),
    measure("s2.cam.match_cycles", |designs: &Designs| {
        number(Run::with_receives(&designs.two_level, 100)?.serve(arrive(50))?.searching as f64)
    }),
    measure("s2.cam.insert_cycles", insertion),
    measure("s2.ll.capacity", |designs: &Designs| {
        count((capacity(&designs.two_level)? - cam_depth(&designs.two_level)?) as usize)
    }),
    measure("s2.queue.capacity", |designs: &Designs| count(capacity(&designs.two_level)? as usize)),
    measure("s2.mover.cycles", stall),
    measure("s2.network.stall_rule", stall),
    measure("s2.mover.replenish", replenishment),
    measure("s2.ll.cycles_per_element", |designs: &Designs| {
        let mut run = Run::with_messages(&designs.two_level, 2000)?;
        number((run.serve(probe(1500))?.cycles - run.serve(probe(500))?.cycles) as f64 / 1000.0)
    }),
    measure("s2.p2l.n", |designs: &Designs| {
        let lists = [&designs.p2l4, &designs.p2l64].map(|settings| lists_side_by_side(settings).map(|n| n as f64));
        let [four, many] = lists;
        Ok(vec![Reading::new("", Measured::Numbers(vec![four?, many?]))])
    }),
    differs("s2.p2l.insert_rr", policies, REFILL),
    measure("s2.ll.freelist", free_list),
    measure("s2.ll.insert_steps", insertion_steps),
    measure("s2.ll.search_steps", search_steps),
    measure("s2.comp_unit", completion_unit),
    measure("s2.dataflow_request", request),
    measure("s2.dataflow_packet", packet),
    measure("s2.ll.parallel_access", overlap),
    differs("s2.no_wildcards", wildcards, WILDCARDS),
];

/// Why the mover does not take turns.
const REFILL: &str = "Taking turns brings a younger entry into the CAM before an older one when matches have left the lists \
                      uneven, which MPI forbids; our mover takes the oldest of the first entries, and the two agree on even lists.";

/// Why the engine has wildcards.
const WILDCARDS: &str =
    "The paper leaves wildcards to others; a trace has them, so our CAM of posted receives is ternary.";

/// A receive and a message that do not fit wait beside each other.
fn queues(designs: &Designs) -> Readings {
    use mb_core::engine::Engine;
    let mut run = Run::new(&designs.two_level)?;
    run.serve(post(1))?;
    run.serve(arrive(2))?;
    let (posted, unexpected) = run.engine.queue_lengths();
    count(posted.min(1) + unexpected.min(1))
}

/// The deepest entry that is found as soon as the first.
fn cam_depth(settings: &Settings) -> Result<u64, MeasureError> {
    let mut run = Run::with_messages(settings, 1000)?;
    let first = run.serve(probe(1))?.cycles;
    for depth in 2..=1000 {
        if run.serve(probe(depth))?.cycles > first {
            return Ok(depth - 1);
        }
    }
    Err(MeasureError::NotSeen("the end of the CAM"))
}

/// The deepest entry before one costs more than a step along the list.
fn capacity(settings: &Settings) -> Result<u64, MeasureError> {
    let mut run = Run::with_messages(settings, BEYOND)?;
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

/// What a message that nobody waits for takes longer than a probe that finds nothing.
fn insertion(designs: &Designs) -> Readings {
    let message = Run::new(&designs.two_level)?.serve(arrive(1))?.cycles;
    let search = Run::new(&designs.two_level)?.serve(probe(1))?.cycles;
    number((message - search) as f64)
}

/// What an insertion into the lists waits for the mover: a message frees a slot of the full CAM while a receive is posted.
fn stall(designs: &Designs) -> Readings {
    let mut run = Run::with_receives(&designs.two_level, 400)?;
    run.serve_at_once(&[arrive(7), post(NOBODY)])?;
    number(run.counters().waiting_for_mover as f64)
}

/// Every match in the CAM brings an entry from the list into it, until the list is empty.
fn replenishment(designs: &Designs) -> Readings {
    let mut run = Run::with_receives(&designs.two_level, 300)?;
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
fn lists_side_by_side(settings: &Settings) -> Result<u64, MeasureError> {
    let mut run = Run::with_messages(settings, 1000)?;
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
fn small(designs: &Designs) -> Result<Parameters, MeasureError> {
    let parameters = Parameters::new(&designs.p2l4)
        .map_err(|error| mb_catalog::CatalogError::Setting { engine: mb_cam_list::ENTRY.card.name, error })?;
    Ok(Parameters { cam: 2, lists: 2, entries_per_list: 4, ..parameters })
}

/// Steps operations far apart; what became of the last one.
fn last_outcome(parameters: &Parameters, corrections: Corrections, ops: &[Op]) -> Option<Outcome> {
    let mut machine = Machine::new(parameters, corrections);
    for op in ops {
        machine.offer(*op);
        settle(&mut machine);
    }
    machine.done().last().map(|done| done.outcome)
}

fn settle(machine: &mut Machine) {
    while !machine.is_idle() {
        machine.step();
    }
}

/// A receive whose tag others share.
fn post_same(number: u64) -> Op {
    let Op::Post { pattern, .. } = post(0) else { unreachable!("a post is a post") };
    Op::Post { recv: RecvId(number), pattern }
}

/// Insertion in turn and search side by side show in the cycles of rows; refilling in turn in which of two equal receives is
/// found after the lists were made uneven: the second list has lost two.
fn policies(designs: &Designs) -> Readings {
    let mut rows = true;
    for settings in [&designs.p2l4, &designs.p2l64] {
        let (lists, mut run) = (lists_side_by_side(settings)?, Run::with_messages(settings, 1000)?);
        let step = run.serve(probe(256 + lists + 1))?.cycles - run.serve(probe(256 + lists))?.cycles;
        let first = run.serve(probe(257))?.cycles;
        for depth in 257..=1000 {
            rows &= run.serve(probe(depth))?.cycles == first + step * ((depth - 257) / lists);
        }
    }
    let posts = [post(1), post(2), post(3), post(4), post_same(5), post(6), post(7), post_same(8)];
    let ops = [posts.as_slice(), &[arrive(4), arrive(6), arrive(1), arrive(2), arrive(0)]].concat();
    let reading = |name, corrections| {
        let Some(Outcome::Matched(found, _)) = last_outcome(&small(designs)?, corrections, &ops) else {
            return Err(MeasureError::NotSeen("the match of a receive that was moved"));
        };
        let in_turn = found == RecvId(8);
        let insertion = if rows { "insert in turn" } else { "insert otherwise" };
        let refill = if in_turn { "refill in turn" } else { "refill by age" };
        let shown = format!("{insertion}, {refill}, parallel");
        Ok(Reading::new(name, Measured::Fact(rows && in_turn, shown)))
    };
    Ok(vec![reading("in MPI's order", Corrections::ALL)?, reading("as published", Corrections::NONE)?])
}

/// The slot that becomes free is the last to be used again.
fn free_list(_: &Designs) -> Readings {
    let mut memory = LinkedMemory::new(4, 1);
    let mut used: Vec<_> = [0; 3].iter().filter_map(|entry| memory.append(0, *entry)).collect();
    memory.unlink(0, None);
    used.extend([0; 2].iter().filter_map(|entry| memory.append(0, *entry)));
    fact(used == [0, 1, 2, 3, 0], format!("slots used: {used:?}, the first given back after three"))
}

fn insertion_steps(_: &Designs) -> Readings {
    let mut memory = LinkedMemory::new(8, 1);
    let slots: Vec<_> = (1..=3).filter_map(|entry| memory.append(0, entry)).collect();
    let links: Vec<_> = slots.iter().map(|slot| memory.next(*slot)).collect();
    let linked = links == [slots.get(1).copied(), slots.get(2).copied(), None];
    fact(linked && memory.free() == 5, format!("slots {slots:?}, each linked to the next, {} free", memory.free()))
}

fn search_steps(_: &Designs) -> Readings {
    let mut memory = LinkedMemory::new(3, 1);
    for entry in 1..=3 {
        memory.append(0, entry);
    }
    let found = memory.first(0).and_then(|first| (*memory.get(first) == 1).then_some(first));
    let hit = found.and_then(|first| memory.next(first));
    let taken = memory.unlink(0, found);
    let rest = memory.first(0).and_then(|first| memory.next(first)).map(|slot| *memory.get(slot));
    let again = memory.append(0, 4);
    fact(
        taken == 2 && rest == Some(3) && again == hit,
        format!("entry {taken} unlinked behind the first, the third follows it, the free slot is used again"),
    )
}

/// A wait for two of three receives ends in the cycle of the second match, a wait for four never.
fn completion_unit(designs: &Designs) -> Readings {
    let mut machine = Machine::new(&small(designs)?, Corrections::ALL);
    for op in [post(1), post(2), post(3), arrive(3), arrive(1), arrive(2)] {
        machine.offer(op);
    }
    let (waited, counted) = (machine.wait(2), machine.completed());
    let second = machine.done().iter().filter(|done| matches!(done.outcome, Outcome::Matched(..))).nth(1);
    let in_time = waited.is_some() && waited == second.map(|done| done.at);
    let never = machine.wait(4);
    fact(in_time && counted == 2 && never.is_none(), format!("the wait for 2 of 3 ends with {counted} counted"))
}

/// What is in the queues, in the data memory, and counted.
fn state(machine: &Machine) -> (usize, usize, usize, u64) {
    let (posted, unexpected) = machine.queue_lengths();
    (posted, unexpected, machine.buffers_in_use(), machine.completed())
}

fn steps(designs: &Designs, ops: &[Op]) -> Result<Vec<(usize, usize, usize, u64)>, MeasureError> {
    let mut machine = Machine::new(&small(designs)?, Corrections::ALL);
    Ok(ops
        .iter()
        .map(|op| {
            machine.offer(*op);
            settle(&mut machine);
            state(&machine)
        })
        .collect())
}

fn request(designs: &Designs) -> Readings {
    let found = steps(designs, &[arrive(1), post(1), post(2)])?;
    let shown = "a hit empties queue and buffer and is counted, a miss is posted";
    fact(found == [(0, 1, 1, 0), (0, 0, 0, 1), (1, 0, 0, 1)], shown)
}

fn packet(designs: &Designs) -> Readings {
    let found = steps(designs, &[post(1), arrive(1), arrive(2)])?;
    let shown = "a hit removes the request and is counted, a miss is stored and inserted";
    fact(found == [(1, 0, 0, 0), (0, 0, 0, 1), (0, 1, 1, 1)], shown)
}

/// Two deep searches, one of each queue, take little longer than one.
fn overlap(designs: &Designs) -> Readings {
    let mut run = Run::new(&designs.two_level)?;
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
fn wildcards(designs: &Designs) -> Readings {
    let mut run = Run::new(&designs.two_level)?;
    run.serve(arrive(1))?;
    let Op::Post { recv, pattern } = post(1) else { unreachable!("a post is a post") };
    let pattern = mb_core::Pattern { initiator: None, ..pattern };
    let outcome = run.serve(Op::Post { recv, pattern })?.completion.outcome;
    let works = matches!(outcome, Outcome::Matched(..));
    fact(!works, if works { "any source and any tag work" } else { "none" })
}
