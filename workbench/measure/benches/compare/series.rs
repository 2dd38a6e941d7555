// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The sequences of operations that are timed: the same for every contender.
//!
//! A sequence is repeated until a batch takes long against a reading of the clock, and leaves its contender as it found
//! it, so that every batch is the same work. Request and message number `i` belong together: a contender that pairs
//! others is wrong, and [`Contender::wait`] says so.

use mb_measure::{Clock, HostClock};
use mbmatch::{Envelope, Pattern};

use crate::contenders::Contender;

/// Deepest queue of all sequences, and the number of objects that are aged.
pub(crate) const DEEPEST: u32 = 16_384;
/// Requests and messages that a contender has room for: one to meet besides.
pub(crate) const REQUESTS: usize = DEEPEST as usize + 1;

/// Who sends to itself; the only source that every contender knows.
const SELF: u32 = 0;
/// Distinct tags begin here; below are those of targets. All stay below 32767, which every MPI allows.
const FIRST_TAG: u64 = 16;
const TARGET: u64 = 1;
const SAME: u64 = 2;
const ABSENT: u64 = 3;
/// The bits of a tag.
pub(crate) const TAG_BITS: u64 = 0x7fff_ffff;

/// What a series needs that not every contender has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Needs {
    /// Exact receives and any source.
    Mpi,
    /// Any bits ignored.
    Masks,
    /// Other senders than oneself.
    Sources,
}

/// In which order a queue is emptied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Forward,
    Reverse,
    Random,
}

/// Who stands in a queue ahead of what is looked for, or what looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ahead {
    Tags,
    SameTag,
    Sources,
    AnySource,
    AnyTag,
    /// Two masks, or one for every bit of 32.
    Masks(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    /// A receive is posted behind `ahead`, and its message comes.
    Preposted(Ahead),
    /// A message comes behind others, and a receive looks for it.
    Unexpected(Ahead),
    /// A probe finds nothing.
    Probe(Ahead),
    /// All receives are posted, and then their messages come.
    DrainPosted(Order, bool),
    /// All messages come, and then their receives are posted.
    DrainUnexpected(Order, bool),
    /// A receive is posted and its message comes, while others wait that a receive with wildcards looked for.
    Beside(Ahead),
    /// A message comes for the oldest of the posted receives, which are all alike, and it is posted again.
    Steady(Ahead),
    /// A message comes for one of the posted receives, and another is posted.
    ReplacePosted,
    /// Posted receives, some of any source, and messages wait; either is replaced.
    ReplaceBoth,
    /// All receives are posted, and then cancelled.
    Cancel(Order),
}

/// A sequence of operations with a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Series {
    /// What is timed.
    pub(crate) kind: &'static str,
    /// Against what, or in which order.
    pub(crate) pattern: &'static str,
    /// Objects and pools have been used in random order before.
    pub(crate) aged: bool,
    pub(crate) needs: Needs,
    work: Work,
}

const fn series(kind: &'static str, pattern: &'static str, needs: Needs, work: Work) -> Series {
    Series { kind, pattern, aged: false, needs, work }
}

const fn aged(kind: &'static str, pattern: &'static str, work: Work) -> Series {
    Series { kind, pattern, aged: true, needs: Needs::Mpi, work }
}

