// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The tables of the simulator as a model for a state explorer.
//!
//! Values are symbolic: a copy has the last write of its line, or not. A write makes every other copy
//! of the line old, so a read of any older value is found without a bound on the number of writes.
//! Cores and devices issue requests without end, and any line can be evicted at any time. A message
//! can be delivered when it is the oldest from its sender to its receiver about its line; with
//! `ordered` false, at any time. The channels have no bound: a node has at most one transaction of a
//! line under way, which bounds them.

use std::fmt::Write as _;

use mb_processor::directory::protocol::{
    CacheAction, CacheEvent, CacheState, CacheTransition, DirectoryAction, DirectoryEntry, MessageKind, MessageTarget,
    Outgoing, Protocol, ProtocolMessage, cache_event, directory_event, step_directory,
};
use stateright::{Checker, Model, Property};

/// What a core or device asks for.
pub(crate) type Op = CacheEvent;

/// A line in a node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Copy {
    pub(crate) state: CacheState,
    acks: i8,
    /// Whether the copy, if there is one, has the last write.
    pub(crate) data: Option<bool>,
    /// The copy becomes zero when the right is exclusive.
    zero: bool,
    /// Requests that wait, in order.
    waiting: Vec<Op>,
}

/// A message on its way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Flight {
    to: u8,
    line: u8,
    message: ProtocolMessage,
    data: Option<bool>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct World {
    /// By node, then by line.
    pub(crate) copies: Vec<Vec<Copy>>,
    entries: Vec<DirectoryEntry>,
    memory: Vec<bool>,
    /// By sender, receiver and line, in the order of sending; or sorted.
    flights: Vec<Flight>,
    /// What went wrong.
    pub(crate) wrong: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Issue(u8, u8, Op),
    Deliver(u8),
}

/// How much a system does, and how much is looked at in each state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    /// Devices write and release also lines that they do not own. Each state is run to its end without
    /// new requests, to see that all are answered.
    Small,
    /// A state with requests that are not answered is seen when no message can be delivered.
    Large,
    /// As `Large`; a request of a core for a line evicts the other lines: a cache of one line.
    SingleLine,
}

/// A system to explore.
pub(crate) struct System {
    pub(crate) protocol: Protocol,
    pub(crate) nodes: u8,
    pub(crate) lines: u8,
    /// What the device of each node asks for; an empty list means no device.
    pub(crate) devices: Vec<Vec<Op>>,
    pub(crate) ordered: bool,
    pub(crate) size: Size,
    /// Ways to exchange nodes and lines that make no difference; see [`symmetries`]. Of the states that they turn into
    /// each other, the least is explored.
    pub(crate) symmetries: Vec<Symmetry>,
}

/// A new number for each node and for each line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Symmetry {
    nodes: Vec<u8>,
    lines: Vec<u8>,
}

