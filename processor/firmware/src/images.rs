// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The committed ELF files of `processor/firmware/elf`.

use mb_processor::{Isa, Program};

macro_rules! guests {
    ($($guest:ident $name:literal: $what:literal,)*) => {
        /// A program of `processor/firmware/`.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Guest {
            $(#[doc = $what] $guest,)*
        }

        impl Guest {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$guest,)*];

            /// The name of its files, without instruction set and suffix.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$guest => $name,)* }
            }

            /// The bytes of its ELF file.
            #[must_use]
            pub const fn file(self, isa: Isa) -> &'static [u8] {
                match (self, isa) {
                    $((Self::$guest, Isa::Ppc32) =>
                        include_bytes!(concat!("../elf/", $name, ".ppc32.elf")),
                    (Self::$guest, Isa::Rv64) =>
                        include_bytes!(concat!("../elf/", $name, ".rv64.elf")),)*
                }
            }
        }
    };
}

guests! {
    Bench "bench": "The benchmark of hemmert2007 figure 5.",
    BenchLinkLast "bench_link_last": "The same, with the link in an item's last words.",
    BenchMt "bench_mt": "The benchmark with a thread for each header and hardware locks.",
    BenchMtSpin "bench_mt_spin": "The benchmark with a thread for each header and spin locks.",
    Cases "cases": "The match function on lists that the host writes, for tests.",
    Md5 "md5": "The test suite of RFC 1321.",
    Queue "queue": "The firmware of a receive engine, for MPI envelopes.",
    QueueMt "queue_mt": "`queue` with a thread for each operation and hardware locks.",
    QueueMtSpin "queue_mt_spin": "`queue` with a thread for each operation and spin locks.",
    QueuePortals "queue_portals": "`queue` with the match function of Hemmert et al. for arrivals.",
    QueuePortalsMt "queue_portals_mt": "`queue_portals` with a thread for each operation and hardware locks.",
    QueuePortalsMtSpin "queue_portals_mt_spin": "`queue_portals` with a thread for each operation and spin locks.",
    Stream "stream": "A fixed stream of operations, and the checksum of their answers.",
}

impl Guest {
    /// The program for one instruction set.
    ///
    /// # Panics
    /// When the committed file is damaged, which the tests exclude.
    #[must_use]
    pub fn program(self, isa: Isa) -> Program {
        Program::load(self.file(isa)).expect("a committed program")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_committed_file_is_a_program_of_its_instruction_set() {
        for guest in Guest::ALL {
            for isa in [Isa::Ppc32, Isa::Rv64] {
                assert_eq!(guest.program(isa).isa(), isa, "{}", guest.name());
            }
        }
    }
}
