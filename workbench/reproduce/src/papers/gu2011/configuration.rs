// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the paper states of its system and its device: inputs of the model, read back from its structures where they
//! are numbers. Nothing here has a verdict.

use mb_moped::MopedParameters;
use mb_moped::contract::ProcessAddress;
use mb_moped::parameters::WalkStart;
use mb_moped::storage::{self, FieldSource, Structure, Widths};
use mb_processor::directory::protocol::DeviceTransactions;

use super::model::Model;
use super::structure::{constant, transition_states};
use crate::claim_test::{ClaimTest, cannot, number, shown};
use crate::error::MeasureError;

const INPUT: &str = "an input of the model, which its structures give back";
const FEWER: &str = "about the protocol of another simulator; ours has fewer states";
const COPIES: &str = "what the transport `shm` of `moped/mpi` is written to do";
const DEVICE: &str = "what the device of `moped` is built to do; its tests compare each step with formulas";
const TABLE: &str = "what the table of `processor/docs/coherence.md` has; the model checker explores it";
const BACKOFF: &str = "what the preset `published_backoff` does, which breaks MPI's order; the default is corrected";
const SYSTEM: &str =
    "of the simulated system; the chip has 1 GiB, a kernel of its own and a RISC-V core in place of it";
const WORKLOAD: &str = "of the programs that were run; `moped/programs` has ours";

