// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names of the functions of a program.

use mb_processor::Program;

/// Functions by address.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    functions: Vec<(u64, u64, String)>,
}

impl Symbols {
    /// Those of an ELF file; none if it has no symbols or is not a program.
    pub(super) fn of(file: &[u8]) -> Self {
        let Ok(program) = Program::load(file) else { return Self::default() };
        let code = program.code();
        let mut functions: Vec<_> = program
            .symbols()
            .filter(|(name, symbol)| symbol.bytes > 0 && code.contains(&symbol.address) && !name.starts_with('$'))
            .map(|(name, symbol)| (symbol.address, symbol.address.saturating_add(symbol.bytes), name.to_owned()))
            .collect();
        functions.sort();
        Self { functions }
    }

    /// The function at an address, and its first address.
    fn find(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.functions.partition_point(|(start, _, _)| *start <= address);
        let (start, end, name) = self.functions[..after].last()?;
        (address < *end).then_some((name, *start))
    }

    /// Function and offset of an address.
    pub(super) fn name(&self, address: u64) -> Option<String> {
        self.find(address).map(|(name, start)| format!("{name}+{:#x}", address - start))
    }

    /// The function of an address if its name is that of a call of MPI.
    pub(super) fn call(&self, address: u64) -> Option<&str> {
        let (name, _) = self.find(address)?;
        let name = name.strip_prefix('P').unwrap_or(name);
        name.starts_with("MPI_").then_some(name)
    }
}
