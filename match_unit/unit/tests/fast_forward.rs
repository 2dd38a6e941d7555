// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fast-forward leaves the state of a search that issues every word: same results, cycles, words, stalls, registers and
//! predicates, for the programs of `ucode/` and for programs that carry state from item to item.

use mb_asm::MatchProgram;
use mb_core::random::Random;
use mb_unit::layout::{ANY_NID, ANY_PID, Item, MessageHeader, flags, op, options};
use mb_unit::list_manager::{List, ListManagerParameters};
use mb_unit::match_processor::MatchProcessor;
use mb_unit::programs::BuiltinProgram;
use mb_unit::template::template;

/// Runs the same searches word by word and with fast-forward, and changes the lists between them as an engine does.
/// Returns the number of skipped items of the posted list.
fn compare(program: &MatchProgram, seed: u64) -> u64 {
    let mut random = Random::of(seed, &[]);
    let memory = ListManagerParameters {
        latency: random.pick(&[1, 10, 16, 17, 40]),
        words_per_cycle: random.pick(&[1, 1, 2, 8]),
        head_cache: random.pick(&[1, 2, 3, 5]),
        reaction: random.pick(&[1, 1, 1, 5, 6, 7, 30]),
        unlink: 2,
        fifo: random.pick(&[2, 8, 9, 16, 64, 100]),
        capacity: random.pick(&[30, 60, 1024, 1024]),
        spill_latency: random.pick(&[10, 250]),
        item_words: program.item_words,
    };
    let mut slow = MatchProcessor::new(&program.words, memory).unwrap();
    let variety = random.pick(&[2, 30, 1000]);
    for id in 0..20 + random.below(100) {
        let item = Item {
            bits: random.below(variety),
            care: random.pick(&[u64::MAX, u64::MAX, u64::MAX, !1]),
            nid: random.pick(&[1, 2, 2, 2, ANY_NID]),
            pid: ANY_PID,
            options: options::VALID
                | random.pick(&[0, options::PUT])
                | random.pick(&[0, options::TRUNCATE])
                | random.pick(&[0, 0, 0, options::REMOTE_OFFSET, options::MAX_SIZE, options::ANY_SOURCE]),
            length: random.below(200),
            max_size: random.below(200) as u32,
            threshold: random.pick(&[0, 1, 1, 1]),
            ..Item::default()
        };
        slow.lists_mut().append(random.pick(&[List::Posted, List::Posted, List::Unexpected]), item, id, 0);
    }
    let mut fast = slow.clone();
    let mut skipped = 0;
    for _ in 0..10 {
        let search = random.below(3) == 0;
        let list = if search { List::Unexpected } else { List::Posted };
        let header = MessageHeader {
            op: random.pick(&[op::PUT, op::PUT, op::GET, 0]),
            flags: if search { flags::SEARCH | random.pick(&[0, flags::ANY_SOURCE]) } else { 0 },
            nid: random.pick(&[1, 2, 3]),
            bits: random.below(variety + 1),
            length: if search { random.pick(&[u64::MAX, !1]) } else { random.below(200) },
            remote_offset: random.below(200),
            ..MessageHeader::default()
        };
        let arrival = slow.now() + random.pick(&[0, 0, 300]);
        let one = slow.search(list, header.words(), arrival, &mut ()).unwrap();
        let before = fast.skipped_items();
        let two = fast.search_fast(list, header.words(), arrival).unwrap();
        assert_eq!(two, one, "seed {seed}, {memory:?}");
        assert_eq!((fast.now(), fast.issued()), (slow.now(), slow.issued()), "seed {seed}, {memory:?}");
        assert_eq!(fast.stalls(), slow.stalls(), "seed {seed}, {memory:?}");
        assert_eq!(fast.unit().state(), slow.unit().state(), "seed {seed}, {memory:?}");
        assert_eq!(fast.lists().free_at(), slow.lists().free_at(), "seed {seed}, {memory:?}");
        if list == List::Posted {
            skipped += fast.skipped_items() - before;
        }
        if let Some(position) = one.found.filter(|_| random.below(2) == 0) {
            slow.lists_mut().remove(list, position, one.at);
            fast.lists_mut().remove(list, position, one.at);
        }
    }
    skipped
}

#[test]
fn fast_forward_equals_issuing_every_word() {
    for program in BuiltinProgram::ALL {
        let assembled = program.assemble();
        let skipped: u64 = (1..=400).map(|seed| compare(&assembled, seed)).sum();
        assert!(skipped > 10_000, "{program:?} skipped {skipped}");
    }
}

#[test]
fn fast_forward_knows_items_of_every_size() {
    for (item_words, least) in [(4, 0), (8, 10_000), (16, 10_000)] {
        let program = mb_asm::assemble("template.mb", &template(item_words)).unwrap();
        let skipped: u64 = (1..=200).map(|seed| compare(&program, seed)).sum();
        // With items of four words, the words that decide pop nothing, and every one is issued.
        assert!(skipped >= least && (least > 0) == (skipped > 0), "items of {item_words} words: {skipped} skipped");
    }
}

/// `mpi` with one line replaced.
fn changed(line: &str, by: &str) -> MatchProgram {
    let text = BuiltinProgram::Mpi.text();
    assert_eq!(text.matches(line).count(), 1, "the line occurs once");
    mb_asm::assemble("changed.mb", &text.replace(line, by)).unwrap()
}

#[test]
fn state_carried_from_item_to_item_prevents_fast_forward() {
    let line = "posted: wait || item_mask = in";
    for by in [
        // A register that counts items, one that is written under a predicate, and one that alternates.
        "posted: wait || item_mask = in || a9 = add a9, 1",
        "posted: wait || item_mask = in || a9 = item_id if p3",
        "posted: wait || item_mask = in || a9 = nor a9, a9",
        // A predicate that alternates, and a comparison that accumulates.
        "posted: wait || item_mask = in || p7 = !p7",
        "posted: wait || item_mask = in || p8 |= eq.16:16:16:16 item_id, from",
        // A ternary register that holds a word of the previous item.
        "posted: wait || item_mask = in || t9 = item_id",
    ] {
        let program = changed(line, by);
        let skipped: u64 = (1..=60).map(|seed| compare(&program, seed)).sum();
        assert_eq!(skipped, 0, "{by}");
    }
}
