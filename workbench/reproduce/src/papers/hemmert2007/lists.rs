// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 3.2: the list manager, observed by the words that it streams and by the stalls of the
//! unit.

use mb_unit::list_manager::{ListManagerParameters, StallCause};
use mb_unit::match_processor::IssueEvent;
use mb_unit::unit::FifoTag;

use super::Subject;
use super::subject::{header, item, list, words_taken};
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, count, fact, measure, number, shown};
use crate::error::MeasureError;
use crate::verdict::Measured;

/// Longest latency that is tried, in cycles.
const LATENCIES: u64 = 64;

pub(super) const TESTS: &[ClaimTest<Subject>] = &[
    shown("hemmert2007.lm.cache_items", cached_items, "an input that the model is built from"),
    measure("hemmert2007.lm.cover_latency", covered_latencies),
    measure("hemmert2007.lm.no_stall", waits_for_memory),
    measure("hemmert2007.lm.response_per_item", answers_per_item),
    measure("hemmert2007.lm.end_list", end_after_item),
    measure("hemmert2007.lm.overlap_header_fetch", first_request),
    measure("hemmert2007.lm.extra_item", extra_items),
];

/// Cycles for which memory held up the unit in a search that none of `items` items accepts.
fn waited(subject: &Subject, memory: ListManagerParameters, items: usize) -> Result<u64, MeasureError> {
    let search = subject.search_in(memory, &vec![item(2); items], &header())?;
    Ok(search.machine.stalls().of(StallCause::Memory))
}

/// The longest latency that costs nothing in a search of `items` items.
fn longest_hidden(subject: &Subject, head_cache: usize, items: usize) -> Result<u64, MeasureError> {
    for latency in 1..=LATENCIES {
        if waited(subject, ListManagerParameters { latency, head_cache, ..subject.memory }, items)? > 0 {
            return Ok(latency - 1);
        }
    }
    Err(MeasureError::NotSeen("the waiting for slow memory"))
}

/// Items that come from the cache: those before the first that waits for very slow memory.
fn cached_items(subject: &Subject) -> Interpretations {
    let memory = ListManagerParameters { latency: 1000, ..subject.memory };
    let search = subject.search_in(memory, &list(20), &header())?;
    let waits = |event: &IssueEvent| matches!(event.stall, Some((_, StallCause::Memory)));
    let before = search.events.iter().position(waits).ok_or(MeasureError::NotSeen("the waiting for slow memory"))?;
    count(words_taken(&search.events[..before], FifoTag::Item) / 8)
}

fn covered_latencies(subject: &Subject) -> Interpretations {
    let two = longest_hidden(subject, 2, 100)?;
    let three = longest_hidden(subject, 3, 100)?;
    Ok(vec![Interpretation::new("", Measured::Numbers(vec![two as f64, three as f64]))])
}

fn waits_for_memory(subject: &Subject) -> Interpretations {
    number(waited(subject, subject.memory, 300)? as f64)
}

fn answers_per_item(subject: &Subject) -> Interpretations {
    let search = subject.search_nth(10)?;
    let answers = search.events.iter().filter(|event| event.issued.sent.is_some_and(|sent| sent.last)).count();
    number(answers as f64 / f64::from(search.answer.visits))
}

fn end_after_item(subject: &Subject) -> Interpretations {
    let search = subject.search_nth(10)?;
    let words = words_taken(&search.events, FifoTag::Item);
    // The content of the FIFO long after the search.
    let left = search.machine.lists().fifo(search.machine.now() + 1000);
    let ended = matches!(left[..], [entry] if entry.tag == FifoTag::End);
    let shown = format!("{words} words of items, {}", if ended { "then the end mark" } else { "no end mark" });
    fact(words.is_multiple_of(8) && ended, shown)
}

/// With the first request sent along with the header, the header's cycles hide latency too.
fn first_request(subject: &Subject) -> Interpretations {
    let cached = subject.memory.head_cache;
    let hidden = longest_hidden(subject, cached, cached + 1)?;
    let by_items = 8 * cached as u64;
    fact(hidden == by_items + 8, format!("{hidden} cycles hidden, {by_items} by cached items"))
}

fn extra_items(subject: &Subject) -> Interpretations {
    let search = subject.search_nth(10)?;
    number(words_taken(&search.events, FifoTag::Item) as f64 / 8.0 - f64::from(search.answer.visits))
}
