//! Large bodies pass from socket to socket through a pipe, without a copy into this process and one out of it: the
//! proxy of a bench uses processors that its contestants need, and a third more of them if it copies.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// Bodies with less left than this are not worth a pipe.
const LEAST_BYTES: u64 = 128 << 10;

/// The bytes that a pipe should hold: more than pass in one step, since pieces that have arrived need not fill the pipe's pages.
const PIPE_BYTES: usize = 512 << 10;

/// The way of one body in one direction. After an error, bytes may be left in it: it must not be used again.
#[derive(Debug, Default)]
pub(super) struct Splice {
    /// Made when it is first needed.
    pipe: Option<SplicePipe>,
}

#[derive(Debug)]
struct SplicePipe {
    read: OwnedFd,
    write: OwnedFd,
}

impl Splice {
    /// Returns true if a body with this many bytes left should use a pipe.
    pub(super) fn is_worth(left: u64) -> bool {
        left >= LEAST_BYTES
    }

    /// Passes on the arrived bytes, at most `most`, waiting for the first one; 0 at the end.
    pub(super) async fn pass(&mut self, from: &TcpStream, to: &TcpStream, most: usize) -> io::Result<usize> {
        let pipe = match &self.pipe {
            Some(pipe) => pipe,
            None => self.pipe.insert(SplicePipe::new()?),
        };
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        // The pipe is empty, so it is the socket that would block.
        let into = || Ok(splice(from, None, &pipe.write, None, most, flags)?);
        let arrived = from.async_io(Interest::READABLE, into).await?;
        let mut left = arrived;
        while left > 0 {
            let out_of = || Ok(splice(&pipe.read, None, to, None, left, flags)?);
            left -= to.async_io(Interest::WRITABLE, out_of).await?;
        }
        Ok(arrived)
    }
}

impl SplicePipe {
    fn new() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // A user may have no more pages in pipes than the system allows; a small pipe takes more calls, no more.
        let _ = fcntl_setpipe_size(&write, PIPE_BYTES);
        Ok(Self { read, write })
    }
}
