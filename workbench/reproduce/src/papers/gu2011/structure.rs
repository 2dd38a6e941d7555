// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Claims that need no program: storage and states counted in the structures, and one message without processors.

use mb_moped::storage::{self, Widths};
use mb_processor::directory::protocol::{CacheState, DeviceTransactions, DirectoryEvent, DirectoryState, Protocol};

use super::directed::{self, MessageTransfer};
use super::model::Model;
use super::reasons;
use super::runs::Transport;
use crate::claim_test::{ClaimTest, Interpretation, differs, fact, measure, number};
use crate::error::MeasureError;
use crate::ledger::{self, ClaimedValue, LEDGER, LEDGER_NAME};
use crate::verdict::Measured;

pub(super) const TESTS: &[ClaimTest<Model>] = &[
    measure("gu2011.base.evicted", |model| {
        let buffer = constant("MB_PIECE")? * constant("MB_RING_PACKETS")?;
        let cache = model.memory.l1.bytes;
        let shown = format!(
            "{} KB go through the buffer between two uses of a piece; the L1 has {} KB",
            buffer >> 10,
            cache >> 10
        );
        fact(buffer > cache, shown)
    }),
    measure("gu2011.optcache.extra_bit", |_| {
        let printed = printed("gu2011.proto.base_states")? as usize;
        let [base, copy, cache] = [DeviceTransactions::Base, DeviceTransactions::OptCopy, DeviceTransactions::OptCache]
            .map(transition_states);
        let bits = |states: usize| states.next_power_of_two().trailing_zeros();
        let more = |first: usize, second: usize| f64::from(bits(second)) - f64::from(bits(first));
        Ok(vec![
            Interpretation::new(
                "12 states of the paper's protocol, and those that ours adds",
                Measured::Number(more(printed + copy - base, printed + cache - base)),
            ),
            Interpretation::new("our protocol, which has fewer", Measured::Number(more(copy, cache))),
        ])
    }),
    measure("gu2011.hw.total_bytes", |model| {
        let of = |widths| storage::published_bytes(&model.device, widths) as f64;
        Ok(vec![
            Interpretation::new("addresses of 48 bits", Measured::Number(of(Widths::PAPER))),
            Interpretation::new("addresses of figure 9, 64 bits", Measured::Number(of(Widths::FIGURE_9))),
        ])
    }),
    differs(
        "gu2011.hw.chip_bytes",
        |model| {
            let of = |widths| (model.device.nodes as u64 * storage::published_bytes(&model.device, widths)) as f64;
            Ok(vec![
                Interpretation::new("addresses of 48 bits", Measured::Number(of(Widths::PAPER))),
                Interpretation::new("addresses of figure 9, 64 bits", Measured::Number(of(Widths::FIGURE_9))),
            ])
        },
        reasons::CHIP_BYTES,
    ),
    measure("gu2011.opt.dirty_state", |model| {
        let (mut so, mut shown) = (true, Vec::new());
        for design in [Transport::OptCopy, Transport::OptCache] {
            let MessageTransfer { send_lines, receive_lines, .. } = directed::transfer(model, design)?;
            so &= send_lines.iter().all(|state| matches!(state, CacheState::M | CacheState::O));
            so &= receive_lines.iter().all(|state| *state == CacheState::M);
            shown.push(format!(
                "{}: send lines {}, receive lines {}",
                design.name(),
                states(&send_lines),
                states(&receive_lines)
            ));
        }
        fact(so, shown.join("; "))
    }),
    measure("gu2011.moped.overlap", |model| number(directed::transfer(model, Transport::OptCopy)?.accesses as f64)),
    measure("gu2011.moped.lines_per_msg", |model| {
        let MessageTransfer { copies, rights, .. } = directed::transfer(model, Transport::Base)?;
        Ok(vec![
            Interpretation::new("send lines", Measured::Number(copies as f64)),
            Interpretation::new("receive lines", Measured::Number(rights as f64)),
        ])
    }),
    measure("gu2011.moped.coh_bound", |model| {
        let [base, copy, cache] = Transport::DESIGNS.map(|design| directed::transfer(model, design));
        let fastest = base?.cycles.min(copy?.cycles).min(cache?.cycles);
        number(fastest as f64)
    }),
];

/// A constant of the MPI library's shared buffers.
pub(super) fn constant(name: &'static str) -> Result<u64, MeasureError> {
    const RING: &str = include_str!("../../../../../moped/mpi/ring.h");
    let found =
        RING.split([',', '{', '}', ';']).find_map(|part| part.trim().strip_prefix(name)?.trim().strip_prefix('='));
    found.and_then(|text| text.trim().parse().ok()).ok_or(MeasureError::NotSeen(name))
}

/// The number that the paper prints for another claim.
fn printed(id: &'static str) -> Result<f64, MeasureError> {
    let claims = ledger::read(LEDGER_NAME, LEDGER).map_err(|_| MeasureError::NotSeen("the ledger"))?;
    match claims.iter().find(|claim| claim.id == id).map(|claim| &claim.value) {
        Some(ClaimedValue::Number(number, _)) => Ok(*number),
        _ => Err(MeasureError::NotSeen(id)),
    }
}

/// States of a directory in which a request is under way, as far as a design has transitions into them.
pub(super) fn transition_states(design: DeviceTransactions) -> usize {
    let protocol = Protocol::new(design, true);
    let stable = [DirectoryState::I, DirectoryState::S, DirectoryState::O, DirectoryState::M];
    let entered = |state: DirectoryState| {
        let mut pairs =
            DirectoryState::ALL.iter().flat_map(|from| DirectoryEvent::ALL.iter().map(move |event| (from, event)));
        pairs.any(|(&from, &event)| {
            from != state && protocol.directory(from, event, 0).is_ok_and(|transition| transition.next == state)
        })
    };
    DirectoryState::ALL.iter().filter(|state| !stable.contains(state) && entered(**state)).count()
}

/// The states of lines, each with how many there are.
fn states(lines: &[CacheState]) -> String {
    let of = |state: &CacheState| lines.iter().filter(|line| *line == state).count();
    let known: Vec<_> = CacheState::ALL
        .iter()
        .map(|state| (state.name(), of(state)))
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    known.join(" ")
}
