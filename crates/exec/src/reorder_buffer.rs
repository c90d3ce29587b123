//! Values that come in any order, on their way to a consumer that takes them in order.

use std::collections::BTreeMap;

/// Numbered values that wait for earlier ones: they leave as 0, 1, 2, ….
#[derive(Debug)]
pub(crate) struct ReorderBuffer<T> {
    early: BTreeMap<u64, T>,
    next: u64,
}

impl<T> ReorderBuffer<T> {
    pub(crate) const fn new() -> Self {
        Self { early: BTreeMap::new(), next: 0 }
    }

    /// The number of the next value to leave.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Values that wait.
    pub(crate) fn len(&self) -> usize {
        self.early.len()
    }

    pub(crate) fn insert(&mut self, number: u64, value: T) {
        self.early.insert(number, value);
    }

    /// The next value, if it has come.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let value = self.early.remove(&self.next)?;
        self.next += 1;
        Some(value)
    }

    /// Takes out all that wait.
    pub(crate) fn clear(&mut self) -> BTreeMap<u64, T> {
        std::mem::take(&mut self.early)
    }
}
