// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The computed times of `alpu` against a second model that steps through every cycle: units whose
//! cells hold patterns and envelopes and compare them, and a processor that obeys the protocol, with lists of its own.

use mb_alpu::{Alpu, AlpuParameters};
use mb_core::{Clock, Cycles, Engine, Envelope, Op, Outcome, Pattern, Picos, Shortcuts};
use mb_kit::Server;
use mb_testkit::drive::Offer;
use mb_testkit::{checked, streams};

/// Everything in cycles of a nanosecond.
#[derive(Clone, Copy, Debug)]
struct Times {
    blocks: usize,
    block: usize,
    search: u64,
    write: u64,
    read: u64,
    operation: u64,
    entry: u64,
    batch: usize,
}

/// What a cell holds and what is searched for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Key {
    Pattern(Pattern),
    Envelope(Envelope),
}

fn meet(one: Key, other: Key) -> bool {
    match (one, other) {
        (Key::Pattern(pattern), Key::Envelope(envelope)) | (Key::Envelope(envelope), Key::Pattern(pattern)) => {
            pattern.accepts(&envelope)
        }
        _ => false,
    }
}

type CellEntry = (u64, Key);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Command {
    Start,
    Reset,
    Insert(CellEntry),
    Stop,
}

#[derive(Clone, Copy, Debug)]
struct Search {
    key: Key,
    takes: bool,
    /// When the answer is there; not before a held search is repeated.
    known: Option<u64>,
    found: Option<u64>,
}

struct Unit {
    cells: Vec<Option<CellEntry>>,
    block: usize,
    inserting: bool,
    /// A command, and when it is written.
    command: Option<(u64, Command)>,
    search: Option<Search>,
}

impl Unit {
    fn compare(&mut self, cycle: u64, latency: u64) {
        let Some(search) = &mut self.search else { return };
        search.found = self.cells.iter().flatten().find(|(_, key)| meet(*key, search.key)).map(|(name, _)| *name);
        search.known = (search.found.is_some() || !self.inserting).then_some(cycle + latency);
    }

    /// The clock edge of `cycle`.
    fn edge(&mut self, cycle: u64, latency: u64) {
        let tail = self.cells.iter().rposition(Option::is_some).map_or(0, |youngest| youngest + 1);
        if self.cells[..tail].contains(&None) {
            let before = self.cells.clone();
            self.cells.fill(None);
            for (cell, entry) in before.iter().enumerate() {
                let start = cell / self.block * self.block;
                let moves = before[start..cell].contains(&None) || (start > 0 && before[start - 1].is_none());
                if entry.is_some() {
                    self.cells[if moves { cell - 1 } else { cell }] = *entry;
                }
            }
        }
        let mut is_held = false;
        match self.command {
            Some((written, command)) if written <= cycle => {
                match command {
                    Command::Start => {}
                    Command::Reset => self.cells.fill(None),
                    Command::Insert(_) if tail == self.cells.len() => return self.end_of_edge(cycle),
                    Command::Insert(entry) => self.cells[tail] = Some(entry),
                    Command::Stop => {
                        self.inserting = false;
                        is_held = self.search.is_some_and(|search| search.known.is_none());
                    }
                }
                self.command = None;
            }
            _ => {}
        }
        self.end_of_edge(cycle);
        if is_held {
            self.compare(cycle, latency);
        }
    }

    fn end_of_edge(&mut self, cycle: u64) {
        if let Some(Search { takes: true, known: Some(known), found: Some(found), .. }) = self.search
            && known == cycle
        {
            self.cells
                .iter_mut()
                .filter(|cell| cell.is_some_and(|(name, _)| name == found))
                .for_each(|cell| *cell = None);
        }
    }
}

/// The next operation on its way into a unit.
struct Header {
    start: u64,
    list: usize,
    key: Key,
    takes: bool,
}

struct Model {
    times: Times,
    cycle: u64,
    /// Posted receives and unexpected messages.
    units: [Unit; 2],
    /// Both lists of the processor, and how many entries of each are in the unit.
    lists: [Vec<CellEntry>; 2],
    inside: [usize; 2],
    header: Option<Header>,
}

impl Model {
    fn new(times: Times) -> Self {
        let unit = || Unit {
            cells: vec![None; times.blocks * times.block],
            block: times.block,
            inserting: false,
            command: None,
            search: None,
        };
        Self { times, cycle: 0, units: [unit(), unit()], lists: [Vec::new(), Vec::new()], inside: [0, 0], header: None }
    }

