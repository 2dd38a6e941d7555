// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The printed tables, in Markdown.

use std::fmt;

use super::Protocol;
use super::words::{CacheAction, CacheEvent, CacheState, DirectoryAction, DirectoryEvent, DirectoryState};

impl fmt::Display for Protocol {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "| cache state | event | actions | next state |\n|---|---|---|---|")?;
        for &state in CacheState::ALL {
            for &event in CacheEvent::ALL {
                if let Ok(entry) = self.cache(state, event, 0) {
                    let actions: Vec<_> = entry.actions.iter().map(|action| CacheAction::name(*action)).collect();
                    row(out, state.name(), event.name(), &actions, entry.next.name())?;
                }
            }
        }
        writeln!(out, "\n| directory state | event | actions | next state |\n|---|---|---|---|")?;
        for &state in DirectoryState::ALL {
            for &event in DirectoryEvent::ALL {
                if let Ok(entry) = self.directory(state, event, 0) {
                    let actions: Vec<_> = entry.actions.iter().map(|action| DirectoryAction::name(*action)).collect();
                    row(out, state.name(), event.name(), &actions, entry.next.name())?;
                }
            }
        }
        Ok(())
    }
}

fn row(out: &mut fmt::Formatter<'_>, state: &str, event: &str, actions: &[&str], next: &str) -> fmt::Result {
    let next = if next == state { "" } else { next };
    writeln!(out, "| {state} | {event} | {} | {next} |", actions.join(", "))
}
