// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The files and crates of the repository as values, so that a guard is a function and its fixture a list of strings.
//!
//! Cost: reads every file that git tracks or would track, once.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::workspace::{self, Crate};

/// Files by path (`/` between folders, relative to the root); `None` where the content is not UTF-8 text.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, Option<String>>,
    crates: Vec<Crate>,
}

impl Tree {
    /// Reads what git tracks or would track below `root`; ignored files do not belong to the repository.
    ///
    /// # Errors
    /// When git or cargo cannot be run or reports an error.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        // Files are only listed, so a clone that belongs to another user is safe to read.
        let listing = Command::new("git")
            .args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()?;
        if !listing.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&listing.stderr).trim().to_owned()));
        }
        let mut files = BTreeMap::new();
        for path in String::from_utf8_lossy(&listing.stdout).split_terminator('\0') {
            match std::fs::read(root.join(path)) {
                Ok(bytes) => {
                    files.insert(path.to_owned(), String::from_utf8(bytes).ok());
                }
                // Tracked, and deleted or moved since the last commit.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io::Error::new(error.kind(), format!("{path}: {error}"))),
            }
        }
        let crates = workspace::read(root).map_err(io::Error::other)?;
        Ok(Self { files, crates })
    }

    /// A tree of the given paths and texts.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|&(path, text)| (path.to_owned(), Some(text.to_owned()))).collect();
        Self { files, crates: Vec::new() }
    }

    /// A tree of the given crates, without their files.
    #[cfg(test)]
    pub(crate) fn of_crates(crates: Vec<Crate>) -> Self {
        Self { files: BTreeMap::new(), crates }
    }

    /// The same files, with the given crates.
    #[cfg(test)]
    pub(crate) fn with_crates(self, crates: Vec<Crate>) -> Self {
        Self { crates, ..self }
    }

    /// The crates of the workspace, in alphabetical order of their folders.
    pub(crate) fn crates(&self) -> &[Crate] {
        &self.crates
    }

    /// Path and text of every text file, in order of path.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    /// Every file's path.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

/// The extension of a path's file name; empty when there is none.
pub(crate) fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}
