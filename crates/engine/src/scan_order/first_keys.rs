//! The first keys of an order.

use std::collections::BinaryHeap;

use arrow::array::{Array, BinaryArray};

/// The bytes of a key in addition to its own.
const KEY_BYTES: u64 = 32;

/// The first keys of many, as many as are wanted.
pub(super) struct FirstKeys {
    /// The last one is on top.
    keys: BinaryHeap<Box<[u8]>>,
    wanted: usize,
    bytes: u64,
    limit_bytes: u64,
    /// The keys took more memory than the limit: any row may be wanted.
    is_given_up: bool,
}

impl FirstKeys {
    /// So many first keys, in approximately this memory at most.
    pub fn new(wanted: usize, limit_bytes: u64) -> Self {
        Self { keys: BinaryHeap::new(), wanted, bytes: 0, limit_bytes, is_given_up: false }
    }

    /// Adds keys.
    pub fn push(&mut self, keys: &BinaryArray) {
        for key in (0..keys.len()).map(|row| keys.value(row)) {
            if self.is_given_up {
                return;
            }
            if self.keys.len() < self.wanted {
                self.add(key);
            } else if self.keys.peek().is_some_and(|last| key < last.as_ref()) {
                if let Some(last) = self.keys.pop() {
                    self.bytes -= last.len() as u64 + KEY_BYTES;
                }
                self.add(key);
            }
        }
    }

    fn add(&mut self, key: &[u8]) {
        self.bytes += key.len() as u64 + KEY_BYTES;
        self.keys.push(key.into());
        if self.bytes > self.limit_bytes {
            self.is_given_up = true;
            self.keys = BinaryHeap::new();
        }
    }

    /// The last of the first keys; `None` before there are as many as are wanted, and where they took too much memory.
    pub fn bound(&self) -> Option<&[u8]> {
        self.keys.peek().filter(|_| self.keys.len() == self.wanted).map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests;