/// All of them. Kinds and patterns are those of `matchbench mpi bench` where it has the same.
pub(crate) const ALL: &[Series] = &[
    series("preposted", "tags", Needs::Mpi, Work::Preposted(Ahead::Tags)),
    series("preposted", "same_tag", Needs::Mpi, Work::Preposted(Ahead::SameTag)),
    series("preposted", "sources", Needs::Sources, Work::Preposted(Ahead::Sources)),
    series("preposted", "any_source", Needs::Mpi, Work::Preposted(Ahead::AnySource)),
    series("preposted", "any_tag", Needs::Sources, Work::Preposted(Ahead::AnyTag)),
    series("preposted", "masks_2", Needs::Masks, Work::Preposted(Ahead::Masks(2))),
    series("preposted", "masks_32", Needs::Masks, Work::Preposted(Ahead::Masks(32))),
    aged("preposted", "aged", Work::Preposted(Ahead::Tags)),
    series("unexpected", "tags", Needs::Mpi, Work::Unexpected(Ahead::Tags)),
    series("unexpected", "same_tag", Needs::Mpi, Work::Unexpected(Ahead::SameTag)),
    series("unexpected", "sources", Needs::Sources, Work::Unexpected(Ahead::Sources)),
    series("unexpected", "any_source", Needs::Mpi, Work::Unexpected(Ahead::AnySource)),
    series("unexpected", "mask", Needs::Masks, Work::Unexpected(Ahead::Masks(1))),
    aged("unexpected", "aged", Work::Unexpected(Ahead::Tags)),
    series("probe", "tags", Needs::Mpi, Work::Probe(Ahead::Tags)),
    series("probe", "any_source", Needs::Mpi, Work::Probe(Ahead::AnySource)),
    series("probe", "any_tag", Needs::Sources, Work::Probe(Ahead::AnyTag)),
    series("probe", "mask", Needs::Masks, Work::Probe(Ahead::Masks(1))),
    series("drain_posted", "in_order", Needs::Mpi, Work::DrainPosted(Order::Forward, false)),
    series("drain_posted", "reverse", Needs::Mpi, Work::DrainPosted(Order::Reverse, false)),
    series("drain_posted", "random", Needs::Mpi, Work::DrainPosted(Order::Random, false)),
    series("drain_posted", "same_tag", Needs::Mpi, Work::DrainPosted(Order::Forward, true)),
    aged("drain_posted", "aged_random", Work::DrainPosted(Order::Random, false)),
    series("drain_unexpected", "in_order", Needs::Mpi, Work::DrainUnexpected(Order::Forward, false)),
    series("drain_unexpected", "reverse", Needs::Mpi, Work::DrainUnexpected(Order::Reverse, false)),
    series("drain_unexpected", "random", Needs::Mpi, Work::DrainUnexpected(Order::Random, false)),
    series("drain_unexpected", "same_tag", Needs::Mpi, Work::DrainUnexpected(Order::Forward, true)),
    aged("drain_unexpected", "aged_random", Work::DrainUnexpected(Order::Random, false)),
    series("beside", "tags", Needs::Mpi, Work::Beside(Ahead::Tags)),
    series("steady", "same_tag", Needs::Mpi, Work::Steady(Ahead::SameTag)),
    series("steady", "any_source", Needs::Mpi, Work::Steady(Ahead::AnySource)),
    series("churn", "posted", Needs::Mpi, Work::ReplacePosted),
    series("churn", "both", Needs::Mpi, Work::ReplaceBoth),
    series("cancel", "in_order", Needs::Mpi, Work::Cancel(Order::Forward)),
    series("cancel", "random", Needs::Mpi, Work::Cancel(Order::Random)),
];

