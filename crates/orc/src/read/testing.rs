//! Helpers of the unit tests of the decoders.

use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::input::StreamInput;
use crate::compress::{Codec, Decompressor};

/// An uncompressed stream.
pub(crate) fn plain(bytes: &[u8]) -> StreamInput {
    let decompressor = Arc::new(Mutex::new(Decompressor::new(Codec::None, 1 << 18)));
    StreamInput::new(Bytes::copy_from_slice(bytes), &decompressor, false)
}
