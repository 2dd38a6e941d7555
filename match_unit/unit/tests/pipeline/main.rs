// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The unit executes a word whole when it issues. Here it is held, on random programs with random
//! waits for input, against a second model that has what the paper draws: three stages with latches
//! between them, register files with their port order, forwarding paths, a predicate unit that is a
//! stage late, and a branch that waits for its delay slots.
//!
//! What the model shows beyond the paper's text: the FIFO port writes two stages before a result of
//! the word before it does, so a pop must cancel an older result on its way to the same register.

mod stages;
mod words;

use std::collections::VecDeque;

use mb_asm::word::{Address, Branch, Condition, Word};
use mb_core::random;
use mb_unit::unit::{FifoHead, FifoTag, InputNeed, MatchUnit, OutputWord};

use stages::run_pipeline;
use words::RandomWords;

/// A word of the input FIFO and the cycle from which on it is there.
type Arrival = (u64, FifoHead);

/// What was seen of a run.
#[derive(Debug, PartialEq, Eq, Default)]
struct Seen {
    /// Cycle and address of each issue.
    issues: Vec<(u64, usize)>,
    /// Cycle and word of each write to the output FIFO.
    sent: Vec<(u64, OutputWord)>,
    alu: Vec<u64>,
    ternary: Vec<u64>,
    predicates: Vec<bool>,
}

fn run_unit(words: &[Word], arrivals: &[Arrival], cycles: u64) -> Seen {
    let mut unit = MatchUnit::new(words);
    let mut fifo: VecDeque<Arrival> = arrivals.iter().copied().collect();
    let mut seen = Seen::default();
    for cycle in 0..cycles {
        let head = fifo.front().filter(|(at, _)| *at <= cycle).map(|(_, head)| *head);
        if head.is_none() && unit.need() != Some(InputNeed::Nothing) {
            continue;
        }
        let issued = unit.issue(head.unwrap_or(FifoHead { word: 0, tag: FifoTag::End }));
        seen.issues.push((cycle, usize::from(issued.at)));
        seen.sent.extend(issued.sent.map(|sent| (cycle + 2, sent)));
        if issued.popped {
            fifo.pop_front();
        }
    }
    let state = unit.state();
    seen.alu = state.alu.to_vec();
    seen.ternary = state.ternary.to_vec();
    seen.predicates = (0..16).map(|predicate| state.predicates >> predicate & 1 == 1).collect();
    seen
}

#[test]
fn a_word_executed_whole_is_a_word_that_passes_three_stages() {
    let mut branches = 0;
    let mut waits = 0;
    for seed in 1..=4000 {
        let mut random = RandomWords(random::Random::of(seed, &[]));
        random.next();
        let size = 4 + random.below(24);
        let mut words: Vec<Word> = (0..size - 3).map(|_| random.sound_word(size)).collect();
        let back =
            Branch { condition: Condition::Always, target: Address::new(random.below(size - 2) as usize).unwrap() };
        words.push(Word { branch: Some(back), ..Word::default() });
        words.extend([Word::default(); 2]);
        let mut at = 0;
        let arrivals: Vec<Arrival> = (0..300)
            .map(|_| {
                at += random.of(&[0, 0, 1, 1, 1, 2, 9]);
                (at, FifoHead { word: random.value(), tag: random.of(&[FifoTag::Item, FifoTag::Header]) })
            })
            .collect();
        let (expected, seen) = (run_pipeline(&words, &arrivals, 200), run_unit(&words, &arrivals, 200));
        assert_eq!(seen, expected, "seed {seed}: {words:#?}");
        branches += seen.issues.windows(2).filter(|pair| pair[1].1 != pair[0].1 + 1).count();
        waits += seen.issues.windows(2).filter(|pair| pair[1].0 != pair[0].0 + 1).count();
    }
    assert!(branches > 100_000 && waits > 5_000, "{branches} branches, {waits} waits");
}
