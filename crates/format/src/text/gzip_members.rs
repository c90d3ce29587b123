//! Gzip streams: members one after the other, zeros after a member skipped, as tapes and block devices pad files.

use std::io::{BufRead, Read, Result};

use flate2::bufread::GzDecoder;

/// The unpacked bytes of all members.
pub(super) struct GzipMembers<R> {
    /// `None` after the last one.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    pub fn new(packed: R) -> Self {
        Self { member: Some(GzDecoder::new(packed)) }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            let packed = self.member.take().map(GzDecoder::into_inner);
            self.member = packed.map(next_member).transpose()?.flatten();
        }
        Ok(0)
    }
}

/// The member after zeros; `None` at the end.
fn next_member<R: BufRead>(mut packed: R) -> Result<Option<GzDecoder<R>>> {
    loop {
        let bytes = packed.fill_buf()?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let (zeros, all) = (bytes.iter().take_while(|byte| **byte == 0).count(), bytes.len());
        packed.consume(zeros);
        if zeros < all {
            return Ok(Some(GzDecoder::new(packed)));
        }
    }
}