    fn wait(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.cycle += 1;
            assert!(self.cycle < 10_000_000, "the processor waits forever");
            for unit in &mut self.units {
                unit.edge(self.cycle, self.times.search);
            }
            self.hand_over();
        }
    }

    /// Starts the search of the next operation when it is due; an empty unit that takes no entries is passed by.
    fn hand_over(&mut self) {
        if let Some(Header { list, key, takes, .. }) = self.header.take_if(|header| header.start <= self.cycle) {
            let unit = &mut self.units[list];
            if unit.inserting || unit.cells.iter().any(Option::is_some) {
                unit.search = Some(Search { key, takes, known: None, found: None });
                unit.compare(self.cycle, self.times.search);
            }
        }
    }

    fn command(&mut self, list: usize, command: Command) {
        self.units[list].command = Some((self.cycle + self.times.write, command));
        while self.units[list].command.is_some() {
            self.wait(1);
        }
    }

    /// Moves entries of `list` into its unit; `is_started` after a reset.
    fn session(&mut self, list: usize, is_started: bool) {
        if !is_started {
            self.command(list, Command::Start);
            self.wait(self.times.read);
        }
        let movable = self.movable(list);
        for _ in 0..movable {
            let entry = self.lists[list][self.inside[list]];
            // Counted before it is obeyed: a search may find it at that very edge.
            self.inside[list] += 1;
            self.command(list, Command::Insert(entry));
        }
        self.command(list, Command::Stop);
    }

    fn movable(&self, list: usize) -> usize {
        let size = self.times.blocks * self.times.block;
        (size - self.inside[list]).min(self.lists[list].len() - self.inside[list])
    }

    /// What happens to every operation, and when.
    fn run(&mut self, offers: &[(u64, Op)]) -> Vec<(Outcome, u64)> {
        let mut done: Vec<(Outcome, u64)> = Vec::new();
        let mut session: Option<(usize, bool)> = None;
        for &(offered, op) in offers {
            let start = offered.max(self.cycle);
            self.header = match op {
                Op::Arrive { envelope, .. } => {
                    Some(Header { start, list: 0, key: Key::Envelope(envelope), takes: true })
                }
                Op::Post { pattern, .. } => Some(Header { start, list: 1, key: Key::Pattern(pattern), takes: true }),
                Op::Probe { pattern, .. } => Some(Header { start, list: 1, key: Key::Pattern(pattern), takes: false }),
                Op::MatchedProbe { pattern, .. } => {
                    Some(Header { start, list: 1, key: Key::Pattern(pattern), takes: true })
                }
                Op::Cancel { .. } => None,
            };
            self.hand_over();
            if let Some((list, is_started)) = session.take() {
                self.session(list, is_started);
            }
            self.wait(start.saturating_sub(self.cycle));
            let outcome;
            (outcome, session) = self.process(op);
            done.push((outcome, self.cycle));
            // START counts from the answer on.
            if let Some((list, _)) = session {
                self.units[list].inserting = true;
            }
        }
        done
    }

    /// The processor's part of an operation: its outcome, and the session that it leads to.
    fn process(&mut self, op: Op) -> (Outcome, Option<(usize, bool)>) {
        match op {
            Op::Cancel { recv } => {
                self.wait(self.times.operation);
                let Some(position) = self.lists[0].iter().position(|(name, _)| *name == recv.0) else {
                    return (Outcome::NotCancelled(recv), None);
                };
                self.lists[0].remove(position);
                if position >= self.inside[0] {
                    return (Outcome::Cancelled(recv), None);
                }
                self.command(0, Command::Reset);
                self.inside[0] = 0;
                (Outcome::Cancelled(recv), Some((0, true)))
            }
            Op::Arrive { msg, envelope } => {
                let Some(recv) = self.find(0, Key::Envelope(envelope), true) else {
                    self.lists[1].push((msg.0, Key::Envelope(envelope)));
                    return (Outcome::Unexpected(msg), self.wants_session(1));
                };
                (Outcome::Matched(mb_core::RecvId(recv), msg), self.wants_session(0))
            }
            Op::Post { recv, pattern } => {
                let Some(msg) = self.find(1, Key::Pattern(pattern), true) else {
                    self.lists[0].push((recv.0, Key::Pattern(pattern)));
                    return (Outcome::Posted(recv), self.wants_session(0));
                };
                (Outcome::Matched(recv, mb_core::MsgId(msg)), self.wants_session(1))
            }
            Op::Probe { probe, pattern } => {
                let found = self.find(1, Key::Pattern(pattern), false);
                (Outcome::Probed(probe, found.map(mb_core::MsgId)), None)
            }
            Op::MatchedProbe { probe, pattern } => {
                let found = self.find(1, Key::Pattern(pattern), true);
                (Outcome::Probed(probe, found.map(mb_core::MsgId)), self.wants_session(1))
            }
        }
    }

    fn wants_session(&self, list: usize) -> Option<(usize, bool)> {
        (self.movable(list) >= self.times.batch).then_some((list, false))
    }

    fn find(&mut self, list: usize, key: Key, takes: bool) -> Option<u64> {
        let mut rest = 0;
        if self.units[list].search.is_some() {
            while self.units[list].search.is_some_and(|search| search.known.is_none_or(|known| known > self.cycle)) {
                self.wait(1);
            }
            self.wait(self.times.read);
            if let Some(Search { found: Some(found), .. }) = self.units[list].search.take() {
                self.wait(self.times.operation);
                if takes {
                    self.lists[list].retain(|(name, _)| *name != found);
                    self.inside[list] -= 1;
                }
                return Some(found);
            }
            rest = self.inside[list];
        }
        self.wait(self.times.operation);
        for position in rest..self.lists[list].len() {
            self.wait(self.times.entry);
            let (name, other) = self.lists[list][position];
            if meet(other, key) {
                if takes {
                    self.lists[list].remove(position);
                }
                return Some(name);
            }
        }
        None
    }
}