impl Series {
    /// `kind/pattern`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.kind, self.pattern)
    }

    /// That of this name.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|series| series.name() == name)
    }

    /// Whether there is such work at `depth`: nothing is drained of an empty queue.
    pub(crate) fn has_depth(&self, depth: u32) -> bool {
        depth > 0 || matches!(self.work, Work::Preposted(_) | Work::Unexpected(_) | Work::Probe(_) | Work::Beside(_))
    }

    /// Whether an entry is told from all others by its tag, and looked for by it.
    pub(crate) fn is_distinct(&self) -> bool {
        matches!(
            self.work,
            Work::Preposted(Ahead::Tags)
                | Work::Unexpected(Ahead::Tags)
                | Work::DrainPosted(_, false)
                | Work::DrainUnexpected(_, false)
                | Work::ReplacePosted
        )
    }

    /// What is counted, in words.
    pub(crate) fn item(&self) -> &'static str {
        match self.work {
            Work::Probe(_) => "probe that finds nothing",
            Work::Cancel(_) => "post and cancel",
            _ => "post, match and complete",
        }
    }

    /// Items of the shortest sequence.
    pub(crate) fn items(&self, depth: u32) -> f64 {
        match self.work {
            Work::Preposted(_) | Work::Unexpected(_) | Work::Probe(_) | Work::Beside(_) => 1.0,
            Work::Steady(_) | Work::DrainPosted(..) | Work::DrainUnexpected(..) | Work::Cancel(_) => f64::from(depth),
            Work::ReplacePosted | Work::ReplaceBoth => WINDOW as f64,
        }
    }

    /// How many times as long the shortest sequence takes a list at `deep` as at `shallow`.
    pub(crate) fn growth(&self, shallow: u32, deep: u32) -> f64 {
        let ratio = f64::from(deep) / f64::from(shallow.max(1));
        ratio * self.items(deep) / self.items(shallow).max(1.0)
    }

    /// Nanoseconds for each item, one value for each batch.
    pub(crate) fn run(&self, contender: &mut impl Contender, depth: u32, stopwatch: &mut Stopwatch) -> Vec<f64> {
        let n = depth;
        match self.work {
            Work::Preposted(ahead) => {
                (0..n).for_each(|i| contender.post(ahead.pattern(i), i));
                let found = stopwatch.time(1, || {
                    contender.post(exact(TARGET), n);
                    contender.arrive(message(TARGET), n);
                    contender.wait(n);
                });
                for i in 0..n {
                    contender.arrive(ahead.envelope(i), i);
                    contender.wait(i);
                }
                found
            }
            Work::Unexpected(ahead) => {
                (0..n).for_each(|i| contender.arrive(ahead.envelope(i), i));
                let found = stopwatch.time(1, || {
                    contender.arrive(message(TARGET), n);
                    contender.post(ahead.looks_for(TARGET), n);
                    contender.wait(n);
                });
                take_all(contender, ahead, n);
                found
            }
            Work::Probe(ahead) => {
                (0..n).for_each(|i| contender.arrive(ahead.envelope(i), i));
                let found = stopwatch.time(1, || assert!(!contender.probe(ahead.looks_for(ABSENT)), "found nothing"));
                take_all(contender, ahead, n);
                found
            }
            Work::DrainPosted(order, same) => {
                let (tags, mut orders) = (tags(n, same), Orders::new(order, n));
                stopwatch.time(n, || {
                    (0..n).for_each(|i| contender.post(exact(tags[i as usize]), i));
                    for &i in orders.next() {
                        contender.arrive(message(tags[i as usize]), i);
                        contender.wait(i);
                    }
                })
            }
            Work::DrainUnexpected(order, same) => {
                let (tags, mut orders) = (tags(n, same), Orders::new(order, n));
                stopwatch.time(n, || {
                    (0..n).for_each(|i| contender.arrive(message(tags[i as usize]), i));
                    for &i in orders.next() {
                        contender.post(exact(tags[i as usize]), i);
                        contender.wait(i);
                    }
                })
            }
            Work::Beside(ahead) => {
                (0..n).for_each(|i| contender.arrive(ahead.envelope(i), i));
                assert!(!contender.probe(Ahead::AnySource.looks_for(ABSENT)), "found nothing");
                let found = stopwatch.time(1, || {
                    contender.post(exact(TARGET), n);
                    contender.arrive(message(TARGET), n);
                    contender.wait(n);
                });
                take_all(contender, ahead, n);
                found
            }
            Work::Steady(ahead) => {
                (0..n).for_each(|i| contender.post(ahead.looks_for(SAME), i));
                let found = stopwatch.time(n, || {
                    for i in 0..n {
                        contender.arrive(message(SAME), i);
                        contender.wait(i);
                        contender.post(ahead.looks_for(SAME), i);
                    }
                });
                for i in 0..n {
                    contender.arrive(message(SAME), i);
                    contender.wait(i);
                }
                found
            }
            Work::ReplacePosted => replace_posted(contender, n, stopwatch),
            Work::ReplaceBoth => replace_both(contender, n, stopwatch),
            Work::Cancel(order) => {
                let mut orders = Orders::new(order, n);
                stopwatch.time(n, || {
                    (0..n).for_each(|i| contender.post(exact(FIRST_TAG + u64::from(i)), i));
                    orders.next().iter().for_each(|&i| contender.cancel(i));
                })
            }
        }
    }
}

impl Ahead {
    /// Receive number `i` of those that stand ahead; accepts no target.
    fn pattern(self, i: u32) -> Pattern {
        let envelope = self.envelope(i);
        let exactly = Pattern::exactly(envelope);
        match self {
            Self::Tags | Self::SameTag | Self::Sources => exactly,
            Self::AnySource => Pattern { source: None, ..exactly },
            Self::AnyTag => Pattern { ignore: TAG_BITS, ..exactly },
            Self::Masks(kinds) => Pattern { ignore: 1 << (24 + i % kinds), ..exactly },
        }
    }

