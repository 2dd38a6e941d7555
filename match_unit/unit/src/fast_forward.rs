// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fast-forward: consecutive items that fail in the same way are skipped in one step, with an exact result.
//!
//! Most items of a search execute the same path, which is the sequence of words from the first word of one item to the
//! first word of the next. If two consecutive items took the same path without a stall, and the stream has the same
//! [`StreamPhase`] after both, all times repeat with a period of one cycle for each word of an item for as long as
//! the path repeats.
//! The path of an item depends on the predicates of its branches and outputs. A [`PathPlan`] computes these predicates
//! from the item's words and from registers that the path does not write. No plan exists if any other state is
//! carried from item to item. Each skipped item takes a cycle for each word; the state afterwards is that of the last
//! one.
//! `match_unit/unit/tests/fast_forward.rs` compares with searches that issue every word.
//!
//! Cost: a few nanoseconds per skipped item.

use mb_asm::layout::Combine;

use crate::layout::MAX_ITEM_WORDS;
use crate::list_manager::{ListManager, StreamPhase};
use crate::observer::{IssueEvent, Observer};
use crate::unit::{
    AluKind, BranchKind, DELAY_SLOTS, DecodedWord, FifoHead, FifoTag, IDENTITY, MatchUnit, NOWHERE, permute_fields,
};

/// Addresses of the words from the first word of one item to that of the next, one for each word of an item; those
/// beyond are zero.
type Path = [u16; MAX_ITEM_WORDS];

/// Source of a comparison operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operand {
    /// A register that the path does not write.
    Kept(u8),
    /// A word of the item, with its field permute.
    Item(usize, u8),
    /// Computed on the path.
    Computed,
    /// Written by an earlier item.
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
    /// Depends on a computed register.
    Unknown,
}

/// The conditions under which an item takes a path.
#[derive(Clone, Debug)]
struct PathPlan {
    path: Path,
    /// Words of an item.
    length: usize,
    /// In topological order.
    nodes: Vec<Node>,
    /// Nodes that decide branches and outputs, with their values on the path.
    decisions: Vec<(usize, bool)>,
}

/// Observes a search and detects repeated paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct FastForward {
    path: Path,
    length: usize,
    clean: bool,
    /// Words of the path that sent something.
    sent: u16,
    before: Option<(Path, StreamPhase)>,
    /// Plans of earlier paths; `None` for a path without a plan.
    plans: Vec<(Path, Option<PathPlan>)>,
}

impl Observer for FastForward {
    #[inline]
    fn issued(&mut self, event: &IssueEvent, _: &MatchUnit) {
        if self.length < MAX_ITEM_WORDS {
            self.path[self.length] = event.issued.at;
            self.sent |= u16::from(event.issued.sent.is_some()) << self.length;
        }
        self.length += 1;
        self.clean &= event.stall.is_none() && event.issued.popped;
    }
}

impl FastForward {
    /// Discards the state of the previous search.
    pub(crate) fn restart(&mut self) {
        self.before = None;
        self.begin_path(false);
    }

    fn begin_path(&mut self, clean: bool) {
        self.path = [0; MAX_ITEM_WORDS];
        self.length = 0;
        self.sent = 0;
        self.clean = clean;
    }

    /// Skips the items that take the same path as the last two; returns their number. To be called right after the pop
    /// of an item's first word.
    pub(crate) fn skip(&mut self, unit: &mut MatchUnit, lists: &mut ListManager, now: u64) -> usize {
        let length = lists.parameters().item_words;
        let whole = self.clean && self.length == length && unit.pc() == self.path[0] && !unit.in_shadow();
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
        let place = self.plans.iter().position(|(known, _)| *known == path).unwrap_or_else(|| {
            self.plans.push((path, PathPlan::new(unit, path, length, sent)));
            self.plans.len() - 1
        });
        let Some(plan) = &self.plans[place].1 else { return 0 };
        let items = lists.count_items_while(|words| plan.holds(unit, words));
        if items > 0 {
            let (last, next) = lists.skip(items);
            plan.replay(unit, &last, next);
        }
        items
    }
}

impl PathPlan {
    /// The plan of a path; `sent` is the bit set of its words that sent output.
    fn new(unit: &MatchUnit, path: Path, length: usize, sent: u16) -> Option<Self> {
        let words: Vec<_> = path[..length].iter().map(|&at| unit.micro(at)).collect();
        let mut analysis = Analysis::new(&words);
        for (place, word) in words.into_iter().enumerate() {
            analysis.branch(word, place, &path[..length])?;
            analysis.word(word, place, sent >> place & 1 == 1)?;
        }
        Self { path, length, nodes: analysis.nodes, decisions: analysis.decisions }.pruned()
    }

