// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The neighbours of each rank in the communicators that have a topology (`spec/trace.md`, T-22).

use std::collections::BTreeMap;

use mb_core::mpi::PROC_NULL;

/// How a topology was made: the `aux` of its record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TopologyForm {
    /// `MPI_Cart_create`, `MPI_Cart_sub`.
    Cartesian = 1,
    /// `MPI_Graph_create`.
    Graph = 2,
    /// `MPI_Dist_graph_create`, `MPI_Dist_graph_create_adjacent`.
    DistributedGraph = 3,
}

impl TopologyForm {
    /// The form numbered `aux`.
    #[must_use]
    pub const fn from_aux(aux: u64) -> Option<Self> {
        match aux {
            1 => Some(Self::Cartesian),
            2 => Some(Self::Graph),
            3 => Some(Self::DistributedGraph),
            _ => None,
        }
    }
}

/// The neighbours of a rank, in the order in which neighbourhood collectives use them. A rank can occur
/// several times; `None` is `MPI_PROC_NULL`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NeighbourLists {
    /// How the topology was made.
    pub form: TopologyForm,
    /// Ranks of the communicator that it receives from.
    pub sources: Box<[Option<u32>]>,
    /// Those that it sends to.
    pub destinations: Box<[Option<u32>]>,
}

/// Neighbours by rank and local number of the communicator.
pub(crate) type Topologies = BTreeMap<(u32, u32), NeighbourLists>;

impl NeighbourLists {
    /// From the words of a Topology record, of which the first `sources` are sources.
    pub(crate) fn from_words(form: TopologyForm, words: &[u64], sources: usize) -> Self {
        let rank = |&word: &u64| (word != u64::from(PROC_NULL as u32)).then_some(word as u32);
        let (from, to) = words.split_at(sources);
        Self { form, sources: from.iter().map(rank).collect(), destinations: to.iter().map(rank).collect() }
    }
}
