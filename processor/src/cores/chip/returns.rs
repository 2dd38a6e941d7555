// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The return stack of a context, with exact repair.

/// A circular stack of return addresses. Each change can be undone, the newest first.
#[derive(Clone, Debug)]
pub(super) struct ReturnStack {
    addresses: Vec<u64>,
    top: usize,
}

impl ReturnStack {
    pub(super) fn new(entries: usize) -> Self {
        Self { addresses: vec![0; entries], top: 0 }
    }

    pub(super) fn is_absent(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Pushes an address; returns the one that it overwrites.
    pub(super) fn push(&mut self, address: u64) -> u64 {
        if self.is_absent() {
            return 0;
        }
        self.top = if self.top + 1 == self.addresses.len() { 0 } else { self.top + 1 };
        std::mem::replace(&mut self.addresses[self.top], address)
    }

    pub(super) fn undo_push(&mut self, overwritten: u64) {
        if !self.is_absent() {
            self.addresses[self.top] = overwritten;
            self.pop();
        }
    }

    pub(super) fn pop(&mut self) -> u64 {
        let address = self.addresses[self.top];
        self.top = if self.top == 0 { self.addresses.len() - 1 } else { self.top - 1 };
        address
    }

    pub(super) fn undo_pop(&mut self) {
        if !self.is_absent() {
            self.top = if self.top + 1 == self.addresses.len() { 0 } else { self.top + 1 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ReturnStack;

    #[test]
    fn undone_changes_leave_the_stack_as_it_was() {
        let mut stack = ReturnStack::new(3);
        for address in 1..=5 {
            stack.push(address);
        }
        let before = stack.clone();
        // Return, two calls of which the second overwrites, return.
        stack.pop();
        let first = stack.push(10);
        let second = stack.push(11);
        stack.pop();
        stack.undo_pop();
        stack.undo_push(second);
        stack.undo_push(first);
        stack.undo_pop();
        assert_eq!((stack.addresses, stack.top), (before.addresses, before.top));
    }
}
