// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The text of the paper taken literally, and the sequences that show which clause of `spec/matching.md` it breaks.

use mb_moped::contract::{Id, ProcessAddress, REFUSED, RETRY, State, Word, poll_store};

use crate::chip::{Chip, Post, VIRTUAL, rank, small};
use crate::lines::Timing;

fn chip(preset: &str, nodes: usize, descriptors: usize) -> Chip {
    let mut chip = Chip::new(&small(preset, nodes, descriptors), Timing::fixed(9, 9, 9), 1);
    for core in 0..nodes {
        let space = chip.space(1, 0);
        let root = chip.spaces[space].root;
        chip.moped.set_page_table(core, root);
    }
    chip
}

/// Uses slot 0 for a message of its own and frees it, after `first` was posted in slot 1.
fn free_slot_0(chip: &mut Chip, first: &Post) -> Id {
    let used = chip.post(0, rank(0), &Post::receive(Some(0), Some(77), VIRTUAL, 0));
    let first = chip.post(0, rank(0), first);
    let send = chip.post(0, rank(0), &Post::send(0, 0, 77, VIRTUAL, 0));
    assert_eq!(chip.finish(0, rank(0), used), State::Complete);
    assert_eq!(chip.finish(0, rank(0), send), State::Complete);
    assert_eq!((used.entry, first.entry), (0, 1));
    first
}

#[test]
fn slot_order_gives_a_message_to_the_younger_receive() {
    // O-4: the oldest posted receive that accepts an arrival takes it.
    for (preset, oldest_wins) in [("base", true), ("slot_order", false)] {
        let mut chip = chip(preset, 1, 8);
        let older = free_slot_0(&mut chip, &Post::receive(None, None, VIRTUAL, 0));
        let younger = chip.post(0, rank(0), &Post::receive(None, None, VIRTUAL, 0));
        assert_eq!(younger.entry, 0);
        chip.post(0, rank(0), &Post::send(0, 0, 5, VIRTUAL, 0));
        chip.settle();
        let states = [older, younger].map(|id| chip.moped.state(id) == Some(State::Complete));
        assert_eq!(states, [oldest_wins, !oldest_wins], "{preset}");
    }
}

#[test]
fn slot_order_lets_a_message_overtake() {
    // O-3 and O-6: of two messages of a sender that a receive accepts, it takes the one sent first.
    for (preset, oldest_wins) in [("base", true), ("slot_order", false)] {
        let mut chip = chip(preset, 1, 8);
        let older = free_slot_0(&mut chip, &Post::send(0, 0, 5, VIRTUAL, 0));
        let younger = chip.post(0, rank(0), &Post::send(0, 0, 5, VIRTUAL, 0));
        assert_eq!(younger.entry, 0);
        chip.post(0, rank(0), &Post::receive(Some(0), Some(5), VIRTUAL, 0));
        chip.settle();
        let states = [older, younger].map(|id| chip.moped.state(id) == Some(State::Complete));
        assert_eq!(states, [oldest_wins, !oldest_wins], "{preset}");
    }
}

/// Rank 1 has two equal receives, rank 0 has reserved all descriptors of its MOPED and is refused another one.
/// Returns the receives, and a descriptor of rank 0 that was reserved before.
fn back_off(chip: &mut Chip) -> ([Id; 2], Vec<Id>) {
    let receives = [0, 1].map(|_| chip.post(1, rank(1), &Post::receive(Some(0), Some(5), VIRTUAL, 0)));
    let reserved = (0..4).map(|_| Id::of(chip.reserve(0, rank(0)))).collect();
    assert_eq!(chip.reserve(0, rank(0)), REFUSED);
    chip.step_by(100);
    (receives, reserved)
}

#[test]
fn published_back_off_matches_a_younger_receive_after_the_older_one_is_in_software() {
    // O-4: rank 1 polls its older receive, which is removed and posted in software. A send that rank 0 completes then
    // still finds the younger one. The correction matches nothing of a program in back-off.
    for (preset, stops) in [("base", true), ("published_backoff", false)] {
        let mut chip = chip(preset, 2, 4);
        let ([older, younger], reserved) = back_off(&mut chip);
        while chip.state(1, rank(1), older, Word::State) != State::Revoked {}
        for (field, value) in Post::send(1, 0, 5, VIRTUAL, 0).stores() {
            chip.store(0, rank(0), reserved[0], field, value);
        }
        chip.step_by(200);
        let state = chip.moped.state(younger);
        assert_eq!(state, Some(if stops { State::Pending } else { State::Complete }), "{preset}");
        let send = if stops { State::Revoked } else { State::Complete };
        assert_eq!(chip.state(0, rank(0), reserved[0], Word::Peek), send, "{preset}");
    }
}

