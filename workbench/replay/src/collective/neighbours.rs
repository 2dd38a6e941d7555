// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Neighbourhood collectives: every rank receives from its sources and sends to its destinations, all
//! at once, as MPICH 4 (`ineighbor_*_linear`) and Open MPI 4 (`coll/basic`) do.

use mb_trace::{CollectiveOp, NeighbourLists, TopologyForm};

use super::call::RoundMessage;

/// Sizes in the record of a neighbourhood collective: `bytes`, `aux`, and the counts of the vector
/// forms or nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeighbourSizes<'a> {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) counts: &'a [u64],
}

/// Appends the messages of a rank: receives before sends, in one round. `MPI_PROC_NULL` takes no
/// part.
///
/// A rank that is a neighbour several times sends its messages in the order of its destinations, and
/// they are received in the order of posting. In a Cartesian topology a block sent down a dimension
/// is received from above (MPI 4.1, 8.6), which are the same rank if the dimension is periodic and
/// has one or two ranks: of each dimension, the receive from above is posted first.
pub(crate) fn plan_neighbours(
    op: CollectiveOp,
    neighbours: &NeighbourLists,
    sizes: NeighbourSizes,
    steps: &mut Vec<RoundMessage>,
) {
    let to_each = if op == CollectiveOp::NeighborAlltoall { neighbours.destinations.len() } else { 0 };
    let (sent, received) = sizes.counts.split_at(to_each.min(sizes.counts.len()));
    let below_and_above = neighbours.form == TopologyForm::Cartesian;
    for place in 0..neighbours.sources.len() {
        let at = if below_and_above { (place ^ 1).min(neighbours.sources.len() - 1) } else { place };
        if let Some(peer) = neighbours.sources[at] {
            let room = received.get(at).copied().unwrap_or(sizes.received);
            steps.push(RoundMessage { peer, room, ..RoundMessage::WITHIN });
        }
    }
    for (at, destination) in neighbours.destinations.iter().enumerate() {
        if let Some(peer) = *destination {
            let sends = Some(sent.get(at).copied().unwrap_or(sizes.sent));
            steps.push(RoundMessage { peer, sends, ..RoundMessage::WITHIN });
        }
    }
}
