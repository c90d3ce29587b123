//! Gzip, to its end.

use std::io::{BufRead, Read};

use flate2::bufread::GzDecoder;
use lakerace_io::Error;

/// The bytes of all members. Zeros after the last one are skipped, as by gzip itself.
pub(super) struct GzipReader<R> {
    /// `None` after the end.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipReader<R> {
    pub(super) fn new(stream: R) -> Self {
        Self { member: Some(GzDecoder::new(stream)) }
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        while let Some(member) = &mut self.member {
            let len = member.read(out)?;
            if len > 0 || out.is_empty() {
                return Ok(len);
            }
            let Some(mut stream) = self.member.take().map(GzDecoder::into_inner) else { break };
            match stream.fill_buf()?.first() {
                None => break,
                Some(0) => end_of_zeros(&mut stream)?,
                Some(_) => self.member = Some(GzDecoder::new(stream)),
            }
        }
        Ok(0)
    }
}

fn end_of_zeros(stream: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = stream.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        if buffer.iter().any(|byte| *byte != 0) {
            return Err(std::io::Error::other(Error::corrupt("the archive is damaged: other bytes follow its end")));
        }
        let len = buffer.len();
        stream.consume(len);
    }
}
