// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Decoded instructions by physical page.

use crate::isa::rv64::Operation;
use crate::isa::rv64::sv39::PAGE_BYTES;
use crate::memory::Memory;

const SLOTS: usize = PAGE_BYTES as usize / 2;

/// A decoded instruction with what each execution of it needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoded {
    pub(super) operation: Operation,
    pub(super) sources: [u8; 3],
    pub(super) destination: u8,
    /// Whether it uses a floating-point register.
    pub(super) float: bool,
    pub(super) word: u32,
}

impl Decoded {
    pub(super) fn new(word: u32, pc: u64) -> Self {
        let operation = Operation::decode(word, pc);
        let (sources, destination) = (operation.sources(), operation.destination());
        let float = destination >= 32 || sources.iter().any(|&source| source >= 32);
        let word = if word & 3 == 3 { word } else { word & 0xffff };
        Self { operation, sources, destination, float, word }
    }
}

/// The instructions of a page, decoded for one virtual page: targets of branches are virtual.
#[derive(Clone, Debug)]
struct Page {
    number: u64,
    slots: Vec<Option<Decoded>>,
}

/// The decoded instructions of all harts.
#[derive(Clone, Debug)]
pub(super) struct Code {
    base: u64,
    pages: Vec<Option<Page>>,
    /// The pages that exist.
    used: Vec<usize>,
}

impl Code {
    pub(super) fn new(memory: &Memory) -> Self {
        let range = memory.range();
        let base = range.start & !(PAGE_BYTES - 1);
        let count = (range.end - base).div_ceil(PAGE_BYTES) as usize;
        Self { base, pages: vec![None; count], used: Vec::new() }
    }

    /// The index of a physical page, for [`get`](Self::get), with its virtual page number.
    pub(super) fn open(&mut self, physical: u64, number: u64) -> Option<usize> {
        let index = usize::try_from(physical.checked_sub(self.base)? / PAGE_BYTES).ok()?;
        let page = self.pages.get_mut(index)?;
        match page {
            Some(known) if known.number == number => {}
            Some(known) => {
                known.number = number;
                known.slots.fill(None);
            }
            None => {
                *page = Some(Page { number, slots: vec![None; SLOTS] });
                self.used.push(index);
            }
        }
        Some(index)
    }

    /// The instruction at `pc`; `None` if it is not decoded, or the page belongs to another virtual
    /// page.
    #[inline]
    pub(super) fn get(&self, index: usize, pc: u64) -> Option<&Decoded> {
        let page = self.pages[index].as_ref()?;
        if page.number != pc / PAGE_BYTES {
            return None;
        }
        page.slots[(pc / 2) as usize % SLOTS].as_ref()
    }

    pub(super) fn set(&mut self, index: usize, pc: u64, decoded: Decoded) {
        if let Some(page) = &mut self.pages[index]
            && page.number == pc / PAGE_BYTES
        {
            page.slots[(pc / 2) as usize % SLOTS] = Some(decoded);
        }
    }

    /// Drops all of them: fence.i. The pages stay, so that indices stay valid.
    pub(super) fn clear(&mut self) {
        for index in self.used.drain(..) {
            self.pages[index] = None;
        }
    }
}
