// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rules on where execution goes, against a walk through every state of the branch unit: the program counter, the
//! delay slots that a taken branch still has to run, and its target; a condition may hold or not each time.

use std::collections::BTreeSet;

use mb_asm::MatchProgram;
use mb_asm::layout::Rule;
use mb_asm::program::ProgramFault;
use mb_asm::word::{Address, Branch, Condition, Predicate, Word};
use proptest::prelude::*;

/// Program counter, and of a taken branch its delay slots still to run and its target.
type State = (usize, Option<(u8, usize)>);

/// Every state that execution can come to from reset; of those past the last word it goes no further.
fn states(words: &[Word]) -> BTreeSet<State> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<State> = vec![(0, None)];
    while let Some(state) = open.pop() {
        let (at, taken) = state;
        let Some(word) = words.get(at).filter(|_| seen.insert(state)) else {
            seen.insert(state);
            continue;
        };
        match (taken, word.branch) {
            (Some((1, target)), _) => open.push((target, None)),
            (Some((slots, target)), _) => open.push((at + 1, Some((slots - 1, target)))),
            (None, None) => open.push((at + 1, None)),
            (None, Some(branch)) => {
                open.push((at + 1, Some((2, branch.target.index()))));
                if branch.condition != Condition::Always {
                    open.push((at + 1, None));
                }
            }
        }
    }
    seen
}

fn program() -> impl Strategy<Value = MatchProgram> {
    let condition = prop_oneof![
        3 => Just(Condition::Always),
        2 => Just(Condition::If(Predicate::new(1).expect("a predicate"))),
        1 => Just(Condition::NoItem),
    ];
    let word = prop::option::weighted(0.4, (condition, any::<prop::sample::Index>()));
    prop::collection::vec(word, 3..14).prop_map(|words| {
        let count = words.len();
        let word = |(at, branch): (usize, Option<(Condition, prop::sample::Index)>)| {
            let branch = branch.filter(|_| at + 2 < count).map(|(condition, target)| {
                let condition = if at + 3 == count { Condition::Always } else { condition };
                Branch { condition, target: Address::new(target.index(count)).expect("within the store") }
            });
            Word { branch, ..Word::default() }
        };
        MatchProgram::from_words("random", words.into_iter().enumerate().map(word).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_program_that_can_run_past_its_end_is_refused(program in program()) {
        let past_end = states(&program.words).iter().any(|&(at, _)| at >= program.words.len());
        prop_assert!(!past_end || program.faults().iter().any(|fault| fault.rule() == Rule::End));
    }

    #[test]
    fn dead_branches_are_those_that_are_cancelled_each_time(program in program()) {
        let states = states(&program.words);
        let dead: Vec<usize> = (0..program.words.len())
            .filter(|&at| program.words[at].branch.is_some())
            .filter(|&at| states.iter().any(|state| state.0 == at) && !states.contains(&(at, None)))
            .collect();
        let told: Vec<(usize, usize)> = program
            .faults()
            .into_iter()
            .filter_map(|fault| if let ProgramFault::DeadBranch { at, by } = fault { Some((at, by)) } else { None })
            .collect();
        prop_assert_eq!(told.iter().map(|dead| dead.0).collect::<Vec<_>>(), dead);
        for (at, by) in told {
            prop_assert!((1..=2).contains(&(at - by)) && states.contains(&(by, None)));
            prop_assert_eq!(program.words[by].branch.map(|branch| branch.condition), Some(Condition::Always));
        }
    }
}
