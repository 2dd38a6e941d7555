// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The sequences of operations of the series, the same for every contender.
//!
//! A sequence is repeated until a batch is long compared with a timestamp. It leaves its contender
//! as it found it, so that every batch does the same work. Request and message number `i` belong
//! together; [`Contender::wait`] fails if a contender pairs others.

use fastrand::Rng;
use mbmatch::{Envelope, Pattern};

use crate::contenders::Contender;
use crate::series::{Ahead, Order, Series, Work};
use crate::stopwatch::Stopwatch;

/// The source of all messages to oneself, the only one that every contender has.
const SELF: u32 = 0;
/// Distinct tags begin here, above those of targets. All are below 32767, which every MPI allows.
const FIRST_TAG: u64 = 16;
const TARGET: u64 = 1;
const SAME: u64 = 2;
const ABSENT: u64 = 3;
/// The bits of a tag.
pub(crate) const TAG_BITS: u64 = 0x7fff_ffff;

impl Series {
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
                let found =
                    stopwatch.time(1, || assert!(!contender.probe(ahead.looks_for(ABSENT)), "the probe finds nothing"));
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
                assert!(!contender.probe(Ahead::AnySource.looks_for(ABSENT)), "the probe finds nothing");
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
    /// Receive number `i` of those ahead; accepts no target.
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

    /// The message for receive number `i` of those ahead, and for no other.
    fn envelope(self, i: u32) -> Envelope {
        let tag = FIRST_TAG + u64::from(i);
        match self {
            Self::Tags | Self::AnySource => message(tag),
            // Differs from the targets also where the middle bits are ignored.
            Self::Masks(_) => message(tag << 4 | 0xf),
            Self::SameTag => message(SAME),
            Self::Sources => Envelope { bits: TARGET, source: 1 + i },
            Self::AnyTag => Envelope { bits: tag, source: 1 },
        }
    }

    /// The receive for a target, of the kind of `self`: accepts none of the messages ahead.
    fn looks_for(self, tag: u64) -> Pattern {
        let exactly = exact(tag);
        match self {
            Self::Tags | Self::SameTag | Self::Sources => exactly,
            Self::AnySource => Pattern { source: None, ..exactly },
            Self::AnyTag => Pattern { ignore: TAG_BITS, source: Some(2), ..exactly },
            // Bits from the middle of the tag, so that no prefix of the key is left for an index.
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

/// Receives all `count` messages ahead, oldest first.
fn take_all(contender: &mut impl Contender, ahead: Ahead, count: u32) {
    for i in 0..count {
        contender.post(Pattern::exactly(ahead.envelope(i)), i);
        contender.wait(i);
    }
}

/// `n` receives with different tags: a random one is matched and posted again with an unused tag.
fn replace_posted(contender: &mut impl Contender, n: u32, stopwatch: &mut Stopwatch) -> Vec<f64> {
    let mut live: Vec<u64> = tags(n, false);
    let mut spare: u64 = FIRST_TAG + u64::from(n);
    (0..n).for_each(|i| contender.post(exact(live[i as usize]), i));
    let choices = choices(n);
    let mut windows = choices.chunks_exact(WINDOW as usize).cycle();
    let found = stopwatch.time_of_many(WINDOWS, WINDOW, || {
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

/// As [`replace_posted`], with half of the entries unexpected messages, and a quarter of the
/// receives of any source.
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
    let mut windows = choices.chunks_exact(WINDOW as usize).cycle();
    let found = stopwatch.time_of_many(WINDOWS, WINDOW, || {
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

/// Entries replaced by a sequence, and the number of different sequences.
pub(crate) const WINDOW: u32 = 1024;
const WINDOWS: u32 = 16;

/// The entries to be replaced, of `n`.
fn choices(n: u32) -> Vec<u32> {
    let mut random = Rng::with_seed(n.into());
    (0..WINDOW * WINDOWS).map(|_| random.u32(..n)).collect()
}

/// The orders in which a queue is emptied, in rotation.
struct Orders {
    orders: Vec<Vec<u32>>,
    at: usize,
}

impl Orders {
    /// Several random orders where they are short, since a branch predictor would learn a single
    /// one.
    fn new(order: Order, count: u32) -> Self {
        let mut random = Rng::with_seed(count.into());
        let one = |random: &mut Rng| {
            let mut one: Vec<u32> = (0..count).collect();
            match order {
                Order::Forward => {}
                Order::Reverse => one.reverse(),
                Order::Random => random.shuffle(&mut one),
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
