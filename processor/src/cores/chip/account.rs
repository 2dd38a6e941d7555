// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The account of issue slots: which slots of a cycle were empty, and why.

use super::config::ChipConfig;
use super::context::{Context, Full};
use super::core::Core;
use super::setting::Setting;
use super::statistics::IssueStall;

impl Core {
    /// Adds the cycles before `now` to the account. Nothing has happened in them since the last
    /// step.
    #[inline]
    pub(super) fn account_until<S: Setting>(&mut self, config: &ChipConfig, now: u64) {
        if self.shared.counted < now {
            self.account_quiet::<S>(config, now);
        }
    }

    #[cold]
    fn account_quiet<S: Setting>(&mut self, config: &ChipConfig, now: u64) {
        let (width, count) = (u64::from(config.issue_width), self.contexts.len() as u64);
        // In `count` cycles each hart has each turn once.
        let periods = (now - self.shared.counted) / count;
        if periods > 0 {
            for context in &mut self.contexts {
                let cause = Self::cause::<S>(context, self.shared.counted);
                context.statistics.empty[cause as usize] += periods * width;
            }
        }
        self.shared.counted += periods * count;
        while self.shared.counted < now {
            Self::account::<S>(&mut self.contexts, config.issue_width, self.shared.counted);
            self.shared.counted += 1;
        }
    }

    /// Divides the empty slots of a cycle among the harts.
    pub(super) fn account<S: Setting>(contexts: &mut [Context], empty: u32, now: u64) {
        let count = contexts.len();
        let mut index = (now % count as u64) as usize;
        for _ in 0..empty {
            let context = &mut contexts[index];
            context.statistics.empty[Self::cause::<S>(context, now) as usize] += 1;
            index = if index + 1 == count { 0 } else { index + 1 };
        }
    }

    /// Why a hart issues nothing more in cycle `now`. It is the same in each cycle until the next event,
    /// such as the end of a load.
    fn cause<S: Setting>(context: &Context, now: u64) -> IssueStall {
        let is_queued = context.queue_length::<S>() != 0;
        if context.halted {
            IssueStall::Halted
        } else if context.waits {
            IssueStall::Waiting
        } else if is_queued || context.full != Full::Nothing {
            if context.pending | context.serial != 0 || context.has_unfinished_load::<S>(now) {
                IssueStall::Memory
            } else {
                match context.full {
                    Full::Queue if !is_queued => IssueStall::Queue,
                    Full::Registers => IssueStall::Registers,
                    Full::Window => IssueStall::Window,
                    Full::Queue | Full::Nothing => IssueStall::Dependences,
                }
            }
        } else if context.fetch.pending {
            IssueStall::InstructionCache
        } else if context.fetch.recovers {
            IssueStall::Branch
        } else if context.fetch.stopped {
            IssueStall::Serial
        } else {
            IssueStall::Fetch
        }
    }
}
