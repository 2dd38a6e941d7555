// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The library's side of the interface: functions that call an engine of [`mb_core`] and let no panic out.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use mb_core::parameters::ParameterSet;
use mb_core::{Accepted, Completion, EngineEntry, EngineFault, Op, Picos, Placement, ReplayEngine, Source, Timing};

use crate::abi::{Handle, Operation, RawCompletion, State, Table, VERSION, status, value_of};
use crate::description::describe;

/// The entry that a library exports; [`export_engine!`](crate::export_engine) implements it.
pub trait Exported {
    /// The entry.
    const ENTRY: EngineEntry;
}

/// An engine behind a [`Handle`].
struct Exporting {
    engine: Box<dyn ReplayEngine>,
    placement: Placement,
    /// Completions for which the caller's buffer had no place, and how many of them were returned.
    done: Vec<Completion>,
    handed_out: usize,
    /// Why the engine can be used no more.
    fault: Option<String>,
}

thread_local! {
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The table of `E`, made once in `place`. Messages of panics go to the caller from now on, not to standard error.
///
/// # Panics
/// When the times of the engine are not simulated.
pub fn table<E: Exported>(place: &'static OnceLock<Table>) -> *const Table {
    place.get_or_init(|| {
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
            let payload = panic.payload();
            let text = payload.downcast_ref::<&str>().copied().map(str::to_owned);
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
            PANIC.with(|last| *last.borrow_mut() = Some(format!("panicked{place}: {text}")));
        }));
        new_table::<E>()
    })
}

/// A table of `E`, with a description that is never freed.
#[must_use]
pub fn new_table<E: Exported>() -> Table {
    let description: &'static str = Box::leak(describe(&E::ENTRY).into_boxed_str());
    Table {
        version: VERSION,
        bytes: size_of::<Table>() as u32,
        description: description.as_ptr(),
        description_bytes: description.len() as u64,
        create: Some(create::<E>),
        destroy: Some(destroy),
        placement: Some(placement),
        offer: Some(offer),
        next_event: Some(next_event),
        run_until: Some(run_until),
        state: Some(state),
        message: Some(message),
        answer: Some(answer),
    }
}

/// Does `work`; the message of a panic or of a fault if it does not return.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|cause| match cause.downcast::<EngineFault>() {
        Ok(fault) => fault.0,
        Err(cause) => {
            let told = PANIC.with(|last| last.borrow_mut().take());
            let text = || cause.downcast_ref::<&str>().copied().map(str::to_owned);
            let text = || text().or_else(|| cause.downcast_ref::<String>().cloned()).unwrap_or_default();
            told.unwrap_or_else(|| format!("panicked: {}", text()))
        }
    })
}

/// Writes as much of `text` as there is place for.
///
/// # Safety
/// `buffer` must have `capacity` bytes.
unsafe fn write_text(text: &str, buffer: *mut u8, capacity: u64) {
    let length = text.len().min(usize::try_from(capacity).unwrap_or(usize::MAX));
    // SAFETY: the caller says that there are `capacity` bytes, and `length` is at most that.
    unsafe { buffer.copy_from_nonoverlapping(text.as_ptr(), length) };
}

/// Makes an engine of [`Exported::ENTRY`].
///
/// # Safety
/// `values` must have `count` numbers, `buffer` `capacity` bytes, and `made` must be valid for writing.
unsafe extern "C" fn create<E: Exported>(
    values: *const u64,
    count: u64,
    made: *mut *mut Handle,
    buffer: *mut u8,
    capacity: u64,
) -> i32 {
    let numbers = match usize::try_from(count) {
        Ok(count) if count > 0 => {
            // SAFETY: the caller says that there are `count` numbers.
            unsafe { std::slice::from_raw_parts(values, count) }
        }
        _ => &[],
    };
    let built = caught(|| build(&E::ENTRY, numbers)).and_then(|built| built);
    match built {
        Ok(exporting) => {
            // SAFETY: the caller says that `made` can be written.
            unsafe { made.write(Box::into_raw(Box::new(exporting)).cast()) };
            status::OK
        }
        Err(text) => {
            // SAFETY: the caller says that the buffer has `capacity` bytes.
            unsafe { write_text(&text, buffer, capacity) };
            status::FAULT
        }
    }
}

fn build(entry: &EngineEntry, numbers: &[u64]) -> Result<Exporting, String> {
    if entry.card.timing != Timing::Simulated {
        return Err(format!("times are {}, expected simulated ones", entry.card.timing.as_str()));
    }
    let specs = entry.parameters;
    if numbers.len() != specs.len() {
        return Err(format!("{} values, expected {}", numbers.len(), specs.len()));
    }
    let texts = specs.iter().zip(numbers).map(|(spec, &number)| value_of(spec, number).map(|value| value.to_string()));
    let texts: Vec<String> = texts.collect::<Result<_, _>>().map_err(|error| error.0)?;
    let given = specs.iter().zip(&texts).map(|(spec, text)| (spec.key, text.as_str(), Source::User));
    let set = ParameterSet::complete(specs, given).map_err(|error| error.to_string())?;
    let engine = (entry.build)(&set).map_err(|error| error.to_string())?;
    Ok(Exporting { engine, placement: (entry.placement)(&set), done: Vec::new(), handed_out: 0, fault: None })
}

