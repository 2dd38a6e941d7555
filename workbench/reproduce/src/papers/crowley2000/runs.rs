// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs that are done once, on several host threads if wanted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mb_netproc::PacketReport;
use mb_netproc::contract::Application;
use mb_packets::Sizes;

use super::experiment::Experiment;
use super::instructions::{self, Counted};
use crate::error::MeasureError;

/// Reports by experiment, and counts of instructions by application and lengths. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    reports: Arc<Mutex<BTreeMap<String, Arc<PacketReport>>>>,
    counts: Arc<Mutex<BTreeMap<String, Counted>>>,
}

impl Runs {
    /// The report of an experiment, which runs if it has not yet.
    ///
    /// # Errors
    /// As [`Experiment::simulate`].
    pub fn report(&self, experiment: &Experiment) -> Result<Arc<PacketReport>, MeasureError> {
        // Every field of an experiment is a number or a word, which its debug form shows.
        let key = format!("{experiment:?}");
        if let Some(report) = locked(&self.reports).get(&key) {
            return Ok(Arc::clone(report));
        }
        let report = Arc::new(experiment.simulate()?);
        locked(&self.reports).insert(key, Arc::clone(&report));
        Ok(report)
    }

    /// Runs all of `experiments`, `jobs` at a time.
    ///
    /// # Errors
    /// The first that fails, in the order of the list.
    pub fn run_all(&self, experiments: &[Experiment], jobs: usize) -> Result<(), MeasureError> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut failed = None;
            while let Some((number, experiment)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, experiments.get(at)?)))
            {
                if let (Err(error), None) = (self.report(experiment), &failed) {
                    failed = Some((number, error));
                }
            }
            failed
        };
        let mut failed = Vec::new();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
            for thread in threads {
                match thread.join() {
                    Ok(found) => failed.extend(found),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        failed.sort_by_key(|(number, _)| *number);
        failed.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Number of runs that were done.
    #[must_use]
    pub fn count(&self) -> usize {
        locked(&self.reports).len()
    }

    /// Every report, with the experiment as text.
    #[must_use]
    pub fn all(&self) -> Vec<(String, Arc<PacketReport>)> {
        locked(&self.reports).iter().map(|(key, report)| (key.clone(), Arc::clone(report))).collect()
    }

    /// The instructions of `application` for a packet, counted once.
    ///
    /// # Errors
    /// As [`instructions::count`].
    pub fn counted(&self, application: Application, sizes: Sizes) -> Result<Counted, MeasureError> {
        let key = format!("{application:?} {sizes:?}");
        if let Some(counted) = locked(&self.counts).get(&key) {
            return Ok(*counted);
        }
        let counted = instructions::count(application, sizes)?;
        locked(&self.counts).insert(key, counted);
        Ok(counted)
    }
}

/// A map is valid between any two of its operations, also if a thread panicked.
fn locked<T>(map: &Mutex<T>) -> MutexGuard<'_, T> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}
