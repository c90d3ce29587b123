//! Bytes that are passed on to a writer immediately, such as standard output.

use std::fmt;
use std::io::Write;

use crate::error::Result;
use crate::job::Job;

pub(super) struct OutputStream {
    writer: Box<dyn Write + Send>,
    job: Job,
}

impl OutputStream {
    pub(super) fn new(writer: Box<dyn Write + Send>, job: &Job) -> Self {
        Self { writer, job: job.clone() }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.job.check()?;
        self.writer.write_all(bytes)?;
        self.job.meter().wrote_bytes(bytes.len() as u64);
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        Ok(self.writer.flush()?)
    }
}

impl fmt::Debug for OutputStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream")
    }
}
