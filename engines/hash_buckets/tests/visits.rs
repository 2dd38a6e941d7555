// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The elements that `hash_buckets` reads, against plain lists in order of age from which each
//! search picks what its lists hold.

use std::collections::BTreeSet;

use mb_core::engine::Placement;
use mb_core::parameters::Choice;
use mb_core::{Clock, Cycles, Engine, Envelope, Op, Outcome, Pattern, Shortcuts};
use mb_hash_buckets::{BucketKey, HashBuckets, HashBucketsParameters, Links, WildcardSearch};
use mb_kit::Server;
use mb_testkit::drive::Offer;
use mb_testkit::{checked, streams};

/// A list of a queue, in the order in which a search without a key visits them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum List {
    Bucket(u64),
    Peer(u64, u32),
    AnyOf(u64),
    Rest,
}

#[derive(Clone, Copy, Debug)]
struct Structure {
    key: BucketKey,
    buckets: u64,
    has_chain: bool,
}

impl Structure {
    fn list(self, pattern: &Pattern) -> List {
        let context = (pattern.ignore >> 33 == 0).then_some(pattern.bits >> 33);
        let source = pattern.initiator.map(|initiator| initiator.0);
        match (self.key, context, source) {
            (BucketKey::Source, _, Some(source)) => List::Bucket(u64::from(source) % self.buckets),
            (BucketKey::Peer, Some(context), Some(source)) => List::Peer(context, source),
            (BucketKey::Peer, Some(context), None) => List::AnyOf(context),
            (BucketKey::Envelope, Some(context), Some(source)) if pattern.ignore == 0 => {
                // Streams have tags below 4, four sources and a few contexts: all fields fit.
                let word = (pattern.bits & 0xffff) << 40 | u64::from(source) << 20 | context;
                List::Bucket((word % (1 << 32) % self.buckets) ^ ((word >> 32) % self.buckets))
            }
            _ => List::Rest,
        }
    }

    /// Elements read by the search of an arrival: in each of its lists those older than the match, and the next one.
    fn arrival(self, posted: &[(u64, Pattern)], envelope: &Envelope) -> usize {
        let lists = [self.list(&Pattern::exactly(*envelope)), List::AnyOf(envelope.bits >> 33), List::Rest];
        let found = posted.iter().position(|(_, pattern)| pattern.accepts(envelope)).unwrap_or(posted.len());
        let reads = lists.map(|list| {
            let in_list = |entries: &[(u64, Pattern)]| entries.iter().filter(|(_, p)| self.list(p) == list).count();
            in_list(&posted[..found]) + usize::from(in_list(&posted[found..]) > 0)
        });
        reads.iter().sum()
    }

    /// Elements read by the search for an unexpected message.
    fn search(self, messages: &[(u64, Envelope)], pattern: &Pattern) -> usize {
        let lists: BTreeSet<Option<List>> = match self.list(pattern) {
            list @ (List::Bucket(_) | List::Peer(..)) => [Some(list)].into(),
            _ if self.has_chain => [None].into(),
            List::AnyOf(context) => (0..8).map(|source| Some(List::Peer(context, source))).collect(),
            // Without a communicator, the lists of peers follow each other as they were made.
            List::Rest if self.key == BucketKey::Peer => return usize::MAX,
            List::Rest => (0..=self.buckets.next_power_of_two()).map(|bucket| Some(List::Bucket(bucket))).collect(),
        };
        let (mut reads, mut best) = (0, usize::MAX);
        for list in lists {
            let in_list = messages
                .iter()
                .enumerate()
                .filter(|(_, (_, envelope))| list.is_none_or(|list| self.list(&Pattern::exactly(*envelope)) == list));
            for (age, (_, envelope)) in in_list {
                reads += 1;
                if age > best || pattern.accepts(envelope) {
                    best = best.min(age);
                    break;
                }
            }
        }
        reads
    }

    fn engine(self) -> Server<HashBuckets> {
        Server::new(HashBuckets::new(checked(&HashBucketsParameters {
            clock: Clock::from_mhz(1000),
            key: self.key,
            buckets: self.buckets,
            wildcard_search: if self.has_chain { WildcardSearch::Chain } else { WildcardSearch::AllLists },
            links: Links::Single,
            operation: Cycles(1),
            list: Cycles(1),
            element: Cycles(1),
            insert: Cycles(1),
            remove: Cycles(1),
            capacity: 9,
            spill: Cycles(1),
            commands: 1_000_000,
            placement: Placement::Host,
        })))
    }

    fn check(self, offers: &[Offer]) -> Result<(), String> {
        let mut engine = self.engine();
        let (mut posted, mut messages) = (Vec::new(), Vec::new());
        let mut done = Vec::new();
        for (index, Offer { at, op }) in offers.iter().enumerate() {
            let expected = match op {
                Op::Arrive { envelope, .. } => self.arrival(&posted, envelope),
                Op::Post { pattern, .. } | Op::Probe { pattern, .. } | Op::MatchedProbe { pattern, .. } => {
                    self.search(&messages, pattern)
                }
                Op::Cancel { recv } => posted.iter().position(|(name, _)| *name == recv.0).map_or(0, |place| {
                    let list = self.list(&posted[place].1);
                    posted[..=place].iter().filter(|(_, pattern)| self.list(pattern) == list).count()
                }),
            };
            engine.offer(*at, *op);
            engine.settle(&mut done);
            let completion = done.pop().ok_or("no answer")?;
            if expected != usize::MAX && completion.visits as usize != expected {
                return Err(format!("operation {}: {} elements, not {expected}", index + 1, completion.visits));
            }
            match (completion.outcome, op) {
                (Outcome::Posted(recv), Op::Post { pattern, .. }) => posted.push((recv.0, *pattern)),
                (Outcome::Unexpected(msg), Op::Arrive { envelope, .. }) => messages.push((msg.0, *envelope)),
                (Outcome::Matched(recv, _), Op::Arrive { .. }) | (Outcome::Cancelled(recv), _) => {
                    posted.retain(|(name, _)| *name != recv.0);
                }
                (Outcome::Matched(_, msg), _) | (Outcome::Probed(_, Some(msg)), Op::MatchedProbe { .. }) => {
                    messages.retain(|(name, _)| *name != msg.0);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[test]
fn every_search_reads_its_lists_as_far_as_it_must() {
    for &key in BucketKey::ALL {
        for has_chain in [false, true] {
            for buckets in [1, 3, 64] {
                let structure = Structure { key, buckets, has_chain };
                assert_eq!(streams::check(200, |offers| structure.check(offers)), Ok(()), "{structure:?}");
            }
        }
    }
}
