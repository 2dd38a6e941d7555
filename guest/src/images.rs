// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The committed ELF files of `guest/elf`.

use mb_processor::{Machine, Program};

macro_rules! guests {
    ($($guest:ident $name:literal: $what:literal,)*) => {
        /// A program of `guest/`.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Guest {
            $(#[doc = $what] $guest,)*
        }

        impl Guest {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$guest,)*];

            /// The name of its files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$guest => $name,)* }
            }

            /// The bytes of its ELF file.
            #[must_use]
            pub const fn file(self, machine: Machine) -> &'static [u8] {
                match (self, machine) {
                    $((Self::$guest, Machine::Ppc32) =>
                        include_bytes!(concat!("../elf/", $name, ".ppc32.elf")),
                    (Self::$guest, Machine::Rv64) =>
                        include_bytes!(concat!("../elf/", $name, ".rv64.elf")),)*
                }
            }
        }
    };
}

guests! {
    Bench "bench": "The benchmark of hemmert2007 figure 5.",
    BenchLinkLast "bench_link_last": "The same, with the link in an item's last words.",
    BenchMt "bench_mt": "A thread for each header, locks by calls.",
    BenchMtSpin "bench_mt_spin": "A thread for each header, locks that threads spin on.",
    Cases "cases": "The match function on lists that the host lays out.",
    Md5 "md5": "The test suite of RFC 1321.",
    Queue "queue": "A receive engine's firmware: MPI envelopes.",
    QueueMt "queue_mt": "A thread for each operation, locks by calls.",
    QueueMtSpin "queue_mt_spin": "A thread for each operation, locks that threads spin on.",
    QueuePortals "queue_portals": "A receive engine's firmware, with Hemmert et al.'s match function for arrivals.",
    QueuePortalsMt "queue_portals_mt": "A thread for each operation, locks by calls.",
    QueuePortalsMtSpin "queue_portals_mt_spin": "A thread for each operation, locks that threads spin on.",
    Stream "stream": "A fixed stream of operations, and the checksum of their answers.",
}

impl Guest {
    /// The program for one machine.
    ///
    /// # Panics
    /// When the committed file is damaged, which the tests exclude.
    #[must_use]
    pub fn program(self, machine: Machine) -> Program {
        Program::load(self.file(machine)).expect("the committed files are programs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_committed_file_is_a_program_of_its_machine() {
        for guest in Guest::ALL {
            for machine in [Machine::Ppc32, Machine::Rv64] {
                assert_eq!(guest.program(machine).machine(), machine, "{}", guest.name());
            }
        }
    }
}