    /// The message that only receive number `i` of those ahead is to take.
    fn envelope(self, i: u32) -> Envelope {
        let tag = FIRST_TAG + u64::from(i);
        match self {
            Self::Tags | Self::AnySource => message(tag),
            // None of the targets whatever of the middle is ignored.
            Self::Masks(_) => message(tag << 4 | 0xf),
            Self::SameTag => message(SAME),
            Self::Sources => Envelope { bits: TARGET, source: 1 + i },
            Self::AnyTag => Envelope { bits: tag, source: 1 },
        }
    }

    /// A receive of the target's that `self` describes: it accepts none of the messages that stand ahead.
    fn looks_for(self, tag: u64) -> Pattern {
        let exactly = exact(tag);
        match self {
            Self::Tags | Self::SameTag | Self::Sources => exactly,
            Self::AnySource => Pattern { source: None, ..exactly },
            Self::AnyTag => Pattern { ignore: TAG_BITS, source: Some(2), ..exactly },
            // Bits from the middle of the tag: no prefix of the key is left to look by.
            Self::Masks(_) => Pattern { ignore: 0xfff0, source: None, ..exactly },
        }
    }
}

fn message(tag: u64) -> Envelope {
    Envelope { bits: tag, source: SELF }
}

fn exact(tag: u64) -> Pattern {
    Pattern::exactly(message(tag))
}

fn tags(count: u32, same: bool) -> Vec<u64> {
    (0..u64::from(count)).map(|i| if same { SAME } else { FIRST_TAG + i }).collect()
}

/// Receives all `count` messages that stand, oldest first.
fn take_all(contender: &mut impl Contender, ahead: Ahead, count: u32) {
    for i in 0..count {
        contender.post(Pattern::exactly(ahead.envelope(i)), i);
        contender.wait(i);
    }
}

/// `n` receives with different tags; one that is chosen at random is met, and posted anew with a tag that was free.
fn replace_posted(contender: &mut impl Contender, n: u32, stopwatch: &mut Stopwatch) -> Vec<f64> {
    let mut live: Vec<u64> = tags(n, false);
    let mut spare: u64 = FIRST_TAG + u64::from(n);
    (0..n).for_each(|i| contender.post(exact(live[i as usize]), i));
    let choices = choices(n);
    let mut windows = choices.chunks_exact(WINDOW).cycle();
    let found = stopwatch.time_of_many(WINDOWS, WINDOW as u32, || {
        for &i in windows.next().into_iter().flatten() {
            let tag = &mut live[i as usize];
            contender.arrive(message(*tag), i);
            contender.wait(i);
            std::mem::swap(tag, &mut spare);
            contender.post(exact(*tag), i);
        }
    });
    for i in 0..n {
        contender.arrive(message(live[i as usize]), i);
        contender.wait(i);
    }
    found
}

/// As [`replace_posted`], half of it messages that wait. One of four receives is of any source.
fn replace_both(contender: &mut impl Contender, n: u32, stopwatch: &mut Stopwatch) -> Vec<f64> {
    let mut live: Vec<u64> = tags(n, false);
    let mut spare = [FIRST_TAG + u64::from(n), FIRST_TAG + u64::from(n) + 1];
    let posted = |i: u32| i.is_multiple_of(2);
    let receive = |i: u32, tag: u64| Pattern { source: (i & 6 != 6).then_some(SELF), ..exact(tag) };
    for i in 0..n {
        if posted(i) {
            contender.post(receive(i, live[i as usize]), i);
        } else {
            contender.arrive(message(live[i as usize]), i);
        }
    }
    let choices = choices(n);
    let mut windows = choices.chunks_exact(WINDOW).cycle();
    let found = stopwatch.time_of_many(WINDOWS, WINDOW as u32, || {
        for &i in windows.next().into_iter().flatten() {
            let tag = &mut live[i as usize];
            if posted(i) {
                contender.arrive(message(*tag), i);
                contender.wait(i);
                std::mem::swap(tag, &mut spare[0]);
                contender.post(receive(i, *tag), i);
            } else {
                contender.post(receive(i, *tag), i);
                contender.wait(i);
                std::mem::swap(tag, &mut spare[1]);
                contender.arrive(message(*tag), i);
            }
        }
    });
    for i in 0..n {
        if posted(i) {
            contender.arrive(message(live[i as usize]), i);
        } else {
            contender.post(exact(live[i as usize]), i);
        }
        contender.wait(i);
    }
    found
}

