// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs of items that fail alike, passed over in one step and exactly.
//!
//! A search mostly repeats one path: the words from one item's first word to the next item's. When the path was taken twice
//! in a row, without a wait, and the stream is in the same phase (every time relative to now the same), then whatever
//! depends on time repeats for as long as the path does. Which path an item takes depends on the predicates of its
//! branches and outputs. A [`Plan`] holds how these follow from the item's eight words and from registers that
//! the path does not write; it exists only if nothing else is carried from one item to the next.
//! So a run of items with the same decisions costs eight cycles each, and the state after it is the one that
//! the last of them leaves. `match_unit/unit/tests/runs.rs` compares with runs that issue every word.
//!
//! Cost: a few nanoseconds for an item of a run, instead of eight words.

use mb_asm::layout::Combine;

use crate::layout::{WORDS, Words};
use crate::list_manager::{ListManager, Phase};
use crate::machine::{Event, Observer};
use crate::unit::{AluKind, BranchKind, DELAY_SLOTS, Head, Micro, NOWHERE, Tag, Unit, permute_fields};

/// Addresses of the words from one item's first word to the next.
type Path = [u16; WORDS];

/// Where an operand of a comparison comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operand {
    /// A register that the path does not write.
    Kept(u8),
    /// A word of the item, its fields permuted.
    Item(usize, u8),
    /// Computed on the way.
    Computed,
    /// Left by an item before.
    Stale,
}

/// A predicate as a function of the item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Node {
    /// A predicate that the path does not write.
    Kept(u8),
    /// Equality under a mask, of ternary registers.
    Ternary { operands: [Operand; 3], flip: u64, group: u64 },
    /// A comparison of ALU registers.
    Alu { kind: AluKind, operands: [Operand; 2], keep: u64, immediate: u64, group: u64, up: u8 },
    /// A truth table of two nodes.
    Table { a: usize, b: usize, table: u8 },
    /// Depends on something computed.
    Unknown,
}

/// What decides that an item takes a path.
#[derive(Clone, Debug)]
struct Plan {
    path: Path,
    /// In order of dependence.
    nodes: Vec<Node>,
    /// Nodes that branches and outputs depend on, and their values on the path.
    decisions: Vec<(usize, bool)>,
}

/// Watches a search for paths that repeat. An [`Observer`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    path: Path,
    length: usize,
    clean: bool,
    /// Words of the path that sent something.
    sent: u8,
    before: Option<(Path, Phase)>,
    /// What is known of paths seen: a plan, or that there is none.
    known: Vec<(Path, Option<Plan>)>,
}

impl Observer for Runs {
    #[inline]
    fn issued(&mut self, event: &Event, _: &Unit) {
        if self.length < WORDS {
            self.path[self.length] = event.issued.at;
            self.sent |= u8::from(event.issued.sent.is_some()) << self.length;
        }
        self.length += 1;
        self.clean &= event.stall.is_none() && event.issued.popped;
    }
}

impl Runs {
    /// Forgets where the search before stood.
    pub(crate) fn restart(&mut self) {
        self.before = None;
        self.begin_path(false);
    }

    fn begin_path(&mut self, clean: bool) {
        self.length = 0;
        self.sent = 0;
        self.clean = clean;
    }

    /// To be called when the first word of an item was just taken. Passes over as many items as will take the path that the
    /// last two took; returns how many.
    pub(crate) fn pass_over(&mut self, unit: &mut Unit, lists: &mut ListManager, now: u64) -> usize {
        let whole = self.clean && self.length == WORDS && unit.pc() == self.path[0] && !unit.in_shadow();
        let (path, sent) = (self.path, self.sent);
        self.begin_path(true);
        if !whole {
            self.before = None;
            return 0;
        }
        let Some(phase) = lists.phase(now) else {
            self.before = None;
            return 0;
        };
        let repeats = self.before.as_ref().is_some_and(|before| before.0 == path && before.1 == phase);
        self.before = Some((path, phase));
        if !repeats {
            return 0;
        }
        let place = self.known.iter().position(|(known, _)| *known == path).unwrap_or_else(|| {
            self.known.push((path, Plan::new(unit, path, sent)));
            self.known.len() - 1
        });
        let Some(plan) = &self.known[place].1 else { return 0 };
        let items = lists.alike(|words| plan.holds(unit, words));
        if items > 0 {
            let (last, next) = lists.pass_over(items);
            plan.replay(unit, &last, next);
        }
        items
    }
}

impl Plan {
    /// The plan of a path on which the words of `sent` sent something.
    fn new(unit: &Unit, path: Path, sent: u8) -> Option<Self> {
        let words = path.map(|at| unit.micro(at));
        let mut analysis = Analysis::new(&words);
        for (place, word) in words.into_iter().enumerate() {
            analysis.branch(word, place, &path)?;
            analysis.word(word, place, sent >> place & 1 == 1)?;
        }
        Self { path, nodes: analysis.nodes, decisions: analysis.decisions }.pruned()
    }