    /// Removes the nodes that no decision depends on; `None` if a decision depends on an unknown node.
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
        (nodes.len() <= 64).then_some(Self { nodes, decisions, ..self })
    }

    /// Whether an item takes the path.
    #[inline]
    fn holds(&self, unit: &MatchUnit, item: &[u64]) -> bool {
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

    /// Brings the unit into the state after the last skipped item; `next` is the first word of the following item.
    fn replay(&self, unit: &mut MatchUnit, last: &[u64], next: u64) {
        unit.repeat_pop(self.path[self.length - 1], last[0]);
        for &word in last[1..self.length].iter().chain(std::iter::once(&next)) {
            unit.issue(FifoHead { word, tag: FifoTag::Item });
        }
    }
}

/// Symbolic state of registers and predicates along a path.
struct Analysis {
    alu: [Operand; 17],
    ternary: [Operand; 17],
    /// The node of each predicate that the path has written so far.
    predicates: [Option<usize>; 16],
    /// Bit set of the predicates that the path writes.
    written: u32,
    nodes: Vec<Node>,
    decisions: Vec<(usize, bool)>,
    shadow: u8,
}

impl Analysis {
    fn new(words: &[&DecodedWord]) -> Self {
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
        // The last word of the path pops the first word of the item.
        analysis.pop(words[words.len() - 1], 0);
        analysis
    }

    /// The node of a predicate; `None` if an earlier item wrote it.
    fn node(&mut self, predicate: u8) -> Option<usize> {
        if self.predicates[usize::from(predicate)].is_some() || self.written >> predicate & 1 == 1 {
            return self.predicates[usize::from(predicate)];
        }
        self.nodes.push(Node::Kept(predicate));
        Some(self.nodes.len() - 1)
    }

    fn pop(&mut self, word: &DecodedWord, place: usize) {
        self.alu[usize::from(word.pop_alu)] = Operand::Item(place, IDENTITY);
        self.ternary[usize::from(word.pop_ternary)] = Operand::Item(place, word.permute);
    }

    /// Records the decision of a branch; `None` if it is undetermined.
    fn branch(&mut self, word: &DecodedWord, place: usize, path: &[u16]) -> Option<()> {
        if self.shadow > 0 {
            self.shadow -= 1;
            return Some(());
        }
        match word.branch {
            BranchKind::None => return Some(()),
            BranchKind::NoItem => return None,
            BranchKind::If | BranchKind::Unless => {}
        }
        // The path after the delay slots is the same whether the branch is taken or not.
        if word.target == path[place] + 1 + u16::from(DELAY_SLOTS) {
            return None;
        }
        let taken = path[(place + 1 + usize::from(DELAY_SLOTS)) % path.len()] == word.target;
        let node = self.node(word.predicate)?;
        self.decisions.push((node, taken == (word.branch == BranchKind::If)));
        if taken {
            self.shadow = DELAY_SLOTS;
        }
        Some(())
    }

    /// Analyses the other slots of a word; all operands are read before any result is written. `None` if the word reads
    /// state of an earlier item or sends a value that depends on the item.
    fn word(&mut self, word: &DecodedWord, place: usize, sends: bool) -> Option<()> {
        let operands = [self.alu[usize::from(word.rs1)], self.alu[usize::from(word.rs2)]];
        let masked = [word.m0, word.m1, word.mask].map(|register| self.ternary[usize::from(register)]);
        let computes = word.alu != AluKind::Idle && !word.alu.compares();
        if word.alu != AluKind::Idle && operands.contains(&Operand::Stale)
            || word.ternary && masked.contains(&Operand::Stale)
        {
            return None;
        }
        // A predicated write may keep the old value.
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

    fn copy(&mut self, word: &DecodedWord, sends: bool) -> Option<()> {
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

    /// The comparisons of a word.
    fn comparisons(
        &mut self,
        word: &DecodedWord,
        operands: [Operand; 2],
        masked: [Operand; 3],
    ) -> Option<Vec<Comparison>> {
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

/// A predicate, its new node, and the node and truth table it is combined with.
type Comparison = (u8, Node, Option<(usize, u8)>);

fn mark(nodes: &[Node], index: usize, needed: &mut [bool]) {
    needed[index] = true;
    if let Node::Table { a, b, .. } = nodes[index] {
        mark(nodes, a, needed);
        mark(nodes, b, needed);
    }
}
