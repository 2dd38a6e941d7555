// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Null pointers, misuse, statuses, and the numbers of the header.

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use super::types::{VISITS, version_part};
use super::*;

static PATTERN: CPattern = CPattern { bits: 7, ignore: 0, source: 1, any_source: 0 };
static ENVELOPE: CEnvelope = CEnvelope { bits: 7, source: 1 };

#[test]
fn null_and_misuse_are_statuses() {
    // SAFETY: every pointer is null or valid as the header says.
    unsafe {
        let mut matcher = null_mut();
        assert_eq!(mbmatch_create(null(), null_mut()), Invalid);
        assert_eq!(mbmatch_create(c"tree".as_ptr(), &raw mut matcher), Invalid);
        assert_eq!(mbmatch_create(c"\xff".as_ptr(), &raw mut matcher), Invalid);
        assert!(matcher.is_null());
        mbmatch_destroy(matcher);
        assert_eq!(mbmatch_post(null_mut(), &raw const PATTERN, null_mut(), null_mut(), null_mut()), Invalid);
        assert_eq!(mbmatch_arrive(null_mut(), &raw const ENVELOPE, null_mut(), null_mut(), null_mut()), Invalid);
        assert_eq!(mbmatch_cancel(null_mut(), 1, null_mut()), Invalid);
        assert_eq!(mbmatch_probe(null_mut(), &raw const PATTERN, null_mut(), null_mut()), Invalid);
        assert_eq!(mbmatch_create(null(), &raw mut matcher), Success);
        assert_eq!(mbmatch_post(matcher, null(), null_mut(), null_mut(), null_mut()), Invalid);
        assert_eq!(mbmatch_arrive(matcher, null(), null_mut(), null_mut(), null_mut()), Invalid);
        assert_eq!(mbmatch_mprobe(matcher, null(), null_mut()), Invalid);
        assert_eq!(mbmatch_take_receive(matcher, null(), null_mut()), Invalid);
        assert_eq!(mbmatch_queue_message(null_mut(), &raw const ENVELOPE, null_mut(), null_mut()), Invalid);
        assert_eq!(mbmatch_queue_receive(matcher, null(), null_mut(), null_mut()), Invalid);
        assert_eq!(mbmatch_reserve(matcher, usize::MAX, 0), NoMemory);
        for stale in [0, 1, 2 << 32, u64::MAX] {
            assert_eq!(mbmatch_cancel(matcher, stale, null_mut()), Stale);
            assert_eq!(mbmatch_discard(matcher, stale, null_mut()), Stale);
        }
        // Every output may be null.
        assert_eq!(mbmatch_probe(matcher, &raw const PATTERN, null_mut(), null_mut()), NoMatch);
        assert_eq!(mbmatch_post(matcher, &raw const PATTERN, null_mut(), null_mut(), null_mut()), Queued);
        assert_eq!(mbmatch_arrive(matcher, &raw const ENVELOPE, null_mut(), null_mut(), null_mut()), Matched);
        assert_eq!(mbmatch_take_receive(matcher, &raw const ENVELOPE, null_mut()), NoMatch);
        assert_eq!(mbmatch_queue_message(matcher, &raw const ENVELOPE, null_mut(), null_mut()), Queued);
        assert_eq!(mbmatch_mprobe(matcher, &raw const PATTERN, null_mut()), Matched);
        assert_eq!(mbmatch_queue_receive(matcher, &raw const PATTERN, null_mut(), null_mut()), Queued);
        assert_eq!(mbmatch_take_receive(matcher, &raw const ENVELOPE, null_mut()), Matched);
        assert_eq!(mbmatch_lengths(matcher, null_mut(), null_mut()), Success);
        mbmatch_destroy(matcher);
    }
}

/// Returns what `context` points to.
unsafe extern "C" fn answer<T>(context: *mut c_void, _: *const T) -> c_int {
    // SAFETY: the tests pass a number.
    unsafe { context.cast::<c_int>().read() }
}

#[test]
fn visits_keep_remove_stop_and_refuse_other_answers() {
    // SAFETY: every pointer is null or valid as the header says.
    unsafe {
        let mut matcher = null_mut();
        assert_eq!(mbmatch_create(null(), &raw mut matcher), Success);
        assert_eq!(mbmatch_visit_receives(matcher, None, null_mut(), null_mut()), Invalid);
        assert_eq!(mbmatch_visit_messages(null_mut(), Some(answer), null_mut(), null_mut()), Invalid);
        for _ in 0..3 {
            assert_eq!(mbmatch_queue_receive(matcher, &raw const PATTERN, null_mut(), null_mut()), Queued);
            assert_eq!(mbmatch_queue_message(matcher, &raw const ENVELOPE, null_mut(), null_mut()), Queued);
        }
        for (mut returned, status, expected) in
            [(0, Success, 0), (2, Success, 0), (3, Invalid, 0), (1, Success, 3), (1, Success, 0)]
        {
            let (context, mut removed) = ((&raw mut returned).cast(), 0);
            assert_eq!(mbmatch_visit_receives(matcher, Some(answer), context, &raw mut removed), status);
            assert_eq!(removed, expected);
            removed = 0;
            assert_eq!(mbmatch_visit_messages(matcher, Some(answer), context, &raw mut removed), status);
            assert_eq!(removed, expected);
        }
        mbmatch_destroy(matcher);
    }
}

