// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The configuration of SPINE.

use mb_core::parameters::Choice;

use super::application::{APP_NONE, Application};

/// Who classifies packets (`NP_CLASSIFIER_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Classifier {
    /// The controller, in no time: the ideal hardware of crowley2000, section 4.2.
    Hardware,
    /// Code that the guest compiles from the filters.
    Dpf,
    /// A loop over the filters.
    Table,
}

/// Which thread calls a classifier of software (`NP_CLASSIFY_IN_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum ClassifyIn {
    /// The worker that takes the packet.
    Worker,
    /// The OS thread.
    Os,
}

/// How a hart waits (`NP_IDLE_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Idle {
    /// wrs.nto: it fetches nothing until another hart writes the line.
    Wait,
    /// A loop with pause.
    Spin,
}

/// Which harts receive packets (`NP_OS_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum OsThread {
    /// Hart 0, which does nothing else (with one hart it works too).
    Pinned,
    /// Every hart receives its own packets.
    Spread,
}

/// The configuration of SPINE: `struct np_config`, without the addresses that the machine assigns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpineConfig {
    /// Who classifies.
    pub classifier: Classifier,
    /// Where software classifies.
    pub classify_in: ClassifyIn,
    /// How workers wait, and how every hart waits for a lock.
    pub idle: Idle,
    /// How the OS thread waits for a packet.
    pub os_idle: Idle,
    /// Which harts receive.
    pub os: OsThread,
    /// Slots of the receive ring, a power of two from 2 to 4096.
    pub ring_slots: u32,
    /// Packet buffers, more than `ring_slots`.
    pub buffers: u32,
    /// Longest frame, 64 to 16000 bytes.
    pub buffer_bytes: u32,
    /// The application for packets that no filter matches; without one they are dropped.
    pub default_application: Option<Application>,
    /// Buckets of the flow table, a power of two.
    pub flow_buckets: u32,
    /// Most flows that the table holds.
    pub flows: u32,
    /// Three DES keys.
    pub des_keys: [u8; 24],
    /// The initialisation vector of each packet.
    pub des_iv: [u8; 8],
}

/// Where the machine has put what the configuration names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableAddresses {
    /// Address of the filters, and their number.
    pub filters: (u64, usize),
    /// Address of the routes of IPv4, and their number.
    pub routes4: (u64, usize),
    /// Address of the routes of IPv6, and their number.
    pub routes6: (u64, usize),
    /// Memory for tables and buffers.
    pub heap: (u64, u64),
}

impl SpineConfig {
    /// Length of `struct np_config`.
    pub const BYTES: usize = 136;
    const MAGIC: u32 = 0x0031_504e;

    /// As `struct np_config`, for `harts` harts.
    #[must_use]
    pub fn encode(&self, harts: u32, layout: &TableAddresses) -> [u8; Self::BYTES] {
        let application = self.default_application.map_or(u32::from(APP_NONE), |application| application as u32);
        let mut bytes = [0; Self::BYTES];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        let first = [
            Self::MAGIC,
            harts,
            self.classifier as u32,
            self.classify_in as u32,
            self.idle as u32,
            self.os_idle as u32,
            self.os as u32,
            self.ring_slots,
            self.buffers,
            self.buffer_bytes,
            application,
            layout.filters.1 as u32,
        ];
        for field in first {
            put(&field.to_le_bytes());
        }
        for field in [layout.filters.0, layout.routes4.0, layout.routes6.0] {
            put(&field.to_le_bytes());
        }
        let second = [layout.routes4.1 as u32, layout.routes6.1 as u32, self.flow_buckets, self.flows];
        for field in second {
            put(&field.to_le_bytes());
        }
        put(&self.des_keys);
        put(&self.des_iv);
        for field in [layout.heap.0, layout.heap.1] {
            put(&field.to_le_bytes());
        }
        bytes
    }
}