/// Every permutation of numbers below `count`.
fn permutations(count: u8) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    for next in 0..count {
        let longer = |shorter: &Vec<u8>| {
            let shorter = shorter.clone();
            (0..=shorter.len()).map(move |place| [&shorter[..place], &[next], &shorter[place..]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// All ways to exchange nodes with equal devices, and lines, apart from the one that exchanges nothing. Controllers and
/// directories treat all nodes and lines alike, and no order is defined among channels.
pub(crate) fn symmetries(system: &System) -> Vec<Symmetry> {
    let alike = |nodes: &Vec<u8>| {
        nodes.iter().zip(&system.devices).all(|(&new, device)| *device == system.devices[usize::from(new)])
    };
    let nodes = permutations(system.nodes).into_iter().filter(alike);
    let both = |nodes: Vec<u8>| {
        permutations(system.lines).into_iter().map(move |lines| Symmetry { nodes: nodes.clone(), lines })
    };
    let changes = |one: &Symmetry| !one.nodes.is_sorted() || !one.lines.is_sorted();
    nodes.flat_map(both).filter(changes).collect()
}

impl Symmetry {
    fn node(&self, node: u8) -> u8 {
        // The home and memory are no nodes.
        self.nodes.get(usize::from(node)).copied().unwrap_or(node)
    }

    /// Whether the exchanged copies of a state are greater than those of another state.
    fn is_greater(&self, world: &World, other: &World) -> bool {
        let place = |numbers: &[u8], new: usize| numbers.iter().position(|&one| usize::from(one) == new);
        for (node, copies) in other.copies.iter().enumerate() {
            let Some(from) = place(&self.nodes, node) else { continue };
            for (line, copy) in copies.iter().enumerate() {
                let Some(of) = place(&self.lines, line) else { continue };
                let order = world.copies[from][of].cmp(copy);
                if order.is_ne() {
                    return order.is_gt();
                }
            }
        }
        false
    }

    fn exchange(&self, world: &World, ordered: bool) -> World {
        let mut next = world.clone();
        for (copies, &node) in world.copies.iter().zip(&self.nodes) {
            for (copy, &line) in copies.iter().zip(&self.lines) {
                next.copies[usize::from(node)][usize::from(line)].clone_from(copy);
            }
        }
        for ((entry, &memory), &line) in world.entries.iter().zip(&world.memory).zip(&self.lines) {
            let bits = self.nodes.iter().enumerate().map(|(node, &new)| (entry.sharers >> node & 1) << new);
            next.entries[usize::from(line)] =
                DirectoryEntry { sharers: bits.sum(), owner: self.node(entry.owner), ..*entry };
            next.memory[usize::from(line)] = memory;
        }
        for flight in &mut next.flights {
            let ProtocolMessage { from, requester, .. } = flight.message;
            flight.to = self.node(flight.to);
            flight.line = self.lines[usize::from(flight.line)];
            (flight.message.from, flight.message.requester) = (self.node(from), self.node(requester));
        }
        if ordered {
            next.flights.sort_by_key(Flight::channel);
        } else {
            next.flights.sort();
        }
        next
    }
}

impl Flight {
    fn channel(&self) -> (u8, u8, u8) {
        (self.message.from, self.to, self.line)
    }
}

/// The directory, as an end of channels.
const HOME: u8 = 100;

/// The data of a write-back that has been overtaken may be old.
fn is_write_back(kind: MessageKind) -> bool {
    matches!(kind, MessageKind::PutM | MessageKind::PutO)
}

/// Whether a line can be evicted.
fn can_leave(state: CacheState) -> bool {
    matches!(state, CacheState::S | CacheState::E | CacheState::O | CacheState::M)
}

fn is_leaving(state: CacheState) -> bool {
    matches!(state, CacheState::MI | CacheState::OI | CacheState::EI | CacheState::II)
}

fn is_core(op: Op) -> bool {
    matches!(op, Op::Read | Op::Write)
}

impl System {
    /// Requests of the core, or of the device, that wait in a node.
    fn waits(world: &World, node: usize, core: bool) -> bool {
        world.copies[node].iter().any(|copy| copy.waiting.iter().any(|&op| is_core(op) == core))
    }

    fn quiet(world: &World) -> bool {
        world.flights.is_empty()
            && world.entries.iter().all(|entry| entry.state.is_stable())
            && world.copies.iter().flatten().all(|copy| copy.state.is_stable() && copy.waiting.is_empty())
    }

    fn deliverable(&self, world: &World, place: usize) -> bool {
        let one = &world.flights[place];
        let same = |other: &Flight| other.channel() == one.channel();
        // Of equal messages without an order, one is enough.
        let before = &world.flights[..place];
        // A message of the home has the home as its sender.
        if self.ordered { !before.iter().any(same) } else { before.last() != Some(one) }
    }

    fn send(&self, world: &mut World, flight: Flight) {
        if flight.message.kind.has_data() && flight.data != Some(true) && !is_write_back(flight.message.kind) {
            world.wrong = Some(format!("{} with an old value", flight.message.kind.name()));
        }
        if self.ordered {
            let place = world.flights.partition_point(|one| one.channel() <= flight.channel());
            world.flights.insert(place, flight);
        } else {
            let place = world.flights.partition_point(|one| *one <= flight);
            world.flights.insert(place, flight);
        }
    }

    /// Every other copy of the line is old.
    fn write(world: &mut World, node: usize, line: usize) {
        for copies in &mut world.copies {
            copies[line].data = copies[line].data.map(|_| false);
        }
        for flight in world.flights.iter_mut().filter(|flight| usize::from(flight.line) == line) {
            flight.data = flight.data.map(|_| false);
        }
        world.memory[line] = false;
        world.copies[node][line].data = Some(true);
    }

    /// Runs an event in a cache controller. False: it waits.
    fn cache(&self, world: &mut World, node: usize, line: usize, event: CacheEvent, flight: Option<&Flight>) -> bool {
        let copy = &world.copies[node][line];
        let transition = match self.protocol.cache(copy.state, event, line as u64) {
            Ok(transition) => transition,
            Err(impossible) => {
                world.wrong = Some(impossible.to_string());
                return true;
            }
        };
        let mut restart = false;
        for &action in &transition.actions {
            if let Some((target, kind)) = action.message() {
                let message = flight.map(|flight| flight.message);
                let to = match (target, message) {
                    (MessageTarget::Requester, Some(message)) => message.requester,
                    _ => HOME,
                };
                let acks = message.map_or(0, |message| message.acks);
                let message = ProtocolMessage { kind, from: node as u8, requester: node as u8, acks };
                let data = if kind.has_data() { world.copies[node][line].data } else { None };
                self.send(world, Flight { to, line: line as u8, message, data });
                continue;
            }
            let copy = &mut world.copies[node][line];
            match action {
                CacheAction::Stall => return false,
                CacheAction::Restart => restart = true,
                CacheAction::Drop => copy.data = None,
                CacheAction::Fill => copy.data = flight.and_then(|flight| flight.data),
                CacheAction::Zero => (copy.data, copy.zero) = (Some(false), true),
                CacheAction::Expect => copy.acks += flight.map_or(0, |flight| flight.message.acks as i8),
                CacheAction::Count => copy.acks -= 1,
                CacheAction::Deliver => {
                    // A copy is a read at the instant of its sending; the owner may write meanwhile.
                    let is_copy = flight.is_some_and(|flight| flight.message.kind == MessageKind::CopyData);
                    if !is_copy && flight.and_then(|flight| flight.data) != Some(true) {
                        world.wrong = Some("the device reads an old value".into());
                    }
                    let first = world.copies[node][line].waiting.iter().position(|&op| !is_core(op));
                    match first {
                        Some(first) => {
                            world.copies[node][line].waiting.remove(first);
                        }
                        None => world.wrong = Some("data for a device that waits for none".into()),
                    }
                }
                CacheAction::Hit if event == CacheEvent::Write => Self::write(world, node, line),
                CacheAction::TakeBytes => Self::write(world, node, line),
                CacheAction::Hit | CacheAction::GiveCopy if copy.data != Some(true) => {
                    world.wrong = Some("a read of an old value".into());
                }
                _ => {}
            }
        }
        world.copies[node][line].state = transition.next;
        if transition.next == CacheState::M && std::mem::take(&mut world.copies[node][line].zero) {
            Self::write(world, node, line);
        }
        if restart {
            self.restart(world, node, line);
        }
        // A request of this node that sent a message waits for the answer.
        flight.is_some() || world.copies[node][line].state.is_stable() || Self::served(transition)
    }

    fn served(transition: &CacheTransition) -> bool {
        transition.actions.contains(&CacheAction::Hit) || transition.actions.contains(&CacheAction::Refuse)
    }

    fn restart(&self, world: &mut World, node: usize, line: usize) {
        while let Some(&op) = world.copies[node][line].waiting.first() {
            if world.wrong.is_some() || !self.cache(world, node, line, op, None) {
                return;
            }
            world.copies[node][line].waiting.remove(0);
        }
    }

    fn deliver(&self, world: &mut World, place: usize) -> bool {
        let flight = world.flights.remove(place);
        let line = usize::from(flight.line);
        if flight.to != HOME {
            let node = usize::from(flight.to);
            let copy = &world.copies[node][line];
            let event = cache_event(copy.state, copy.acks, &flight.message).expect("a message to a cache controller");
            return self.cache(world, node, line, event, Some(&flight));
        }
        let mut entry = world.entries[line];
        let event = directory_event(&entry, &flight.message).expect("a message to the directory");
        let transition = match self.protocol.directory(entry.state, event, line as u64) {
            Ok(transition) => transition,
            Err(impossible) => {
                world.wrong = Some(impossible.to_string());
                return true;
            }
        };
        let invalidates = transition.actions.contains(&DirectoryAction::InvalidateOwner);
        let mut out = Vec::new();
        for &action in &transition.actions {
            step_directory(&mut entry, action, invalidates, &flight.message, &mut |one| out.push(one));
        }
        entry.state = transition.next;
        world.entries[line] = entry;
        for one in out {
            let (to, kind, acks, data) = match one {
                Outgoing::Stall => return false,
                Outgoing::Wake => continue,
                Outgoing::Write => {
                    world.memory[line] = flight.data == Some(true);
                    continue;
                }
                Outgoing::Send(to, kind, acks) => (to, kind, acks, None),
                Outgoing::SendMemory(to, kind, acks) => (to, kind, acks, Some(world.memory[line])),
            };
            let message = ProtocolMessage { kind, from: HOME, requester: flight.message.from, acks };
            self.send(world, Flight { to, line: flight.line, message, data });
        }
        true
    }

    /// The least of the states that the symmetries turn a state into.
    pub(crate) fn least(&self, world: World) -> World {
        let mut least: Option<World> = None;
        for symmetry in &self.symmetries {
            let known = least.as_ref().unwrap_or(&world);
            if !symmetry.is_greater(&world, known) {
                let next = symmetry.exchange(&world, self.ordered);
                if next < *known {
                    least = Some(next);
                }
            }
        }
        least.unwrap_or(world)
    }

    /// The first violated invariant.
    pub(crate) fn violation(&self, world: &World) -> Option<String> {
        if let Some(wrong) = &world.wrong {
            return Some(wrong.clone());
        }
        for line in 0..usize::from(self.lines) {
            use CacheState::{D, E, M, O, OM, S, SM};
            let copies = || world.copies.iter().map(move |copies| &copies[line]);
            let writers = copies().filter(|copy| matches!(copy.state, E | M | D)).count();
            let owners = copies().filter(|copy| matches!(copy.state, E | M | D | O | OM)).count();
            let readers = copies().filter(|copy| matches!(copy.state, S | O | SM | OM)).count();
            if writers > 1 || writers == 1 && readers > 0 || owners > 1 {
                return Some("one writer or many readers: violated".into());
            }
            if copies().any(|copy| matches!(copy.state, S | E | O | M | D | SM | OM) && copy.data != Some(true)) {
                return Some("a copy that can be read is old".into());
            }
            let flies = world.flights.iter().any(|one| usize::from(one.line) == line && one.data == Some(true));
            // Zeros that become the last write when the right is exclusive.
            let grants = |one: &Flight| usize::from(one.line) == line && one.message.kind == MessageKind::GrantBlank;
            let zeros = copies().any(|copy| copy.zero) || world.flights.iter().any(grants);
            if !world.memory[line] && !flies && !zeros && !copies().any(|copy| copy.data == Some(true)) {
                return Some("the last write is lost".into());
            }
        }
        if self.size != Size::Small {
            let stuck = !Self::quiet(world)
                && (0..world.flights.len())
                    .all(|place| !self.deliverable(world, place) || !self.deliver(&mut world.clone(), place));
            return stuck.then(|| "deadlock: a request is not answered".into());
        }
        let mut rest = world.clone();
        for _ in 0..200 {
            if Self::quiet(&rest) || rest.wrong.is_some() {
                return None;
            }
            let next = (0..rest.flights.len()).find_map(|place| {
                let mut next = rest.clone();
                (self.deliverable(&rest, place) && self.deliver(&mut next, place)).then_some(next)
            });
            match next {
                Some(next) => rest = next,
                None => return Some("deadlock: a request is not answered".into()),
            }
        }
        Some("livelock: messages without end".into())
    }
}

impl Model for System {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let lines = usize::from(self.lines);
        let copy = Copy { state: CacheState::I, acks: 0, data: None, zero: false, waiting: Vec::new() };
        vec![World {
            copies: vec![vec![copy; lines]; usize::from(self.nodes)],
            entries: vec![DirectoryEntry::NEW; lines],
            memory: vec![true; lines],
            flights: Vec::new(),
            wrong: None,
        }]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        if world.wrong.is_some() {
            return;
        }
        for node in 0..self.nodes {
            let (core, device) = (Self::waits(world, node.into(), true), Self::waits(world, node.into(), false));
            for line in 0..self.lines {
                let state = world.copies[usize::from(node)][usize::from(line)].state;
                let leaves = |copy: &Copy| copy.state.is_stable() || is_leaving(copy.state);
                let others =
                    || world.copies[usize::from(node)].iter().enumerate().filter(|one| one.0 != usize::from(line));
                let room = self.size != Size::SingleLine || state != CacheState::I || others().all(|one| leaves(one.1));
                if !core && room {
                    steps.extend([Op::Read, Op::Write].map(|op| Step::Issue(node, line, op)));
                }
                if !device {
                    let owns = |op| matches!(op, Op::DeviceWrite | Op::DeviceRelease) && state != CacheState::D;
                    let ops =
                        self.devices[usize::from(node)].iter().filter(|&&op| self.size == Size::Small || !owns(op));
                    steps.extend(ops.map(|&op| Step::Issue(node, line, op)));
                }
                if self.size != Size::SingleLine && can_leave(state) {
                    steps.push(Step::Issue(node, line, Op::Replace));
                }
            }
        }
        let places = 0..world.flights.len();
        steps.extend(places.filter(|&place| self.deliverable(world, place)).map(|place| Step::Deliver(place as u8)));
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        match step {
            Step::Deliver(place) => {
                if !self.deliver(&mut next, place.into()) {
                    return None;
                }
            }
            Step::Issue(node, line, op) => {
                let (node, line) = (usize::from(node), usize::from(line));
                if self.size == Size::SingleLine && is_core(op) && next.copies[node][line].state == CacheState::I {
                    for other in (0..usize::from(self.lines)).filter(|&other| other != line) {
                        if can_leave(next.copies[node][other].state) {
                            self.cache(&mut next, node, other, Op::Replace, None);
                        }
                    }
                }
                let served = self.cache(&mut next, node, line, op, None);
                if !served && op != Op::Replace {
                    next.copies[node][line].waiting.push(op);
                }
            }
        }
        (next != *world).then(|| self.least(next))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("invariants", |system: &Self, world: &World| system.violation(world).is_none())]
    }
}

/// What an exploration found.
pub(crate) struct Found {
    pub(crate) states: usize,
    pub(crate) depth: usize,
    /// The violated invariant and the steps to it.
    pub(crate) violation: Option<(String, String)>,
}

/// Explores all states, or until a violation.
pub(crate) fn explore(system: System) -> Found {
    let checker = system.checker().threads(2).spawn_bfs().join();
    let violation = checker.discovery("invariants").map(|path| {
        let mut text = String::new();
        for step in path.clone().into_actions() {
            let _ = writeln!(text, "{step:?}");
        }
        let last = path.last_state().clone();
        (checker.model().violation(&last).unwrap_or_default(), text)
    });
    Found { states: checker.unique_state_count(), depth: checker.max_depth(), violation }
}