/// Adds 1 to what `context` points to.
unsafe extern "C" fn count(context: *mut c_void, _: *mut c_void) {
    // SAFETY: the tests pass a number.
    unsafe { *context.cast::<usize>() += 1 };
}

#[test]
fn removal_by_pattern_reports_each_entry() {
    // SAFETY: every pointer is null or valid as the header says.
    unsafe {
        let mut matcher = null_mut();
        assert_eq!(mbmatch_create(null(), &raw mut matcher), Success);
        for _ in 0..3 {
            assert_eq!(mbmatch_queue_receive(matcher, &raw const PATTERN, null_mut(), null_mut()), Queued);
            assert_eq!(mbmatch_queue_message(matcher, &raw const ENVELOPE, null_mut(), null_mut()), Queued);
        }
        let (mut reported, mut removed) = (0_usize, 0);
        let context = (&raw mut reported).cast::<c_void>();
        assert_eq!(mbmatch_remove_receives(matcher, null(), Some(count), context, &raw mut removed), Invalid);
        assert_eq!(mbmatch_remove_messages(null_mut(), &raw const PATTERN, None, context, null_mut()), Invalid);
        let other = CPattern { source: 2, ..PATTERN };
        assert_eq!(mbmatch_remove_receives(matcher, &raw const other, Some(count), context, &raw mut removed), Success);
        assert_eq!((reported, removed), (0, 0));
        let all = CPattern { ignore: u64::MAX, any_source: 1, ..PATTERN };
        assert_eq!(mbmatch_remove_receives(matcher, &raw const all, Some(count), context, &raw mut removed), Success);
        assert_eq!((reported, removed), (3, 3));
        assert_eq!(mbmatch_remove_messages(matcher, &raw const all, None, null_mut(), &raw mut removed), Success);
        assert_eq!((reported, removed), (3, 3));
        mbmatch_destroy(matcher);
    }
}

#[test]
fn a_source_changes_and_counters_count() {
    // SAFETY: every pointer is null or valid as the header says.
    unsafe {
        let mut matcher = null_mut();
        assert_eq!(mbmatch_create(null(), &raw mut matcher), Success);
        assert_eq!(mbmatch_counters(matcher, null_mut(), null_mut()), Off);
        assert_eq!(mbmatch_counters(null(), null_mut(), null_mut()), Invalid);
        assert_eq!(mbmatch_start_counters(null_mut()), Invalid);
        assert_eq!(mbmatch_start_counters(matcher), Success);
        let unknown = CEnvelope { source: Envelope::UNKNOWN_SOURCE, ..ENVELOPE };
        let (mut handle, mut receive, mut user) = (0, null_mut(), null_mut());
        assert_eq!(mbmatch_change_source(matcher, 1, 1, null_mut(), null_mut()), Stale);
        assert_eq!(mbmatch_change_source(null_mut(), 1, 1, null_mut(), null_mut()), Invalid);
        assert_eq!(mbmatch_queue_receive(matcher, &raw const PATTERN, to_pointer(8), null_mut()), Queued);
        assert_eq!(mbmatch_arrive(matcher, &raw const unknown, to_pointer(9), null_mut(), &raw mut handle), Queued);
        assert_eq!(mbmatch_change_source(matcher, handle, 2, &raw mut receive, &raw mut user), Success);
        assert!(receive.is_null() && user.is_null());
        assert_eq!(mbmatch_change_source(matcher, handle, 1, &raw mut receive, &raw mut user), Matched);
        assert_eq!((from_pointer(receive), from_pointer(user)), (8, 9));
        assert_eq!(mbmatch_change_source(matcher, handle, 1, null_mut(), null_mut()), Stale);
        let mut posted = std::mem::MaybeUninit::uninit();
        assert_eq!(mbmatch_counters(matcher, posted.as_mut_ptr(), null_mut()), Success);
        let CQueueCounters { length, longest, appended, searches, .. } = posted.assume_init();
        assert_eq!((length, longest, appended, searches), (0, 1, 1, 3));
        assert_eq!(mbmatch_stop_counters(matcher), Success);
        assert_eq!(mbmatch_counters(matcher, null_mut(), null_mut()), Off);
        assert_eq!((mbmatch_shrink(matcher), mbmatch_shrink(null_mut())), (Success, Invalid));
        mbmatch_destroy(matcher);
    }
}

