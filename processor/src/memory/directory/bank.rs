// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The banks of the directory, which serve messages, and the ports of the memory behind them.

use super::protocol::{DirectoryAction, Impossible, Outgoing, ProtocolMessage, directory_event, step_directory};
use super::{CoherentMemory, Event, Flight};
use crate::memory::system::Device;

impl<D: Device> CoherentMemory<D> {
    /// A message arrives in a bank.
    pub(super) fn reach_bank(&mut self, number: u32) {
        let bank = usize::from(self.flights.get(number).to);
        let start = self.now.max(self.home.banks[bank]);
        self.home.banks[bank] = start + self.config.directory_interval;
        self.calendar.push(start + self.config.directory, Event::Serve(number));
    }

    /// A bank serves a message, and then those that waited for the line.
    pub(super) fn serve_home(&mut self, number: u32) -> Result<(), Impossible> {
        let Flight { line, to, .. } = *self.flights.get(number);
        if !self.serve_one(number)? {
            self.statistics.stalled += 1;
            self.home.stalled[usize::from(to)].push((line, number));
            return Ok(());
        }
        while self.home.entries[(line - self.home.first) as usize].state.is_stable() {
            let waiting = &mut self.home.stalled[usize::from(to)];
            let Some(place) = waiting.iter().position(|one| one.0 == line) else { break };
            let (_, number) = waiting.remove(place);
            self.serve_one(number)?;
        }
        Ok(())
    }

    /// Executes a transition of the directory. False: the message waits.
    fn serve_one(&mut self, number: u32) -> Result<bool, Impossible> {
        let Flight { message, line, data, .. } = *self.flights.get(number);
        let place = (line - self.home.first) as usize;
        let mut entry = self.home.entries[place];
        let event = directory_event(&entry, &message).expect("a message to a directory");
        let transition = self.protocol.directory(entry.state, event, line)?;
        let (next, count) = (transition.next, transition.actions.len());
        let invalidates_owner = transition.actions.contains(&DirectoryAction::InvalidateOwner);
        let state = entry.state;
        for step in 0..count {
            let action = self.protocol.directory(state, event, line)?.actions[step];
            if action == DirectoryAction::Stall {
                return Ok(false);
            }
            step_directory(&mut entry, action, invalidates_owner, &message, &mut |out| {
                self.home_action(line, message, data, out);
            });
        }
        entry.state = next;
        self.home.entries[place] = entry;
        self.flights.get_mut(number).data = None;
        self.flights.remove(number);
        if let Some(block) = data {
            self.blocks.remove(block);
        }
        Ok(true)
    }

    fn home_action(&mut self, line: u64, message: ProtocolMessage, data: Option<u32>, out: Outgoing) {
        let (to, kind, acks, memory) = match out {
            Outgoing::Stall | Outgoing::Wake => return,
            Outgoing::Write => {
                self.memory_port(line);
                self.statistics.memory_writes += 1;
                if let Some(block) = data {
                    let block = *self.blocks.get(block);
                    self.home.write(line, &block);
                }
                return;
            }
            Outgoing::Send(to, kind, acks) => (to, kind, acks, false),
            Outgoing::SendMemory(to, kind, acks) => (to, kind, acks, true),
        };
        let from = self.home(line);
        let message = ProtocolMessage { kind, from, requester: message.from, acks };
        let data = memory.then(|| self.blocks.insert(self.home.read(line)));
        let number = self.flights.insert(Flight { message, line, to, data, memory, deadline: 0 });
        if memory {
            self.statistics.memory_reads += 1;
            let start = self.memory_port(line);
            self.calendar.push(start + self.config.memory, Event::Send(number));
        } else {
            self.inject(number);
        }
    }

    /// The cycle in which the port of a line begins an access.
    fn memory_port(&mut self, line: u64) -> u64 {
        let count = self.home.ports.len() as u64;
        let port = &mut self.home.ports[(line % count) as usize];
        let start = self.now.max(*port);
        *port = start + self.config.memory_interval;
        start
    }
}
