//! Bytes that a reader has made and not yet returned.

/// The bytes of one step of a reader, which are returned in pieces.
#[derive(Debug, Default)]
pub(super) struct ReadyBytes {
    pub bytes: Vec<u8>,
    /// The number of bytes that were returned.
    given: usize,
}

impl ReadyBytes {
    /// Starts the next step, whose bytes are appended to the returned vector.
    pub fn begin(&mut self) -> &mut Vec<u8> {
        self.bytes.clear();
        self.given = 0;
        &mut self.bytes
    }

    /// Returns true if all bytes of the step were returned.
    pub fn is_given(&self) -> bool {
        self.given == self.bytes.len()
    }

    /// Copies the next bytes to the front of `buffer`, and returns their number.
    pub fn give(&mut self, buffer: &mut [u8]) -> usize {
        let ready = &self.bytes[self.given..];
        let count = ready.len().min(buffer.len());
        buffer[..count].copy_from_slice(&ready[..count]);
        self.given += count;
        count
    }
}
