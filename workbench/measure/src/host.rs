// SPDX-License-Identifier: Apache-2.0 OR MIT
//! This host: the name of its processor, and pinning of a thread to one core.

use std::fs;

/// The name of the processor from the system, or else of its architecture.
#[must_use]
pub fn cpu() -> String {
    let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(
        || std::env::consts::ARCH.to_owned(),
        |(_, name)| name.split_whitespace().collect::<Vec<_>>().join(" "),
    )
}

/// Pins the calling thread to one core until it is dropped.
#[derive(Debug)]
pub struct Pinned {
    /// The core, or `None` where the system refuses.
    pub core: Option<usize>,
    #[cfg(target_os = "linux")]
    before: Option<libc::cpu_set_t>,
}

#[cfg(target_os = "linux")]
impl Pinned {
    /// Pins the calling thread to the last core that it may run on: the first ones serve most
    /// interrupts.
    #[must_use]
    pub fn new() -> Self {
        // SAFETY: an all-zero set is valid; the call writes at most the size it is given, and 0 is
        // the calling thread.
        let before = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            (libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) == 0).then_some(set)
        };
        let core = before.and_then(|set| {
            // SAFETY: the numbers are below the size of the set.
            let core = (0..libc::CPU_SETSIZE as usize).rev().find(|&core| unsafe { libc::CPU_ISSET(core, &set) })?;
            // SAFETY: as above; the call only reads the set.
            unsafe {
                let mut one: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(core, &mut one);
                (libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one) == 0).then_some(core)
            }
        });
        Self { core, before }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: the call reads the set that the system returned. If it fails, the thread
            // stays pinned.
            unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), before) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Pinned {
    /// Does nothing on this system.
    #[must_use]
    pub fn new() -> Self {
        Self { core: None }
    }
}

impl Default for Pinned {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn allowed() -> usize {
        std::thread::available_parallelism().map_or(0, usize::from)
    }

    #[test]
    fn a_thread_has_one_core_while_pinned_and_its_former_ones_afterwards() {
        let before = allowed();
        {
            let pinned = Pinned::new();
            assert!(pinned.core.is_some());
            assert_eq!(allowed(), 1);
        }
        assert_eq!(allowed(), before);
    }

    #[test]
    fn the_processor_has_a_name() {
        assert!(!cpu().is_empty());
    }
}
