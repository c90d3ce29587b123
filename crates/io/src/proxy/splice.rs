//! Large bodies pass from socket to socket through a pipe, without a copy into this process and one out of it: the proxy of a bench takes
//! processors that its contestants need, and twice as much where it copies.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// Bodies that have less left than this are copied: they are not worth a pipe.
pub(super) const LEAST_BYTES: u64 = 128 << 10;

/// What a pipe should hold: a step of a body at 100 MB/s.
const PIPE_BYTES: usize = 512 << 10;

/// A pipe for one body in one direction.
#[derive(Debug)]
pub(super) struct Splice {
    read: OwnedFd,
    write: OwnedFd,
}

impl Splice {
    pub(super) fn new() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // A user may have no more pages in pipes than the system allows; a small pipe takes more calls, no more.
        let _ = fcntl_setpipe_size(&write, PIPE_BYTES);
        Ok(Self { read, write })
    }

    /// Passes on what has arrived, at most `most` bytes, waiting for the first one; 0 at the end. After an error, bytes
    /// may be left in the pipe: it must not be used again.
    pub(super) async fn pass(&self, from: &TcpStream, to: &TcpStream, most: usize) -> io::Result<usize> {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        // The pipe is empty, so it is the socket that would block.
        let into = || Ok(splice(from, None, &self.write, None, most, flags)?);
        let arrived = from.async_io(Interest::READABLE, into).await?;
        let mut left = arrived;
        while left > 0 {
            let out_of = || Ok(splice(&self.read, None, to, None, left, flags)?);
            left -= to.async_io(Interest::WRITABLE, out_of).await?;
        }
        Ok(arrived)
    }
}
