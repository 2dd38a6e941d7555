// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Heap contract: no call allocates within reserved capacity or for a few entries, and a call that
//! runs out of memory changes nothing. The global allocator of this program counts allocations and
//! fails on request.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_void;

use fastrand::Rng;
use mbmatch::{
    Allocator, Arrived, Envelope, Handle, Matcher, Message, Options, Pattern, Posted, QueuedMessage, SourceChange,
    Structure,
};

struct Counting;

thread_local! {
    /// Allocations of this thread.
    static COUNT: Cell<u64> = const { Cell::new(0) };
    /// Allocations that still succeed.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

// SAFETY: forwards to the system allocator, or returns null.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // The counters of a thread that is ending may be gone.
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        let fails =
            LEFT.try_with(|left| left.replace(left.get().saturating_sub(u64::from(left.get() != u64::MAX))) == 0);
        // SAFETY: the caller's contract.
        if fails == Ok(true) { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract; `alloc` got the memory from the system allocator.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `call` while no more than `left` allocations succeed.
fn with_memory_for<R>(left: u64, call: impl FnOnce() -> R) -> R {
    LEFT.set(left);
    let result = call();
    LEFT.set(u64::MAX);
    result
}

fn message(number: u64) -> Envelope {
    Envelope { bits: number, source: 1 }
}

/// MPI's four kinds of pattern in turn.
fn pattern(number: u64) -> Pattern {
    let exact = Pattern::exactly(message(number));
    match number % 4 {
        0 => exact,
        1 => Pattern { source: None, ..exact },
        2 => Pattern { ignore: 1 << 40, ..exact },
        _ => Pattern { ignore: 1 << 40, source: None, ..exact },
    }
}

#[test]
fn within_the_reserved_capacity_no_call_allocates() {
    for &structure in Structure::ALL {
        // Step 4 gives patterns of one kind, step 1 of all kinds.
        for step in [1, 4] {
            let mut matcher = Matcher::new(structure, Options::default());
            matcher.reserve(100, 100).expect("memory");
            let before = COUNT.get();
            for round in 0..3 {
                for number in (0..100).map(|number| 1 + number * step) {
                    assert!(matches!(matcher.post(pattern(number), number), Ok(Posted::Waiting(_))));
                }
                for number in (0..100).map(|number| 1 + number * step) {
                    assert_eq!(matcher.arrive(message(number), round), Ok(Arrived::Matched { user: number }));
                }
                for number in 0..100 {
                    assert!(matches!(matcher.arrive(message(number), number), Ok(Arrived::Unexpected(_))));
                }
                for number in (0..100).rev() {
                    let found = matcher.post(Pattern::exactly(message(number)), round).expect("memory");
                    assert!(matches!(found, Posted::Matched(Message { user, .. }) if user == number));
                }
            }
            assert_eq!(COUNT.get(), before, "{structure}, step {step}");
        }
    }
}

/// A short queue allocates nothing, whatever the other queue holds.
#[test]
fn a_short_queue_beside_a_deep_one_takes_no_memory() {
    let any_source = |bits| Pattern { bits, ignore: 0, source: None };
    let mut matcher = Matcher::new(Structure::Adaptive, Options::default());
    for number in 0..40 {
        matcher.arrive(message(100 + number), number).expect("memory");
    }
    assert_eq!(matcher.probe(any_source(1)), None);
    for number in 0..200 {
        let posted =
            with_memory_for(0, || matcher.post(if number % 2 == 0 { pattern(4) } else { any_source(4) }, number));
        assert!(matches!(posted, Ok(Posted::Waiting(_))));
        assert_eq!(with_memory_for(0, || matcher.arrive(message(4), 0)), Ok(Arrived::Matched { user: number }));
    }
    let mut matcher = Matcher::new(Structure::Adaptive, Options::default());
    for number in 0..40 {
        matcher.post(any_source(100 + number), number).expect("memory");
    }
    let before = matcher.memory();
    for number in 0..200 {
        assert!(matches!(with_memory_for(0, || matcher.arrive(message(4), number)), Ok(Arrived::Unexpected(_))));
        let found = with_memory_for(0, || matcher.mprobe(pattern(4)));
        assert_eq!(found, Some(Message { user: number, envelope: message(4) }));
    }
    assert_eq!(matcher.memory(), before);
}

/// Entries of a queue, oldest first, with their user values.
type Queue<T> = Vec<(T, u64, Handle)>;

fn take<T>(queue: &mut Queue<T>, fits: impl Fn(&T) -> bool) -> Option<(T, u64, Handle)> {
    let at = queue.iter().position(|(entry, ..)| fits(entry))?;
    Some(queue.remove(at))
}

fn take_random<T>(queue: &mut Queue<T>, random: &mut Rng) -> Option<(T, u64, Handle)> {
    (!queue.is_empty()).then(|| queue.remove(random.usize(..queue.len())))
}

/// Random operations, a third of them with little memory; a call that fails must leave both queues
/// unchanged. Returns the number of calls that failed.
fn perform_with_little_memory(structure: Structure, seed: u64, operations: u64) -> u64 {
    let mut random = Rng::with_seed(seed);
    let mut matcher = Matcher::new(structure, Options::default());
    let (mut posted, mut unexpected): (Queue<Pattern>, Queue<Envelope>) = (Vec::new(), Vec::new());
    let mut failed = 0;
    // Patterns with ignore bits, of four.
    let masked = [0, 1, 4][random.usize(..3)];
    for number in 0..operations {
        let envelope = Envelope { bits: random.u64(..40), source: random.u32(..2) };
        // More wildcard kinds than `adaptive` has classes.
        let ignore = if random.u64(..4) < masked { 1 << random.u64(..14) } else { 0 };
        let source = Some(envelope.source).filter(|_| random.u64(..3) > 0);
        let pattern = Pattern { bits: envelope.bits, ignore, source };
        let left = if random.u64(..3) == 0 { random.u64(..8) } else { u64::MAX };
        match random.u64(..20) {
            0..8 => {
                let found = with_memory_for(left, || matcher.post(pattern, number));
                let expected = take(&mut unexpected, |envelope| pattern.accepts(envelope));
                match (found, expected) {
                    (Ok(Posted::Matched(message)), Some((envelope, user, _))) => {
                        assert_eq!(message, Message { user, envelope }, "{structure}, operation {number}");
                    }
                    (Ok(Posted::Waiting(handle)), None) => posted.push((pattern, number, handle)),
                    (Err(_), None) if left < u64::MAX => failed += 1,
                    (found, expected) => {
                        panic!("{structure}, operation {number}: {found:?} found, {expected:?} expected")
                    }
                }
            }
            8..16 => {
                let found = with_memory_for(left, || matcher.arrive(envelope, number));
                let expected = take(&mut posted, |pattern| pattern.accepts(&envelope));
                match (found, expected) {
                    (Ok(Arrived::Matched { user }), Some((_, expected, _))) => {
                        assert_eq!(user, expected, "{structure}, operation {number}");
                    }
                    (Ok(Arrived::Unexpected(handle)), None) => unexpected.push((envelope, number, handle)),
                    (Err(_), None) if left < u64::MAX => failed += 1,
                    (found, expected) => {
                        panic!("{structure}, operation {number}: {found:?} found, {expected:?} expected")
                    }
                }
            }
            16 => {
                let found = with_memory_for(left, || matcher.probe(pattern));
                let expected = unexpected.iter().find(|(envelope, ..)| pattern.accepts(envelope));
                assert_eq!(
                    found.map(|QueuedMessage { user, envelope, .. }| (envelope, user)),
                    expected.map(|&(envelope, user, _)| (envelope, user)),
                    "operation {number}"
                );
            }
            17 => {
                let Some(at) = (!unexpected.is_empty()).then(|| random.usize(..unexpected.len())) else { continue };
                let (old, user, handle) = unexpected[at];
                let changed = Envelope { source: random.u32(..2), ..old };
                let found = with_memory_for(0, || matcher.change_source(handle, changed.source));
                let expected = if let Some((_, receive, _)) = take(&mut posted, |pattern| pattern.accepts(&changed)) {
                    unexpected.remove(at);
                    SourceChange::Matched { receive, message: user }
                } else {
                    unexpected[at].0 = changed;
                    SourceChange::Waiting
                };
                assert_eq!(found, Some(expected), "{structure}, operation {number}");
                with_memory_for(left, || matcher.shrink());
            }
            kind => {
                // At times many at once, so that short queues occur again.
                for _ in 0..[1, 1, 100][random.usize(..3)] {
                    let user = if kind == 18 {
                        take_random(&mut posted, &mut random).map(|(_, user, handle)| (matcher.cancel(handle), user))
                    } else {
                        take_random(&mut unexpected, &mut random)
                            .map(|(_, user, handle)| (matcher.discard(handle), user))
                    };
                    assert!(user.is_none_or(|(found, user)| found == Some(user)), "{structure}, operation {number}");
                }
            }
        }
        assert_eq!((matcher.posted_len(), matcher.unexpected_len()), (posted.len(), unexpected.len()));
    }
    failed
}

/// A queue grows until an allocation fails; then entries are removed and appended again, without
/// more memory. Entries of the same kinds: `adaptive` has separate places for kinds of wildcards
/// beyond the seventh.
fn refused_after_removals(structure: Structure, allocations: u64, kinds: u64, step: usize, is_posted: bool) -> usize {
    let mut matcher = Matcher::new(structure, Options::default());
    let append = |matcher: &mut Matcher, number: u64| {
        if is_posted {
            let number = number * if kinds == 1 { 4 } else { 1 };
            let masked = Pattern { ignore: 1 << (20 + number % kinds), ..pattern(number) };
            matcher.queue_receive(if kinds > 4 { masked } else { pattern(number) }, number)
        } else {
            matcher.queue_message(message(number), number)
        }
    };
    // Within its capacity it needs no memory itself; Miri keeps a map of each byte.
    let mut handles: Vec<Handle> = Vec::with_capacity(if cfg!(miri) { 1 << 13 } else { 1 << 20 });
    with_memory_for(allocations, || {
        for number in 0.. {
            match append(&mut matcher, number) {
                Ok(handle) => {
                    if handles.len() == 20 && kinds > 1 && !is_posted {
                        // Builds lists by match bits, or the age index.
                        let ignore = u64::from(kinds > 4);
                        assert_eq!(matcher.probe(Pattern { bits: u64::MAX, ignore, source: None }), None);
                    }
                    handles.push(handle);
                }
                Err(_) => break,
            }
        }
    });
    let mut refused = 0;
    for &handle in handles.iter().step_by(step) {
        let user = if is_posted { matcher.cancel(handle) } else { matcher.discard(handle) };
        assert!(user.is_some(), "{structure}");
    }
    for number in (0..handles.len() as u64).step_by(step) {
        let found = with_memory_for(0, || append(&mut matcher, number));
        refused += usize::from(found.is_err());
    }
    refused
}

#[test]
fn after_a_failed_allocation_removed_places_are_used_again() {
    // Fewer under Miri, which takes milliseconds for an operation.
    let (all_allocations, steps): (&[u64], &[usize]) =
        if cfg!(miri) { (&[1, 4, 9], &[2, 7]) } else { (&[0, 1, 3, 4, 5, 9, 20, 30], &[1, 2, 7, 100]) };
    for &structure in Structure::ALL {
        for is_posted in [true, false] {
            for &allocations in all_allocations {
                for kinds in [1, 4, 13] {
                    for &step in steps {
                        let refused = refused_after_removals(structure, allocations, kinds, step, is_posted);
                        let queue = if is_posted { "receives" } else { "messages" };
                        let run = format!("{allocations} allocations, {kinds} kinds of pattern, step {step}");
                        assert_eq!(refused, 0, "{structure}: {queue} refused; {run}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_call_that_runs_out_of_memory_changes_nothing() {
    for &structure in Structure::ALL {
        let (seeds, operations) = if cfg!(miri) { (3, 100) } else { (400, 300) };
        let failed: u64 = (0..seeds).map(|seed| perform_with_little_memory(structure, seed, operations)).sum();
        // The few operations run under Miri need not reach a failing allocation.
        assert!(cfg!(miri) || 10 * failed > seeds, "{structure}: {failed} calls failed");
    }
}

thread_local! {
    /// Bytes that [`counted_allocate`] gave out and did not get back, and the number of its calls.
    static BYTES: Cell<usize> = const { Cell::new(0) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

unsafe extern "C" fn counted_allocate(context: *mut c_void, bytes: usize, alignment: usize) -> *mut c_void {
    assert_eq!(context.addr(), 7);
    BYTES.set(BYTES.get() + bytes);
    CALLS.set(CALLS.get() + 1);
    // SAFETY: the matcher asks for no layout of size zero.
    unsafe { System.alloc(Layout::from_size_align(bytes, alignment).expect("a layout")).cast() }
}

unsafe extern "C" fn counted_release(context: *mut c_void, memory: *mut c_void, bytes: usize, alignment: usize) {
    assert_eq!(context.addr(), 7);
    BYTES.set(BYTES.get() - bytes);
    // SAFETY: `counted_allocate` returned it for this layout.
    unsafe { System.dealloc(memory.cast(), Layout::from_size_align(bytes, alignment).expect("a layout")) }
}

fn counted() -> Allocator {
    // SAFETY: the functions use the system allocator and no matcher.
    unsafe { Allocator::new(counted_allocate, counted_release, std::ptr::without_provenance_mut(7)) }
}

/// Fills both queues, with wildcards of many kinds and an age index, and takes half of the entries back.
fn use_everything(matcher: &mut Matcher, count: u64) -> Result<(), mbmatch::OutOfMemory> {
    for number in 0..count {
        let masked = Pattern { ignore: 1 << (20 + number % 13), ..pattern(number) };
        let handle = matcher.queue_receive(if number % 3 == 0 { masked } else { pattern(number) }, number)?;
        if number % 2 == 0 {
            matcher.cancel(handle).expect("queued");
        }
    }
    for number in 0..count {
        let handle = matcher.queue_message(message(number), number)?;
        if number % 2 == 0 {
            matcher.discard(handle).expect("queued");
        }
        // Lists by match bits, the age index, and changes between them.
        let ignore = number / 40 % 2;
        assert_eq!(matcher.probe(Pattern { bits: u64::MAX, ignore, source: None }), None);
    }
    Ok(())
}

#[test]
fn with_an_allocator_of_the_caller_everything_comes_from_there_and_goes_back() {
    for &structure in Structure::ALL {
        let mut options = Options::default();
        options.allocator = Some(counted());
        let (before, calls) = (COUNT.get(), CALLS.get());
        let mut matcher = Matcher::new(structure, options);
        use_everything(&mut matcher, 200).expect("memory");
        matcher.reserve(500, 500).expect("memory");
        matcher.start_counters().expect("memory");
        let all = Pattern { bits: 0, ignore: u64::MAX, source: None };
        assert_eq!(matcher.remove_receives(all, |_| {}), Ok(100));
        assert_eq!(matcher.visit_messages(|_| mbmatch::Visit::Keep), Ok(0));
        matcher.shrink();
        assert!(CALLS.get() - calls > 10 && BYTES.get() > 0, "{structure}");
        drop(matcher);
        assert_eq!((COUNT.get(), BYTES.get()), (before, 0), "{structure}");
    }
}

/// No more is allocated than the limit says, and a matcher at its limit works.
#[test]
fn a_limit_in_bytes_holds_and_entries_that_leave_make_room() {
    let limits: &[usize] = if cfg!(miri) { &[0, 1000, 5000, 20_000] } else { &[0, 1000, 5000, 20_000, 100_000] };
    for &structure in Structure::ALL {
        for &limit_bytes in limits {
            let mut options = Options::default();
            (options.allocator, options.limit_bytes) = (Some(counted()), limit_bytes);
            let mut matcher = Matcher::new(structure, options);
            let outside = BYTES.get();
            let mut handles = Vec::new();
            while let Ok(handle) = matcher.queue_message(message(handles.len() as u64), handles.len() as u64) {
                handles.push(handle);
                assert!(BYTES.get() - outside <= limit_bytes, "{structure}, {limit_bytes}");
            }
            assert!(matcher.memory().posted + matcher.memory().unexpected <= limit_bytes, "{structure}, {limit_bytes}");
            assert!(limit_bytes < 20_000 || handles.len() * 80 > limit_bytes / 2, "{structure}: {}", handles.len());
            // At the limit, a visit and a removal still have their list.
            let odd = matcher.visit_messages(|found| match found.user % 2 {
                0 => mbmatch::Visit::Keep,
                _ => mbmatch::Visit::Remove,
            });
            assert_eq!(odd, Ok(handles.len() / 2), "{structure}, {limit_bytes}");
            for number in (1..handles.len() as u64).step_by(2) {
                assert!(matcher.queue_message(message(number), number).is_ok(), "{structure}, {limit_bytes}");
            }
            assert_eq!(matcher.unexpected_len(), handles.len());
        }
    }
}

/// Handles of entries from before are refused after the memory was given back and other entries have come.
#[test]
fn shrinking_an_empty_matcher_gives_its_memory_back_and_keeps_handles_stale() {
    for &structure in Structure::ALL {
        for count in [1, 5, 30, 200] {
            let mut matcher = Matcher::new(structure, Options::default());
            let mut stale = Vec::new();
            for round in 0..3 {
                for number in 0..count {
                    let masked = Pattern { ignore: 1 << (20 + number % 13), ..pattern(number) };
                    stale.push(matcher.queue_receive(masked, number).expect("memory"));
                    stale.push(matcher.queue_message(message(number), number).expect("memory"));
                }
                let fresh = stale.split_off(stale.len() - 2 * count as usize);
                for &handle in &stale {
                    assert_eq!((matcher.cancel(handle), matcher.discard(handle)), (None, None), "{structure}, {round}");
                }
                for handle in fresh {
                    assert!(matcher.cancel(handle).or_else(|| matcher.discard(handle)).is_some());
                    stale.push(handle);
                }
                let used = matcher.memory();
                matcher.shrink();
                let left = matcher.memory();
                let few = if structure == Structure::Adaptive { 0 } else { 400 };
                assert!(left.posted + left.unexpected <= few, "{structure}, {count}: {used:?} used, {left:?} left");
            }
        }
    }
}
