// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device beside the caches, as the kernel sees it: tables and cores of agents, page faults by
//! the external interrupt, and its port pages.

use std::ops::Range;

use mb_processor::functional::{Stop, SystemDevice};
use mb_processor::system::{Device, DeviceAnswer};

use mb_guest::kernel::Boot;

use crate::{Run, user};

const PORTS: u64 = 0x4000_0000;
const CONTROL: u64 = 0x5000_0000;
const CORES: u64 = 0x80000;

/// Records what the kernel writes, and reports page faults as soon as an agent has a table.
#[derive(Default)]
struct Recorder {
    roots: Vec<(u64, u64)>,
    cores: Vec<(u64, u64)>,
    flushed: Vec<(u64, u64)>,
    /// Faults for core 0: address, agent and write.
    faults: Vec<(u64, u64)>,
    done: Vec<u64>,
}

impl Device for Recorder {
    fn range(&self) -> Range<u64> {
        PORTS..CONTROL + 0x100_000
    }

    fn read(&mut self, _: u64, _: usize, _: u8, address: u64, width: u8) -> DeviceAnswer {
        assert_eq!(width, 8);
        let oldest = self.faults.first().copied().unwrap_or_default();
        DeviceAnswer::Value(match address - CONTROL {
            CORES => oldest.0,
            at if at == CORES + 8 => oldest.1,
            at => panic!("read of {at:#x}"),
        })
    }

    fn write(&mut self, _: u64, _: usize, _: u8, address: u64, _: u8, value: u64) -> DeviceAnswer {
        let at = address - CONTROL;
        let agent = at / 32;
        match at {
            at if at == CORES + 16 => {
                self.faults.remove(0);
                self.done.push(value);
            }
            at if at < CORES && at % 32 == 0 => {
                self.roots.push((agent, value));
                if value != 0 {
                    // The stack, written; an address without an area; the text, written; it may be read.
                    self.faults.extend([(0x3f_fff0_0000 - 8 - 0x10000, agent | 1 << 32), (0x1000, agent)]);
                    self.faults.extend([(0x11000, agent | 1 << 32), (0x11000, agent), (0x11000, 500)]);
                }
            }
            at if at < CORES && at % 32 == 8 => self.cores.push((agent, value)),
            at if at < CORES && at % 32 == 16 => self.flushed.push((agent, value)),
            at => panic!("write of {at:#x}"),
        }
        DeviceAnswer::Value(0)
    }
}

impl SystemDevice for Recorder {
    fn external(&self, hart: usize) -> bool {
        hart == 0 && !self.faults.is_empty()
    }
}

#[test]
fn page_faults_of_the_device_are_served_by_the_core() {
    let run = Run { boot: Boot { ports: PORTS, control: CONTROL, ..Run::on(2).boot }, ..Run::on(2) };
    let programs = [user(&["p", "count", "100"], 1, 1), user(&["p", "memory"], 2, 0)];
    let (outcome, device) = run.run_with(Recorder::default(), &programs);
    assert_eq!((outcome.stop, outcome.host.messages()), (Stop::Exited(0), String::new()));
    // One agent for each rank; each table is taken back at the end.
    let agents = |list: &[(u64, u64)]| list.iter().map(|&(agent, _)| agent).collect::<Vec<_>>();
    assert_eq!(agents(&device.roots[..3]), [0, 512, 513]);
    let mut ends: Vec<_> = device.roots[3..].to_vec();
    ends.sort_unstable();
    assert_eq!(ends, [(0, 0), (512, 0), (513, 0)]);
    assert_eq!(device.cores[..3], [(0, 1), (512, 0), (513, 1)]);
    // Written stack, nothing mapped, text is not writable, text is readable, no such agent.
    assert_eq!(device.done, [1, 0, 0, 1, 0].repeat(3));
    assert!(device.faults.is_empty());
    // Every page that was unmapped or protected.
    assert!(device.flushed.len() > 2 * 40 * 256, "{} flushes", device.flushed.len());
}