    /// Without the nodes that no decision depends on; `None` if a decision depends on something unknown.
    fn pruned(self) -> Option<Self> {
        let mut needed = vec![false; self.nodes.len()];
        for &(node, _) in &self.decisions {
            needed[node] = true;
        }
        for index in (0..self.nodes.len()).rev().filter(|&index| needed[index]).collect::<Vec<_>>() {
            mark(&self.nodes, index, &mut needed);
        }
        let mut places = vec![0; self.nodes.len()];
        let mut nodes = Vec::new();
        for (index, node) in self.nodes.iter().enumerate().filter(|(index, _)| needed[*index]) {
            places[index] = nodes.len();
            nodes.push(match *node {
                Node::Unknown => return None,
                Node::Table { a, b, table } => Node::Table { a: places[a], b: places[b], table },
                other => other,
            });
        }
        let decisions = self.decisions.into_iter().map(|(node, value)| (places[node], value)).collect();
        (nodes.len() <= 64).then_some(Self { path: self.path, nodes, decisions })
    }

    /// Whether an item takes the path.
    #[inline]
    fn holds(&self, unit: &Unit, item: &Words) -> bool {
        let mut values = 0_u64;
        for (index, node) in self.nodes.iter().enumerate() {
            let value = match *node {
                Node::Kept(predicate) => unit.predicate(predicate),
                Node::Ternary { operands, flip, group } => {
                    let [m0, m1, mask] = operands.map(|operand| match operand {
                        Operand::Kept(register) => unit.ternary_register(register),
                        Operand::Item(place, IDENTITY) => item[place],
                        Operand::Item(place, permute) => permute_fields(permute, item[place]),
                        Operand::Computed | Operand::Stale => 0,
                    });
                    (m0 ^ m1) & (mask ^ flip) & group == 0
                }
                Node::Alu { kind, operands, keep, immediate, group, up } => {
                    let [first, second] = operands.map(|operand| match operand {
                        Operand::Kept(register) => unit.alu_register(register),
                        Operand::Item(place, _) => item[place],
                        Operand::Computed | Operand::Stale => 0,
                    });
                    kind.compare((first & group) << up, ((second & keep | immediate) & group) << up)
                }
                Node::Table { a, b, table } => table >> (2 * (values >> a & 1) + (values >> b & 1)) & 1 == 1,
                Node::Unknown => false,
            };
            values |= u64::from(value) << index;
        }
        self.decisions.iter().all(|&(node, value)| (values >> node & 1 == 1) == value)
    }

    /// Leaves the unit as the last item of a run does; `next` is the first word of the item behind it.
    fn replay(&self, unit: &mut Unit, last: &Words, next: u64) {
        unit.take_again(self.path[WORDS - 1], last[0]);
        for &word in last[1..].iter().chain(std::iter::once(&next)) {
            unit.issue(Head { word, tag: Tag::Item });
        }
    }
}

/// What is known of registers and predicates on the way along a path.
struct Analysis {
    alu: [Operand; 17],
    ternary: [Operand; 17],
    /// The node of each predicate that the path has written so far.
    predicates: [Option<usize>; 16],
    /// Predicates that the path writes somewhere, as bits.
    written: u32,
    nodes: Vec<Node>,
    decisions: Vec<(usize, bool)>,
    shadow: u8,
}

impl Analysis {
    fn new(words: &[&Micro; WORDS]) -> Self {
        let kept = std::array::from_fn(|index| Operand::Kept(index as u8));
        let mut analysis = Self {
            alu: kept,
            ternary: kept,
            predicates: [None; 16],
            written: 0,
            nodes: Vec::new(),
            decisions: Vec::new(),
            shadow: 0,
        };
        for word in words {
            analysis.alu[usize::from(word.rd)] = Operand::Stale;
            analysis.alu[usize::from(word.pop_alu)] = Operand::Stale;
            analysis.ternary[usize::from(word.copy_ternary)] = Operand::Stale;
            analysis.ternary[usize::from(word.pop_ternary)] = Operand::Stale;
            analysis.written |= word.written_predicates();
        }
        // The last word of the path took the first word of this item.
        analysis.pop(words[WORDS - 1], 0);
        analysis
    }

    /// The node of a predicate; `None` if it is left over from an item before.
    fn node(&mut self, predicate: u8) -> Option<usize> {
        if self.predicates[usize::from(predicate)].is_some() || self.written >> predicate & 1 == 1 {
            return self.predicates[usize::from(predicate)];
        }
        self.nodes.push(Node::Kept(predicate));
        Some(self.nodes.len() - 1)
    }

    fn pop(&mut self, word: &Micro, place: usize) {
        self.alu[usize::from(word.pop_alu)] = Operand::Item(place, IDENTITY);
        self.ternary[usize::from(word.pop_ternary)] = Operand::Item(place, word.permute);
    }

