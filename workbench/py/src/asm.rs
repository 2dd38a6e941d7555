// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs for the match unit: text to image, image to text.

use mb_asm::word::Address;
use mb_asm::{Word, image};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::bad_input;

/// A program for the match unit.
#[pyclass(frozen)]
pub(crate) struct MatchProgram(mb_asm::MatchProgram);

impl MatchProgram {
    /// The program.
    pub(crate) const fn program(&self) -> &mb_asm::MatchProgram {
        &self.0
    }
}

#[pymethods]
impl MatchProgram {
    /// Assembles `text`, the bytes of the file `name`; the error holds every diagnostic.
    #[staticmethod]
    fn assemble(name: &str, text: &[u8]) -> PyResult<Self> {
        let text = std::str::from_utf8(text)
            .map_err(|error| bad_input(format!("{name}: not UTF-8 text from byte {} on", error.valid_up_to())))?;
        mb_asm::assemble(name, text).map(Self).map_err(|errors| bad_input(mb_asm::render(&errors)))
    }

    /// Reads the image in the file `name`.
    #[staticmethod]
    fn load(name: &str, data: &[u8]) -> PyResult<Self> {
        image::read(name, data).map(Self).map_err(|error| bad_input(format!("{name}: {error}")))
    }

    /// The program as an image.
    fn image<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &image::write(&self.0))
    }

    /// The program as text that assembles to the same words.
    fn text(&self) -> String {
        mb_asm::disassemble(&self.0)
    }

    /// Addresses, encodings, slots and text.
    fn listing(&self) -> String {
        mb_asm::listing(&self.0)
    }

    /// Labels, line of the source and text of each word, in the order of addresses.
    fn words(&self) -> Vec<(Vec<String>, Option<usize>, String)> {
        let program = &self.0;
        let target =
            |address: Address| program.label_at(address.index()).map_or_else(|| address.to_string(), str::to_owned);
        let word = |(at, word): (usize, &Word)| {
            let labels = program.labels.iter().filter(|(_, address)| address.index() == at);
            let labels = labels.map(|(name, _)| name.clone()).collect();
            match program.lines.get(at) {
                Some(line) => (labels, Some(line.number), line.text.clone()),
                None => (labels, None, word.text(&target)),
            }
        };
        program.words.iter().enumerate().map(word).collect()
    }

    /// Names of registers and predicates, and which one each stands for.
    fn names(&self) -> Vec<(String, String)> {
        self.0.registers.iter().map(|(name, register)| (name.clone(), register.to_string())).collect()
    }

    /// Number of words.
    fn __len__(&self) -> usize {
        self.0.words.len()
    }

    /// Words of the list items that the program reads.
    #[getter]
    fn item_words(&self) -> usize {
        self.0.item_words
    }

    /// Words that the microcode store holds.
    #[getter]
    fn store(&self) -> usize {
        self.0.store
    }
}