fn engine(times: Times) -> Server<Alpu> {
    let parameters = AlpuParameters {
        clock: Clock::from_mhz(1000),
        cells: times.blocks * times.block,
        block: times.block as u32,
        search: Cycles(times.search),
        write: Picos::from_ns(times.write),
        read: Picos::from_ns(times.read),
        operation: Picos::from_ns(times.operation),
        offload: Picos::ZERO,
        entry: Picos::from_ns(times.entry),
        batch: times.batch,
        commands: 1_000_000,
    };
    Server::new(Alpu::new(checked(&parameters)).unwrap())
}

/// Units of one cell to several blocks; every part of the interface fast and slow.
#[rustfmt::skip]
const TIMES: &[Times] = &[
    Times { blocks: 1, block: 1, search: 1, write: 1, read: 0, operation: 0, entry: 0, batch: 1 },
    Times { blocks: 4, block: 4, search: 7, write: 5, read: 5, operation: 5, entry: 19, batch: 1 },
    Times { blocks: 8, block: 1, search: 3, write: 1, read: 0, operation: 1, entry: 2, batch: 1 },
    Times { blocks: 8, block: 2, search: 2, write: 1, read: 1, operation: 0, entry: 1, batch: 3 },
    Times { blocks: 2, block: 5, search: 9, write: 2, read: 3, operation: 40, entry: 7, batch: 2 },
    Times { blocks: 3, block: 3, search: 20, write: 1, read: 0, operation: 0, entry: 3, batch: 4 },
];

#[test]
fn every_cycle_is_that_of_the_stepped_model() {
    for &times in TIMES {
        for pace in [0, 1, 3] {
            let same = |offers: &[Offer]| {
                let offers: Vec<(u64, Op)> =
                    offers.iter().map(|Offer { at, op }| (at.0 / 20_000 * pace, *op)).collect();
                let expected = Model::new(times).run(&offers);
                let mut engine = engine(times);
                let mut done = Vec::new();
                for (at, op) in &offers {
                    engine.offer(Picos::from_ns(*at), *op);
                }
                engine.settle(&mut done);
                for (index, (completion, (outcome, cycle))) in done.iter().zip(&expected).enumerate() {
                    if (completion.outcome, completion.at) != (*outcome, Picos::from_ns(*cycle)) {
                        return Err(format!(
                            "operation {}: `{}` at {} by the engine, `{outcome}` at cycle {cycle} by the model",
                            index + 1,
                            completion.outcome,
                            completion.at
                        ));
                    }
                }
                if done.len() == offers.len() { Ok(()) } else { Err(format!("{} answers", done.len())) }
            };
            assert_eq!(streams::check(200, same), Ok(()), "{times:?}, pace {pace}");
        }
    }
}