    /// The decision of a branch; `None` if it cannot be told.
    fn branch(&mut self, word: &Micro, place: usize, path: &Path) -> Option<()> {
        if self.shadow > 0 {
            self.shadow -= 1;
            return Some(());
        }
        match word.branch {
            BranchKind::None => return Some(()),
            BranchKind::NoItem => return None,
            BranchKind::If | BranchKind::Unless => {}
        }
        // Behind a branch that is not taken and its two delay slots the path goes on as behind one that is.
        if word.target == path[place] + 1 + u16::from(DELAY_SLOTS) {
            return None;
        }
        let taken = path[(place + 1 + usize::from(DELAY_SLOTS)) % WORDS] == word.target;
        let node = self.node(word.predicate)?;
        self.decisions.push((node, taken == (word.branch == BranchKind::If)));
        if taken {
            self.shadow = DELAY_SLOTS;
        }
        Some(())
    }

    /// The other slots of a word: everything is read before anything is written. `None` if something is read that is left over
    /// from an item before, or sent that depends on the item.
    fn word(&mut self, word: &Micro, place: usize, sends: bool) -> Option<()> {
        let operands = [self.alu[usize::from(word.rs1)], self.alu[usize::from(word.rs2)]];
        let masked = [word.m0, word.m1, word.mask].map(|register| self.ternary[usize::from(register)]);
        let computes = word.alu != AluKind::Idle && !word.alu.compares();
        if word.alu != AluKind::Idle && operands.contains(&Operand::Stale)
            || word.ternary && masked.contains(&Operand::Stale)
        {
            return None;
        }
        // A write under a predicate may leave the old value.
        if computes && word.guard != 0 {
            self.node(word.guard)?;
            if self.alu[usize::from(word.rd)] == Operand::Stale {
                return None;
            }
        }
        if word.copy {
            self.copy(word, sends)?;
        }
        let mut results = self.comparisons(word, operands, masked)?;
        for &(a, b, table, rd) in &word.merge[..usize::from(word.merges)] {
            results.push((rd, Node::Table { a: self.node(a)?, b: self.node(b)?, table }, None));
        }
        for (predicate, node, old) in results {
            self.nodes.push(node);
            if let Some((a, table)) = old {
                self.nodes.push(Node::Table { a, b: self.nodes.len() - 1, table });
            }
            self.predicates[usize::from(predicate)] = Some(self.nodes.len() - 1);
        }
        if computes {
            self.alu[usize::from(word.rd)] = Operand::Computed;
        }
        if word.copy {
            self.ternary[usize::from(word.copy_ternary)] = Operand::Computed;
        }
        self.pop(word, place + 1);
        Some(())
    }

    fn copy(&mut self, word: &Micro, sends: bool) -> Option<()> {
        let copied = self.alu[usize::from(word.copy_from)];
        let guard = self.node(word.copy_guard)?;
        let leaves_old = word.copy_ternary != NOWHERE && word.copy_guard != 0;
        if copied == Operand::Stale || leaves_old && self.ternary[usize::from(word.copy_ternary)] == Operand::Stale {
            return None;
        }
        if word.output.is_some() {
            if sends && !matches!(copied, Operand::Kept(_)) {
                return None;
            }
            self.decisions.push((guard, sends));
        }
        Some(())
    }

    /// The comparisons of a word: predicate, node, and the node and truth table it is combined with.
    fn comparisons(&mut self, word: &Micro, operands: [Operand; 2], masked: [Operand; 3]) -> Option<Vec<Comparison>> {
        let mut results = Vec::new();
        if word.alu.compares() {
            for index in 0..usize::from(word.groups.count) {
                let (group, up) = (word.groups.mask[index], word.groups.up[index]);
                let (kind, keep, immediate) = (word.alu, word.keep, word.immediate);
                let node = Node::Alu { kind, operands, keep, immediate, group, up };
                let known = !operands.contains(&Operand::Computed);
                results.push(self.comparison(word.groups.predicate[index], node, known, word.combine)?);
            }
        }
        if word.ternary {
            for index in 0..usize::from(word.ternary_groups.count) {
                let node = Node::Ternary { operands: masked, flip: word.flip, group: word.ternary_groups.mask[index] };
                let known = !masked.contains(&Operand::Computed);
                let bit = word.ternary_groups.predicate[index];
                results.push(self.comparison(bit, node, known, word.ternary_combine)?);
            }
        }
        Some(results)
    }

    fn comparison(&mut self, bit: u16, node: Node, known: bool, combine: Combine) -> Option<Comparison> {
        let predicate = bit.trailing_zeros() as u8;
        let old = match combine {
            Combine::Overwrite => None,
            Combine::And => Some((self.node(predicate)?, 0b1000)),
            Combine::Or => Some((self.node(predicate)?, 0b1110)),
        };
        Some((predicate, if known { node } else { Node::Unknown }, old))
    }
}

/// A predicate, what it becomes, and the node and truth table it is combined with.
type Comparison = (u8, Node, Option<(usize, u8)>);

const IDENTITY: u8 = 0b11_10_01_00;

fn mark(nodes: &[Node], index: usize, needed: &mut [bool]) {
    needed[index] = true;
    if let Node::Table { a, b, .. } = nodes[index] {
        mark(nodes, a, needed);
        mark(nodes, b, needed);
    }
}
