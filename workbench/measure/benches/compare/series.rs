// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The series: names, kinds of work and depths. The work itself is in [`crate::sequences`].

/// Deepest queue of all series, and the number of objects of a fragmented pool.
pub(crate) const DEEPEST: u32 = 16_384;
/// Requests and messages of a contender: one more than the deepest queue.
pub(crate) const REQUESTS: usize = DEEPEST as usize + 1;

/// What a series requires of a contender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Needs {
    /// Exact receives and any source.
    Mpi,
    /// Any ignore bits.
    Masks,
    /// Several sources.
    Sources,
}

/// The order in which a queue is emptied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Forward,
    Reverse,
    Random,
}

/// The entries ahead of the target in its queue, or the kind of pattern that searches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ahead {
    Tags,
    SameTag,
    Sources,
    AnySource,
    AnyTag,
    /// Receives that ignore one of this many bits.
    Masks(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    /// A receive is posted behind `ahead`, and its message arrives.
    Preposted(Ahead),
    /// A message arrives behind others, and its receive is posted.
    Unexpected(Ahead),
    /// A probe finds nothing.
    Probe(Ahead),
    /// All receives are posted, then their messages arrive; `true`: all have the same tag.
    DrainPosted(Order, bool),
    /// All messages arrive, then their receives are posted; `true`: all have the same tag.
    DrainUnexpected(Order, bool),
    /// A receive is posted and its message arrives, beside messages that a wildcard probe has
    /// searched once.
    Beside(Ahead),
    /// A message arrives for the oldest of equal receives, which is posted again.
    Steady(Ahead),
    /// A message arrives for a random one of the posted receives, and another is posted.
    ReplacePosted,
    /// As `ReplacePosted`, with entries in both queues and some receives of any source.
    ReplaceBoth,
    /// All receives are posted, then cancelled.
    Cancel(Order),
}

/// A named sequence of operations, timed at several depths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Series {
    /// The benchmark; see README.md.
    pub(crate) kind: &'static str,
    /// The entries ahead of the target, or the order in which a queue is emptied.
    pub(crate) pattern: &'static str,
    /// Starts with pools whose objects were freed in random order. Such series are named `aged`.
    pub(crate) fragmented: bool,
    pub(crate) needs: Needs,
    pub(crate) work: Work,
}

const fn series(kind: &'static str, pattern: &'static str, needs: Needs, work: Work) -> Series {
    Series { kind, pattern, fragmented: false, needs, work }
}

const fn aged(kind: &'static str, pattern: &'static str, work: Work) -> Series {
    Series { kind, pattern, fragmented: true, needs: Needs::Mpi, work }
}

/// All series. Kinds and patterns have the names of `matchbench mpi bench` where it has the same.
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

    /// The series of this name.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|series| series.name() == name)
    }

    /// Whether the series exists at `depth`; most need at least one entry.
    pub(crate) fn has_depth(&self, depth: u32) -> bool {
        depth > 0 || matches!(self.work, Work::Preposted(_) | Work::Unexpected(_) | Work::Probe(_) | Work::Beside(_))
    }

    /// Whether every entry has a tag of its own and is found by it.
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

    /// The item that a time is given for.
    pub(crate) fn item(&self) -> &'static str {
        match self.work {
            Work::Probe(_) => "probe that finds nothing",
            Work::Cancel(_) => "post and cancel",
            _ => "post, match and complete",
        }
    }

    /// Items of one sequence.
    pub(crate) fn items(&self, depth: u32) -> f64 {
        match self.work {
            Work::Preposted(_) | Work::Unexpected(_) | Work::Probe(_) | Work::Beside(_) => 1.0,
            Work::Steady(_) | Work::DrainPosted(..) | Work::DrainUnexpected(..) | Work::Cancel(_) => f64::from(depth),
            Work::ReplacePosted | Work::ReplaceBoth => f64::from(crate::sequences::WINDOW),
        }
    }

    /// How many times as long a sequence takes at `deep` as at `shallow` with a linked list.
    pub(crate) fn growth(&self, shallow: u32, deep: u32) -> f64 {
        let ratio = f64::from(deep) / f64::from(shallow.max(1));
        ratio * self.items(deep) / self.items(shallow).max(1.0)
    }
}
