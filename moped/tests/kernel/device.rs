// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device beside the caches, as the kernel sees it (`moped/mpi/moped.h`): page faults by the external interrupt,
//! pages taken away from it, processes that move and end. `moped` tests the kernel with the real device.

use std::ops::Range;

use mb_processor::functional::{HartStop, SystemDevice};
use mb_processor::system::{Device, DeviceAnswer};

use mb_moped::kernel::Boot;

use crate::{KernelRun, user};

const PORTS: u64 = 0x4000_0000;
const CONTROL: u64 = 0x5000_0000;
const FAULT: u64 = 0;
const FAULT_OWNER: u64 = 8;
const RESOLVE: u64 = 16;
const INVALIDATE: u64 = 24;
const IN_FLIGHT: u64 = 32;
const RECEIVE: u64 = 2;

/// Records what the kernel does, and reports page faults to core 0 at the first access of a process.
#[derive(Default)]
struct Recorder {
    tables: Vec<(usize, u64)>,
    /// Faults for core 0: address and bits, and owner.
    faults: Vec<(u64, u64)>,
    resolved: Vec<u64>,
    invalidated: Vec<(usize, u64)>,
    /// How often each core still has to ask until its invalidation is complete.
    busy: [u64; 2],
    asked_in_flight: [u64; 2],
    /// Polls in the name of a process: port and descriptor.
    polls: Vec<(u64, u64)>,
}

impl Device for Recorder {
    fn range(&self) -> Range<u64> {
        PORTS..CONTROL + 0x1000
    }

    fn read(&mut self, _: u64, core: usize, _: u8, address: u64, width: u8) -> DeviceAnswer {
        if address < CONTROL {
            // No descriptor: the state of every one is 0.
            assert_eq!((address % 8, width), (4, 4));
            return DeviceAnswer::Value(0);
        }
        assert_eq!(width, 8);
        let oldest = if core == 0 { self.faults.first().copied().unwrap_or_default() } else { (0, 0) };
        DeviceAnswer::Value(match address - CONTROL {
            FAULT => oldest.0,
            FAULT_OWNER => oldest.1,
            INVALIDATE => {
                let left = self.busy[core];
                self.busy[core] = left.saturating_sub(1);
                left
            }
            // Every second answer is that a descriptor is on its way.
            IN_FLIGHT => {
                self.asked_in_flight[core] += 1;
                self.asked_in_flight[core] % 2
            }
            at => panic!("read of {at:#x}"),
        })
    }

    fn write(&mut self, _: u64, core: usize, _: u8, address: u64, width: u8, value: u64) -> DeviceAnswer {
        if address < CONTROL {
            let offset = address - PORTS;
            if offset.is_multiple_of(8) {
                let owner = ((offset / 4096) << 16) + offset % 4096 / 8;
                // The stack, written; an address without an area; the text, written, and read; no such process.
                let page = 0x3f_fff0_0000 - 0x11000;
                let faults = [(page | RECEIVE, owner), (0x1000, owner), (0x11000 | RECEIVE, owner), (0x11000, owner)];
                self.faults.extend(faults.map(|(address, owner)| (address | 1, owner)));
                self.faults.push((0x11001, 500));
            } else {
                assert_eq!(width, 4);
                self.polls.push((address, value & 0xffff));
            }
            return DeviceAnswer::Value(0);
        }
        match address - CONTROL {
            RESOLVE => {
                assert_eq!(core, 0);
                self.faults.remove(0);
                self.resolved.push(value);
            }
            INVALIDATE => {
                assert_eq!(self.busy[core], 0, "an invalidation before the last one was complete");
                self.busy[core] = 2;
                self.invalidated.push((core, value));
            }
            at => panic!("write of {at:#x}"),
        }
        DeviceAnswer::Value(0)
    }
}

impl SystemDevice for Recorder {
    fn external(&self, hart: usize) -> bool {
        hart == 0 && !self.faults.is_empty()
    }

    fn page_table(&mut self, hart: usize, root: u64) {
        self.tables.push((hart, root));
    }
}

#[test]
fn the_device_is_served_and_told_what_changes() {
    let run = KernelRun { boot: Boot { ports: PORTS, control: CONTROL, ..KernelRun::on(2).boot }, ..KernelRun::on(2) };
    let programs = [user(&["p", "count", "100"], 1, 1), user(&["p", "with_device", "2"], 2, 0)];
    let (outcome, device) = run.run_with(Recorder::default(), &programs);
    assert_eq!((outcome.stop, outcome.host.messages()), (HartStop::Exited(0), String::new()));
    // Stack, nothing mapped, text is not writable, text is readable, no such process.
    assert_eq!(device.resolved, [0, 1, 1, 0, 1].repeat(2));
    assert!(device.faults.is_empty());
    // Every page that was unmapped or protected, and each is awaited.
    assert!(device.invalidated.len() > 2 * 40 * 256, "{} invalidations", device.invalidated.len());
    // Rank 0 left core 0 three times and core 1 twice, rank 1 each three times; the kernel asks until nothing is on
    // its way.
    assert_eq!(device.asked_in_flight, [2 * (3 + 3), 2 * (2 + 3)]);
    // At the end of a process its descriptors of both cores are looked for, in its name.
    for rank in 0..2 {
        let port = PORTS + 4096 + 8 * rank + 4;
        let polled: Vec<_> = device.polls.iter().filter(|poll| poll.0 == port).map(|poll| poll.1).collect();
        assert_eq!(polled, (0..512).collect::<Vec<_>>());
    }
    assert_eq!(device.polls.len(), 2 * 512);
    // A process that never asked for ports costs nothing.
    assert!(device.tables.iter().any(|&(hart, root)| hart == 1 && root != 0));
}
