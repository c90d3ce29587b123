//! Parts that the benches of this crate measure, each next to its plain alternative. No interface: it changes without notice.

use crate::error::Result;
pub use crate::prefetch::prefetch;
use crate::read;

/// Unpacks numbers of `width` bits, the most significant bit first.
pub fn unpack(bytes: &[u8], width: u32, out: &mut [i64]) -> Result<()> {
    read::unpack::unpack(bytes, width, out)
}
