//! The replacement of `splice.rs` on systems without `splice`.

use std::io;

use tokio::net::TcpStream;

/// There is none.
#[derive(Debug, Default)]
pub(super) struct Splice;

impl Splice {
    pub(super) fn is_worth(_left: u64) -> bool {
        false
    }

    pub(super) async fn pass(&mut self, _from: &TcpStream, _to: &TcpStream, _most: usize) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
