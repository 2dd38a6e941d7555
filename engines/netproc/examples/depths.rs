// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Times of arrivals by preset, for the model card: alone at four depths of 100 posted receives, and the interval
//! between answers of 60 that are offered together.
#![allow(clippy::print_stdout, reason = "this is a program")]

use mb_core::{Accepted, Completion, Engine, Envelope, Initiator, MsgId, Op, Pattern, Picos, RecvId, Shortcuts};
use mb_netproc_engine::{ENTRY, Netproc};
use mb_testkit::preset;

const LENGTH: u64 = 100;
const TOGETHER: usize = 60;

/// An engine and the receives in its list.
struct DepthRun {
    engine: Netproc,
    now: Picos,
    list: Vec<u64>,
}

impl DepthRun {
    fn perform(&mut self, ops: &[Op]) -> Vec<Completion> {
        self.now += Picos(100_000_000);
        for &op in ops {
            assert_eq!(self.engine.offer(self.now, op), Accepted::Yes);
        }
        let mut done = Vec::new();
        while done.len() < ops.len() {
            self.engine.run_to_completion(Picos::MAX, &mut done);
        }
        done
    }

    /// The message of the receive at `place` arrives.
    fn take(&mut self, place: usize) -> Op {
        let number = self.list.remove(place);
        Op::Arrive { msg: MsgId(number), envelope: Envelope { bits: number, initiator: Initiator(1) } }
    }

    /// Posts what was taken again, one receive after the other.
    fn fill(&mut self) {
        for number in (0..LENGTH).filter(|number| !self.list.contains(number)).collect::<Vec<_>>() {
            let pattern = Pattern::exactly(Envelope { bits: number, initiator: Initiator(1) });
            self.perform(&[Op::Post { recv: RecvId(number), pattern }]);
            self.list.push(number);
        }
    }
}

fn main() {
    for preset_name in ENTRY.presets.iter().map(|preset| preset.name) {
        let engine = Netproc::new(&preset(&ENTRY, preset_name)).expect("a preset");
        let mut run = DepthRun { engine, now: Picos::ZERO, list: Vec::new() };
        run.fill();
        let mut row = Vec::new();
        // The first rounds bring code and entries into the caches.
        for _ in 0..4 {
            row.clear();
            for depth in [1, 10, 30, 100] {
                let op = run.take(depth - 1);
                let done = run.perform(&[op]);
                row.push((done[0].at - run.now).0 / 1000);
                run.fill();
            }
        }
        for last in [false, true] {
            let mut interval = 0;
            for _ in 0..2 {
                let ops: Vec<_> = (0..TOGETHER).map(|_| run.take(if last { run.list.len() - 1 } else { 0 })).collect();
                let done = run.perform(&ops);
                interval = (done[50].at - done[10].at).0 / 40_000;
                run.fill();
            }
            row.push(interval);
        }
        let cells: Vec<_> = row.iter().map(u64::to_string).collect();
        println!("| `{preset_name}` | {} |", cells.join(" | "));
    }
}