#[test]
fn published_back_off_matches_a_later_message_after_the_earlier_one_is_in_software() {
    // O-6: the same on the side of the sender. Rank 0 polls its first message, which is removed and sent in software;
    // a receive that rank 1 completes then takes the second.
    for (preset, stops) in [("base", true), ("published_backoff", false)] {
        let mut chip = chip(preset, 2, 4);
        let sends = [0, 1].map(|_| chip.post(0, rank(0), &Post::send(1, 0, 5, VIRTUAL, 0)));
        chip.step_by(100);
        let receive = Id::of(chip.reserve(1, rank(1)));
        while chip.reserve(1, rank(1)) != REFUSED {}
        chip.step_by(100);
        while chip.state(0, rank(0), sends[0], Word::State) != State::Revoked {}
        for (field, value) in Post::receive(Some(0), Some(5), VIRTUAL, 0).stores() {
            chip.store(1, rank(1), receive, field, value);
        }
        chip.step_by(200);
        let state = chip.moped.state(sends[1]);
        assert_eq!(state, Some(if stops { State::Pending } else { State::Complete }), "{preset}");
    }
}

#[test]
fn published_back_off_ends_while_a_rank_waits_in_software() {
    // O-9: rank 1 waits in software for a message of rank 2, which has seen nothing of the back-off. When the bit has
    // cleared itself, rank 2 sends through MOPED: neither side ever ends. With the correction rank 2 is refused.
    for (preset, waits) in [("base", true), ("published_backoff", false)] {
        let mut chip = chip(preset, 3, 4);
        let (receives, reserved) = back_off(&mut chip);
        for receive in receives {
            while chip.state(1, rank(1), receive, Word::State) != State::Revoked {}
        }
        for id in reserved {
            chip.store(0, rank(0), id, mb_moped::contract::Field::Cancel, 0);
        }
        chip.step_by(200);
        assert_eq!(chip.reserve(2, rank(2)) == REFUSED, waits, "{preset}");
    }
}

#[test]
fn a_back_off_ends_when_software_says_so_and_all_descriptors_are_gone() {
    for is_early in [true, false] {
        end_back_off(is_early);
    }
}

/// Ends a back-off before or after the last descriptor is gone.
fn end_back_off(is_early: bool) {
    use mb_moped::contract::{BACKOFF_BIT, DRAINED, EPISODE_SHIFT, Field};
    let none = Id { node: 0, entry: 0 };
    let mut chip = chip("base", 3, 4);
    let (receives, reserved) = back_off(&mut chip);
    let other = ProcessAddress { program: 1, rank: 0 };
    assert_ne!(chip.reserve(1, other), REFUSED, "another program is not in back-off");
    let episode = 1 << EPISODE_SHIFT;
    assert_eq!(chip.poll(2, rank(2), none, Word::Backoff), BACKOFF_BIT | episode, "descriptors are left");
    if is_early {
        chip.store(2, rank(2), none, Field::Resume, 0);
        chip.step_by(200);
        assert_eq!(chip.poll(2, rank(2), none, Word::Backoff), BACKOFF_BIT | episode, "descriptors are left");
    }
    for receive in receives {
        while chip.state(1, rank(1), receive, Word::State) != State::Revoked {}
    }
    for id in reserved {
        chip.store(0, rank(0), id, Field::Cancel, 0);
    }
    chip.step_by(200);
    if !is_early {
        assert_eq!(chip.poll(2, rank(2), none, Word::Backoff), BACKOFF_BIT | DRAINED | episode);
        assert_eq!(chip.reserve(0, rank(0)), REFUSED);
        chip.store(2, rank(2), none, Field::Resume, 0);
        chip.step_by(200);
    }
    for core in 0..3 {
        assert_eq!(chip.poll(core, rank(core as u16), none, Word::Backoff), episode);
        assert_ne!(chip.reserve(core, rank(core as u16)), REFUSED);
    }
}

#[test]
fn a_process_that_comes_back_to_a_core_does_not_load_its_earlier_poll() {
    // Section 4.1 compares program and rank of the stored descriptor. Both are those of the process that stored it,
    // moved, and polled another descriptor elsewhere.
    let mut chip = chip("base", 2, 4);
    let root = chip.spaces[0].root;
    let [first, second] = [0, 1].map(|_| Id::of(chip.reserve(0, rank(0))));
    let poll = rank(0).port() + 4;
    chip.access(0, poll, 4, Some(poll_store(first, Word::Peek)));
    chip.moped.set_page_table(1, root);
    chip.access(1, poll, 4, Some(poll_store(second, Word::Peek)));
    chip.moped.set_page_table(0, root);
    assert_eq!(chip.access(0, poll, 4, None), RETRY);
}
