// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The sources of SPINE with which a user's handler is compiled, so that no checkout is needed.

macro_rules! source {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../guest/netproc/", $name)))
    };
}

/// The files of `guest/netproc` by name; `build.sh` compiles them with a handler.
pub const SOURCES: &[(&str, &str)] = &[
    source!("api.c"),
    source!("build.sh"),
    source!("classify.c"),
    source!("des.c"),
    source!("des.h"),
    source!("dpf.c"),
    source!("emit.h"),
    source!("flags"),
    source!("flow.c"),
    source!("handler.h"),
    source!("httpmon.c"),
    source!("httpmon.h"),
    source!("ip_forward.c"),
    source!("ip_forward.h"),
    source!("ip_forward4.c"),
    source!("ip_forward6.c"),
    source!("link_flags"),
    source!("md5.c"),
    source!("memory.c"),
    source!("netproc.h"),
    source!("netproc.ld"),
    source!("os.c"),
    source!("packet.c"),
    source!("setup.c"),
    source!("spine.h"),
    source!("start.S"),
    source!("trie.h"),
    source!("worker.c"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_here() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest/netproc");
        let mut found: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.file_type().unwrap().is_file())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        found.sort_unstable();
        assert_eq!(SOURCES.iter().map(|(name, _)| *name).collect::<Vec<_>>(), found);
    }
}