/// Entries that a sequence replaces, and the number of sequences before they are the same again.
const WINDOW: usize = 1024;
const WINDOWS: usize = 16;

/// Which of `n` entries are replaced.
fn choices(n: u32) -> Vec<u32> {
    let mut random = Random::new(n);
    (0..WINDOW * WINDOWS).map(|_| random.below(n)).collect()
}

/// The orders in which the batches of a series are emptied.
struct Orders {
    orders: Vec<Vec<u32>>,
    at: usize,
}

impl Orders {
    /// Several random ones where they are short: a branch predictor would learn one.
    fn new(order: Order, count: u32) -> Self {
        let mut random = Random::new(count);
        let one = |random: &mut Random| {
            let mut one: Vec<u32> = (0..count).collect();
            match order {
                Order::Forward => {}
                Order::Reverse => one.reverse(),
                Order::Random => shuffle(&mut one, random),
            }
            one
        };
        let orders = if order == Order::Random { 4096_u32.div_ceil(count) } else { 1 };
        Self { orders: (0..orders).map(|_| one(&mut random)).collect(), at: 0 }
    }

    fn next(&mut self) -> &[u32] {
        self.at = if self.at + 1 < self.orders.len() { self.at + 1 } else { 0 };
        &self.orders[self.at]
    }
}

pub(crate) fn shuffle(items: &mut [u32], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u32 + 1) as usize);
    }
}

/// Marsaglia's xorshift.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u32) -> Self {
        Self(0x0139_408d_cbbf_7a44 ^ u64::from(seed))
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(limit)) >> 32) as u32
    }
}

/// Times batches.
pub(crate) struct Stopwatch {
    clock: HostClock,
    /// Batches of one call.
    pub(crate) batches: u32,
}

/// What a batch takes at least, in nanoseconds: reading the clock around it is then less than a thousandth.
const BATCH_NS: f64 = 40_000.0;
/// From here on one batch is enough, and none goes ahead to warm up.
const LONG_NS: f64 = 20e6;

impl Stopwatch {
    pub(crate) fn new(batches: u32) -> Self {
        Self { clock: HostClock::new(), batches }
    }

    /// As [`Self::time`], where a sequence is one of `different` ones that touch different entries: all of them go ahead,
    /// or as many as there is time for. Else what came before in the caches, another process or the growth of this
    /// matcher, would be in the first batches and not in the last.
    fn time_of_many(&mut self, different: usize, items: u32, mut sequence: impl FnMut()) -> Vec<f64> {
        let begin = self.clock.read();
        for _ in 0..different {
            sequence();
            if (self.clock.read() - begin) as f64 * self.clock.tick_ps() / 1000.0 > LONG_NS {
                break;
            }
        }
        self.time(items, sequence)
    }

    /// Nanoseconds for each of the `items` of `sequence`, one value for each batch of as many sequences as are long
    /// enough.
    fn time(&mut self, items: u32, mut sequence: impl FnMut()) -> Vec<f64> {
        let mut batch = |sequences: u32| {
            let begin = self.clock.read();
            (0..sequences).for_each(|_| sequence());
            (self.clock.read() - begin) as f64 * self.clock.tick_ps() / 1000.0
        };
        let first = batch(1);
        if first > LONG_NS {
            return vec![first / f64::from(items)];
        }
        // The second knows the caches; both may have been interrupted, so the shorter tells.
        let once = first.min(batch(1)).max(1.0);
        let sequences = (BATCH_NS / once).ceil().max(1.0) as u32;
        batch(sequences);
        (0..self.batches).map(|_| batch(sequences) / (f64::from(sequences) * f64::from(items))).collect()
    }
}

/// Nanoseconds of a load whose address is what the load before it gave, from the first-level cache: a unit that is the
/// same number of cycles at any clock.
pub(crate) fn load_ns(stopwatch: &mut Stopwatch) -> Vec<f64> {
    let mut order: Vec<u32> = (0..512).collect();
    shuffle(&mut order, &mut Random::new(1));
    let mut next = vec![0_usize; order.len()];
    for (at, &from) in order.iter().enumerate() {
        next[from as usize] = order[(at + 1) % order.len()] as usize;
    }
    let mut at = 0;
    stopwatch.time(512, || {
        for _ in 0..512 {
            // SAFETY: every element is below the number of elements.
            at = unsafe { *next.get_unchecked(at) };
        }
        at = std::hint::black_box(at);
    })
}