/// Calls `work` on the engine of `handle`, unless it failed before.
///
/// # Safety
/// `handle` must come from [`create`] and must not be used elsewhere now.
unsafe fn on(handle: *mut Handle, work: impl FnOnce(&mut Exporting) -> Result<i32, String>) -> i32 {
    // SAFETY: `create` made the handle from an `Exporting`, and no other code uses it now.
    let exporting = unsafe { &mut *handle.cast::<Exporting>() };
    if exporting.fault.is_some() {
        return status::FAULT;
    }
    match caught(|| work(exporting)).and_then(|done| done) {
        Ok(status) => status,
        Err(text) => {
            exporting.fault = Some(text);
            status::FAULT
        }
    }
}

/// See [`crate::abi::Destroy`].
///
/// # Safety
/// As [`on`]; the handle is used no more.
unsafe extern "C" fn destroy(handle: *mut Handle) {
    // SAFETY: `create` made the handle from a box.
    let exporting = unsafe { Box::from_raw(handle.cast::<Exporting>()) };
    // A failure while memory is freed cannot be reported.
    let _ = caught(move || drop(exporting));
}

/// See [`crate::abi::PlacementOf`].
///
/// # Safety
/// As [`on`].
unsafe extern "C" fn placement(handle: *mut Handle) -> i32 {
    // SAFETY: as this function's.
    let exporting = unsafe { &*handle.cast::<Exporting>() };
    i32::from(exporting.placement == Placement::Host)
}

/// See [`crate::abi::OfferFunction`].
///
/// # Safety
/// As [`on`], and the pointers must be valid.
unsafe extern "C" fn offer(handle: *mut Handle, now: u64, operation: *const Operation, retry_at: *mut u64) -> i32 {
    // SAFETY: as this function's.
    unsafe {
        on(handle, |exporting| {
            let op = Op::try_from(*operation).map_err(|error| error.0)?;
            Ok(match exporting.engine.offer(Picos(now), op) {
                Accepted::Yes => status::OK,
                Accepted::Busy { retry_at: Picos(at) } => {
                    retry_at.write(at);
                    status::BUSY
                }
            })
        })
    }
}

/// See [`crate::abi::NextEvent`].
///
/// # Safety
/// As [`offer`].
unsafe extern "C" fn next_event(handle: *mut Handle, at: *mut u64) -> i32 {
    // SAFETY: as this function's.
    unsafe {
        on(handle, |exporting| {
            Ok(exporting.engine.next_event().map_or(status::IDLE, |event| {
                at.write(event.0);
                status::OK
            }))
        })
    }
}

/// See [`crate::abi::RunUntil`].
///
/// # Safety
/// As [`on`]; `buffer` must have `capacity` answers, and `count` must be valid.
unsafe extern "C" fn run_until(
    handle: *mut Handle,
    until: u64,
    buffer: *mut RawCompletion,
    capacity: u64,
    count: *mut u64,
) -> i32 {
    // SAFETY: as this function's.
    unsafe {
        on(handle, |exporting| {
            let Exporting { engine, done, handed_out, .. } = exporting;
            if *handed_out == done.len() {
                done.clear();
                *handed_out = 0;
                engine.run_until(Picos(until), done);
            }
            let places = usize::try_from(capacity).unwrap_or(usize::MAX);
            let rest = done[*handed_out..].iter().take(places);
            let mut written = 0;
            for &completion in rest {
                buffer.add(written).write(completion.into());
                written += 1;
            }
            *handed_out += written;
            count.write(written as u64);
            Ok(if *handed_out < done.len() { status::MORE } else { status::OK })
        })
    }
}

/// See [`crate::abi::AnswerNow`].
///
/// # Safety
/// As [`offer`].
unsafe extern "C" fn answer(
    handle: *mut Handle,
    now: u64,
    operation: *const Operation,
    found: *mut RawCompletion,
) -> i32 {
    // SAFETY: as this function's.
    unsafe {
        on(handle, |exporting| {
            let op = Op::try_from(*operation).map_err(|error| error.0)?;
            Ok(exporting.engine.answer(Picos(now), op).map_or(status::LATER, |completion| {
                found.write(completion.into());
                status::OK
            }))
        })
    }
}

/// See [`crate::abi::StateOf`].
///
/// # Safety
/// As [`offer`].
unsafe extern "C" fn state(handle: *mut Handle, written: *mut State) -> i32 {
    // SAFETY: as this function's.
    unsafe {
        on(handle, |exporting| {
            let (lengths, events) = (exporting.engine.queue_lengths(), exporting.engine.capacity_events());
            written.write(State {
                posted: lengths.posted as u64,
                unexpected: lengths.unexpected as u64,
                busy: exporting.engine.busy().0,
                posted_overflows: events.posted_overflows,
                unexpected_overflows: events.unexpected_overflows,
                spilled: events.spilled,
            });
            Ok(status::OK)
        })
    }
}

/// See [`crate::abi::Message`].
///
/// # Safety
/// As [`on`], and `buffer` must have `capacity` bytes.
unsafe extern "C" fn message(handle: *mut Handle, buffer: *mut u8, capacity: u64) -> u64 {
    // SAFETY: as this function's.
    let exporting = unsafe { &*handle.cast::<Exporting>() };
    let text = exporting.fault.as_deref().unwrap_or_default();
    // SAFETY: as this function's.
    unsafe { write_text(text, buffer, capacity) };
    text.len() as u64
}