/// Fails, and counts.
unsafe extern "C" fn no_memory(context: *mut c_void, _: usize, _: usize) -> *mut c_void {
    // SAFETY: the tests pass a number.
    unsafe { count(context, null_mut()) };
    null_mut()
}

unsafe extern "C" fn never_called(_: *mut c_void, _: *mut c_void, _: usize, _: usize) {
    panic!("nothing was allocated");
}

#[test]
fn options_are_checked_and_the_allocator_is_used() {
    // SAFETY: every pointer is null or valid as the header says.
    unsafe {
        let mut matcher = null_mut();
        let mut calls = 0_usize;
        let default = COptions::DEFAULT;
        let unfit = [
            COptions { size: default.size - 1, ..default },
            COptions { structure: c"tree".as_ptr(), ..default },
            COptions { allocate: Some(no_memory), ..default },
            COptions { release: Some(never_called), ..default },
        ];
        for options in unfit {
            assert_eq!(mbmatch_create_with(&raw const options, &raw mut matcher), Invalid);
        }
        assert_eq!(mbmatch_create_with(null(), &raw mut matcher), Invalid);
        let context = (&raw mut calls).cast::<c_void>();
        let options = COptions { allocate: Some(no_memory), release: Some(never_called), context, ..default };
        assert_eq!(mbmatch_create_with(&raw const options, null_mut()), Invalid);
        assert_eq!(mbmatch_create_with(&raw const options, &raw mut matcher), NoMemory);
        assert!(matcher.is_null() && calls == 1);
        let options = COptions { limit_bytes: 0, ..default };
        assert_eq!(mbmatch_create_with(&raw const options, &raw mut matcher), Success);
        assert_eq!(mbmatch_post(matcher, &raw const PATTERN, null_mut(), null_mut(), null_mut()), NoMemory);
        assert_eq!(mbmatch_arrive(matcher, &raw const ENVELOPE, null_mut(), null_mut(), null_mut()), NoMemory);
        mbmatch_destroy(matcher);
    }
}

#[test]
fn a_panic_is_a_status() {
    assert_eq!(guarded(|| panic!("a defect")), Internal);
}

fn text(status: c_int) -> String {
    // SAFETY: the texts are constants.
    unsafe { CStr::from_ptr(mbmatch_strerror(status)) }.to_str().expect("ASCII").to_owned()
}

#[test]
fn every_status_has_a_text_of_its_own() {
    let texts: std::collections::BTreeSet<String> =
        Status::ALL.iter().map(|status| *status as c_int).chain([99]).map(text).collect();
    assert_eq!(texts.len(), Status::ALL.len() + 1);
    assert_eq!(text(1), "matched");
}

/// The numbers that the header gives to names that begin with `prefix`.
fn header_numbers(prefix: &str) -> Vec<(String, c_int)> {
    include_str!("../../include/mbmatch.h")
        .lines()
        .filter_map(|line| {
            let line = line.trim_start();
            let (name, value) = line.strip_prefix("#define ").unwrap_or(line).split_once(' ')?;
            let value = value.trim_start_matches("= ").split([',', ' ']).next()?;
            Some((name.strip_prefix(prefix)?.to_owned(), value.parse().ok()?))
        })
        .collect()
}

#[test]
fn the_header_has_the_version_of_the_crate() {
    let parts: Vec<_> = header_numbers("MBMATCH_VERSION_").into_iter().map(|(_, value)| value.to_string()).collect();
    assert_eq!(parts.join("."), env!("CARGO_PKG_VERSION"));
    assert_eq!(version_part("12"), 12);
    assert_eq!(mbmatch_version(), VERSION);
}

#[test]
fn the_header_has_the_numbers_of_the_statuses() {
    let expected = [
        ("OK", Success),
        ("MATCHED", Matched),
        ("QUEUED", Queued),
        ("NO_MATCH", NoMatch),
        ("STALE", Stale),
        ("OFF", Off),
        ("INVALID", Invalid),
        ("NO_MEMORY", NoMemory),
        ("INTERNAL", Internal),
    ];
    let expected = expected.map(|(name, status)| (name.to_owned(), status as c_int));
    let is_status = |name: &str| !name.starts_with("VERSION") && !name.starts_with("VISIT_");
    let statuses = header_numbers("MBMATCH_").into_iter().filter(|(name, _)| is_status(name));
    assert_eq!(statuses.collect::<Vec<_>>(), expected);
    let visits = VISITS.map(|(name, visit)| (name.to_owned(), visit as c_int));
    assert_eq!(header_numbers("MBMATCH_VISIT_"), visits);
}