pub(super) const TESTS: &[ClaimTest<Model>] = &[
    shown("gu2011.base.chunk_kb", |_| number(constant("MB_PIECE")? as f64 / 1024.0), INPUT),
    shown(
        "gu2011.base.shared_kb",
        |_| number((constant("MB_PIECE")? * constant("MB_RING_PACKETS")?) as f64 / 1024.0),
        INPUT,
    ),
    shown("gu2011.base.chunks_in_flight", |_| number(constant("MB_RING_PACKETS")? as f64), INPUT),
    cannot("gu2011.base.copies", COPIES),
    cannot("gu2011.base.rendezvous", COPIES),
    cannot("gu2011.base.nonblocking", COPIES),
    cannot("gu2011.moped.copies", DEVICE),
    cannot("gu2011.moped.app_changes", DEVICE),
    shown("gu2011.moped.ports", |_| number((port(1) - port(0)) as f64), INPUT),
    shown("gu2011.moped.agents_per_page", |_| number((4096 / (port(1) - port(0))) as f64), INPUT),
    cannot("gu2011.moped.port_ids", DEVICE),
    cannot("gu2011.moped.desc_request", DEVICE),
    cannot("gu2011.moped.desc_fill", DEVICE),
    cannot("gu2011.moped.poll", DEVICE),
    cannot("gu2011.moped.poll_cache", DEVICE),
    cannot("gu2011.moped.desc_id_encoding", DEVICE),
    cannot("gu2011.moped.components", DEVICE),
    shown(
        "gu2011.moped.desc_status_bits",
        |model| number(bits_of(model, Structure::Descriptor, "status RVNMAC", Widths::PAPER)?),
        INPUT,
    ),
    cannot("gu2011.moped.desc_fields", DEVICE),
    cannot("gu2011.moped.active_fields", DEVICE),
    cannot("gu2011.moped.match_hash", DEVICE),
    cannot("gu2011.moped.match_rule", DEVICE),
    cannot("gu2011.moped.match_walk", DEVICE),
    cannot("gu2011.moped.match_forward", DEVICE),
    cannot("gu2011.moped.free_on_poll", DEVICE),
    shown("gu2011.moped.copy_units", |model| number(model.device.active as f64), INPUT),
    cannot("gu2011.moped.translate_prefetch", DEVICE),
    cannot("gu2011.moped.line_states", DEVICE),
    shown("gu2011.moped.line_addr_bits", |model| number(line_bits(model, "address", Widths::FIGURE_9)?), INPUT),
    shown("gu2011.moped.line_state_bits", |model| number(line_bits(model, "state", Widths::FIGURE_9)?), INPUT),
    cannot("gu2011.moped.line_first_bits", DEVICE),
    cannot("gu2011.moped.line_last_bits", DEVICE),
    cannot("gu2011.moped.line_mark_bits", DEVICE),
    cannot("gu2011.moped.line_leftcopy_bits", DEVICE),
    cannot("gu2011.moped.line_rightcopy_bits", DEVICE),
    shown("gu2011.moped.line_data_bits", |model| number(line_bits(model, "data", Widths::FIGURE_9)?), INPUT),
    cannot("gu2011.moped.line_reserve", DEVICE),
    cannot("gu2011.moped.line_revoke", DEVICE),
    cannot("gu2011.moped.realign", DEVICE),
    cannot("gu2011.moped.logically_l2", DEVICE),
    shown("gu2011.moped.copy_lines", |model| number((2 * model.device.lines) as f64), INPUT),
    shown("gu2011.moped.coh_rate", |model| number(model.memory.device_operations as f64), INPUT),
    cannot("gu2011.proto.base", TABLE),
    cannot("gu2011.basemoped.l2_events", TABLE),
    cannot("gu2011.basemoped.l2_trans_states", TABLE),
    cannot("gu2011.basemoped.dir_changes", TABLE),
    cannot("gu2011.basemoped.send_line_wb", TABLE),
    cannot("gu2011.opt.cache_transition", TABLE),
    cannot("gu2011.optcopy.semantics", TABLE),
    cannot("gu2011.optcache.semantics", TABLE),
    shown(
        "gu2011.optcopy.dir_states",
        |_| {
            number(
                (transition_states(DeviceTransactions::OptCopy) - transition_states(DeviceTransactions::Base)) as f64,
            )
        },
        INPUT,
    ),
    shown(
        "gu2011.optcache.dir_states",
        |_| {
            number(
                (transition_states(DeviceTransactions::OptCache) - transition_states(DeviceTransactions::Base)) as f64,
            )
        },
        INPUT,
    ),
    shown("gu2011.proto.base_states", |_| number(transition_states(DeviceTransactions::Base) as f64), FEWER),
    cannot("gu2011.opt.no_stable_states", TABLE),
    cannot("gu2011.proto.migratory", TABLE),
    cannot("gu2011.opt.serialization", TABLE),
    shown("gu2011.moped.walk_buffer", |model| number((model.device.walk_lines * 64) as f64), INPUT),
    cannot("gu2011.moped.translate_early", DEVICE),
    cannot("gu2011.moped.protection", DEVICE),
    cannot("gu2011.moped.cycle_mark", DEVICE),
    cannot("gu2011.moped.line_free", DEVICE),
    cannot("gu2011.moped.blocking_poll", DEVICE),
    cannot("gu2011.wl.sim_modes", WORKLOAD),
    cannot("gu2011.backoff.rule", BACKOFF),
    cannot("gu2011.backoff.barrier", BACKOFF),
    shown("gu2011.hw.desc_bytes", |model| number(bytes_of(model, Structure::Descriptor)), INPUT),
    shown("gu2011.hw.desc_entries", |model| number(model.device.descriptors as f64), INPUT),
    shown("gu2011.hw.active_entries", |model| number(model.device.active as f64), INPUT),
    shown("gu2011.hw.active_bytes", |model| number(bytes_of(model, Structure::Active)), INPUT),
    shown("gu2011.hw.line_bytes", |model| number(bytes_of(model, Structure::Line)), INPUT),
    cannot("gu2011.t1.system", SYSTEM),
    cannot("gu2011.t1.os", SYSTEM),
    cannot("gu2011.t1.sw", SYSTEM),
    shown("gu2011.t1.cores", |model| number(model.memory.nodes as f64), INPUT),
    shown("gu2011.t1.core_clock", |model| number((500 * model.memory.switch.period) as f64), INPUT),
    shown("gu2011.t1.l1_kb", |model| number((model.memory.l1.bytes >> 10) as f64), INPUT),
    shown("gu2011.t1.l1_ways", |model| number(model.memory.l1.ways as f64), INPUT),
    cannot("gu2011.t1.line", SYSTEM),
    shown("gu2011.t1.l1_lat", |model| number(model.memory.l1.hit as f64), INPUT),
    shown("gu2011.t1.l2_kb", |model| number((model.memory.l2.bytes >> 10) as f64), INPUT),
    shown("gu2011.t1.l2_ways", |model| number(model.memory.l2.ways as f64), INPUT),
    shown("gu2011.t1.l2_lat", |model| number(model.memory.l2.hit as f64), INPUT),
    cannot("gu2011.t1.mem_mb", SYSTEM),
    shown("gu2011.t1.mem_lat", |model| number(model.memory.memory as f64), INPUT),
    shown("gu2011.t1.net_clock", |model| number(1000.0 / model.memory.switch.period as f64), INPUT),
    cannot("gu2011.t1.core_type", SYSTEM),
    cannot("gu2011.t1.l2_exclusive", SYSTEM),
    cannot("gu2011.t1.topology", SYSTEM),
    cannot("gu2011.t1.protocol", SYSTEM),
    shown("gu2011.t1.moped_coh", |model| number(model.device.operations as f64), INPUT),
    shown("gu2011.t1.moped_lines", |model| number(model.device.lines as f64), INPUT),
    cannot("gu2011.wl.npb", WORKLOAD),
    cannot("gu2011.wl.imb", WORKLOAD),
    cannot("gu2011.wl.imb_size", WORKLOAD),
    cannot("gu2011.wl.imb_iters", WORKLOAD),
    cannot("gu2011.wl.big_size", WORKLOAD),
    cannot("gu2011.wl.pinned", WORKLOAD),
    cannot("gu2011.wl.modified_calls", WORKLOAD),
];

/// Where the ports of a process begin.
const fn port(rank: u16) -> u64 {
    ProcessAddress { program: 0, rank }.port()
}

/// Bits of a field.
fn bits_of(model: &Model, structure: Structure, name: &'static str, widths: Widths) -> Result<f64, MeasureError> {
    let fields = storage::fields(&model.device, widths);
    let field = fields.iter().find(|field| field.structure == structure && field.name == name);
    field.map(|field| field.bits as f64).ok_or(MeasureError::NotSeen(name))
}

fn line_bits(model: &Model, name: &'static str, widths: Widths) -> Result<f64, MeasureError> {
    bits_of(model, Structure::Line, name, widths)
}

/// Bytes of one of a structure, as the paper counts them: without early translations, addresses of 48 bits.
fn bytes_of(model: &Model, structure: Structure) -> f64 {
    let device = MopedParameters { walk_start: WalkStart::Active, ..model.device.clone() };
    storage::bytes(&storage::fields(&device, Widths::PAPER), structure, &[FieldSource::Paper]) as f64
}
