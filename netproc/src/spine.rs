// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs of network processors (`netproc/spine`), their sources, and how to compile them.
//!
//! `netproc/spine/netproc.h` is the contract between these programs and their machine.

use std::path::Path;

use mb_processor::Program;

/// A committed program of a network processor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Spine {
    /// SPINE with the applications of `netproc/spine`.
    Plain,
    /// The same, compiled with the extensions Zba and Zbb.
    BitManipulation,
    /// With the handler of `netproc/examples/block_port.c`.
    BlockPort,
    /// With a handler that breaks the rules of `handler.h`, for tests.
    BadHandler,
}

impl Spine {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Plain, Self::BitManipulation, Self::BlockPort, Self::BadHandler];

    /// The bytes of its ELF file.
    #[must_use]
    pub const fn file(self) -> &'static [u8] {
        match self {
            Self::Plain => include_bytes!("../elf/netproc.rv64.elf"),
            Self::BitManipulation => include_bytes!("../elf/netproc_zb.rv64.elf"),
            Self::BlockPort => include_bytes!("../elf/netproc_block_port.rv64.elf"),
            Self::BadHandler => include_bytes!("../elf/netproc_bad.rv64.elf"),
        }
    }

    /// The program.
    ///
    /// # Panics
    /// When the committed file is damaged, which the tests exclude.
    #[must_use]
    pub fn program(self) -> Program {
        Program::load(self.file()).expect("a committed program")
    }
}

macro_rules! sources {
    ($($name:literal)*) => {
        /// The sources that a program is compiled from: file name and text. All must be in one folder.
        pub const SOURCES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../spine/", $name))),)*];
    };
}

sources! {
    "api.c" "classify.c" "des.c" "des.h" "dpf.c" "dpf_tree.h" "emit.h" "flow.c" "handler.h" "httpmon.c" "httpmon.h" "ip_forward.c"
    "ip_forward.h" "ip_forward4.c" "ip_forward6.c" "md5.c" "memory.c" "netproc.h" "netproc.ld" "os.c" "packet.c"
    "setup.c" "spine.h" "start.S" "trie.h" "worker.c"
}

/// The compiler of [`commands`] on Debian.
pub const COMPILER: &str = "riscv64-linux-gnu-gcc";

/// The commands that compile a program, in order: each is a program name and its arguments. They
/// run in a folder that holds [`SOURCES`].
///
/// `handler` is the user's C file, `objects` an existing empty folder, and `output` the ELF file; all
/// three are absolute paths. `bit_manipulation`: with Zba and Zbb.
#[must_use]
pub fn commands(
    compiler: &str,
    bit_manipulation: bool,
    handler: Option<&Path>,
    objects: &Path,
    output: &Path,
) -> Vec<Vec<String>> {
    let text = |path: &Path| path.display().to_string();
    let march = if bit_manipulation { "rv64imac_zba_zbb_zifencei" } else { "rv64imac_zifencei" };
    let mut base = vec![compiler.to_owned(), format!("-march={march}")];
    base.extend(include_str!("../spine/flags").lines().map(str::to_owned));
    let (mut commands, mut object_files) = (Vec::new(), Vec::new());
    let mut compile = |name: &str, source: String, options: Vec<String>| {
        let object = text(&objects.join(format!("{name}.o")));
        let command = [base.clone(), options, vec!["-c".into(), "-o".into(), object.clone(), source]].concat();
        commands.push(command);
        object_files.push(object);
    };
    for (name, _) in SOURCES {
        if let Some(stem) = name.strip_suffix(".c").or_else(|| name.strip_suffix(".S")) {
            compile(stem, (*name).to_owned(), Vec::new());
        }
    }
    if let Some(handler) = handler {
        let folder = handler.parent().map_or_else(String::new, text);
        // The object file is called handler.o: netproc.ld finds it by that name.
        // Warnings do not end the build.
        let options = vec!["-I.".to_owned(), format!("-ffile-prefix-map={folder}=."), "-Wno-error".to_owned()];
        compile("handler", text(handler), options);
    }
    object_files.sort_unstable();
    let mut link = base.clone();
    link.extend(include_str!("../spine/link_flags").lines().map(str::to_owned));
    if handler.is_some() {
        // SPINE refers to it weakly: without this, the first packet would be an error.
        link.push("-Wl,--require-defined=np_handler".to_owned());
    }
    link.extend(["-T".to_owned(), "netproc.ld".to_owned(), "-o".to_owned(), text(output)]);
    link.extend(object_files);
    commands.push(link);
    commands
}

#[cfg(test)]
mod tests {
    use mb_processor::Isa;

    use super::*;
    use crate::receive::Receive;

    #[test]
    fn every_committed_program_has_the_symbols_of_the_contract() {
        for spine in Spine::ALL {
            let program = spine.program();
            for name in ["np_config", "np_status", "np_code", "np_handler_data", "np_handler_data_end"] {
                assert!(program.symbol(name).is_some(), "{spine:?}: {name}");
            }
            let parts = ["os", "worker", "classify", "app", "handler"].map(|part| {
                let [begin, end] = ["", "_end"].map(|suffix| {
                    let name = format!("np_{part}_text{suffix}");
                    program.symbol(&name).unwrap_or_else(|| panic!("{spine:?}: {name}")).address
                });
                let code = program.code();
                assert!(code.start <= begin && begin <= end && end <= code.end, "{spine:?}: {part}");
                begin..end
            });
            assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start), "{spine:?}: {parts:x?}");
        }
    }

    #[test]
    fn every_committed_program_loads_with_its_symbols() {
        let received = Receive::ALL.map(|receive| Program::load(receive.file()).expect("a committed program"));
        for program in Spine::ALL.iter().map(|spine| spine.program()).chain(received) {
            assert_eq!(program.isa(), Isa::Rv64);
            // They never return from their loops and have no `main`.
            let [start, main] = ["_start", "np_os_loop"].map(|name| program.symbol(name).expect("a symbol"));
            assert_eq!(start.address, program.entry());
            assert!(program.code().contains(&main.address) && main.bytes > 0);
            let memory = program.memory(4096).range();
            // The linker script also defines constants, which are symbols without a size.
            for (name, symbol) in program.symbols().filter(|(_, symbol)| symbol.bytes > 0) {
                let end = symbol.address + symbol.bytes;
                assert!(memory.contains(&symbol.address) && end <= memory.end, "{name}: {symbol:x?}");
            }
        }
    }

    #[test]
    fn functions_that_share_a_name_are_all_symbols() {
        // Two sources have a function of their own with this name.
        let program = Spine::Plain.program();
        let places: Vec<_> =
            program.symbols().filter(|(name, _)| *name == "sort_out").map(|(_, symbol)| symbol).collect();
        assert_eq!(places.len(), 2);
        assert_ne!(places[0].address, places[1].address);
        assert_eq!(program.symbol("sort_out"), Some(places[0]));
    }
}
