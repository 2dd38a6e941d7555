// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The crates of the workspace with their folders and dependencies, as `cargo metadata` reports them.

use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand};

/// A crate of the workspace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Crate {
    /// Name of the package.
    pub(crate) name: String,
    /// Folder of its manifest, relative to the root, with `/` between folders.
    pub(crate) folder: String,
    /// Its dependencies on other crates of the workspace, in alphabetical order.
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency on another crate of the workspace.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Dependency {
    /// Name of the package.
    pub(crate) name: String,
    /// Whether only tests, benches and examples have it.
    pub(crate) dev: bool,
}

impl Crate {
    /// The first folder of its path: the product or the layer that it belongs to.
    pub(crate) fn product(&self) -> &str {
        self.folder.split('/').next().unwrap_or(&self.folder)
    }

    /// The last folder of its path.
    pub(crate) fn last_folder(&self) -> &str {
        self.folder.rsplit('/').next().unwrap_or(&self.folder)
    }
}

/// Reads the workspace at `root`; the crates come in alphabetical order of their folders.
///
/// # Errors
/// When cargo cannot read the workspace.
pub(crate) fn read(root: &Path) -> Result<Vec<Crate>, String> {
    let metadata = MetadataCommand::new()
        .current_dir(root)
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let mut crates: Vec<Crate> = metadata
        .packages
        .iter()
        .map(|package| {
            let folder = package.manifest_path.parent().unwrap_or(&metadata.workspace_root);
            let folder = folder.strip_prefix(&metadata.workspace_root).unwrap_or(folder);
            let ours = package.dependencies.iter().filter(|dependency| dependency.path.is_some());
            let mut dependencies: Vec<Dependency> = ours
                .map(|dependency| Dependency {
                    name: dependency.name.clone(),
                    dev: dependency.kind == DependencyKind::Development,
                })
                .collect();
            dependencies.sort();
            dependencies.dedup();
            Crate { name: package.name.to_string(), folder: folder.to_string(), dependencies }
        })
        .collect();
    crates.sort_by(|a, b| a.folder.cmp(&b.folder));
    Ok(crates)
}

/// A crate for tests: `dependencies` that begin with `dev:` are those of tests.
#[cfg(test)]
pub(crate) fn crate_of(folder: &str, name: &str, dependencies: &[&str]) -> Crate {
    let dependencies = dependencies.iter().map(|text| match text.strip_prefix("dev:") {
        Some(name) => Dependency { name: name.to_owned(), dev: true },
        None => Dependency { name: (*text).to_owned(), dev: false },
    });
    Crate { name: name.to_owned(), folder: folder.to_owned(), dependencies: dependencies.collect() }
}
