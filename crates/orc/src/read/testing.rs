//! Helpers of the unit tests of the decoders.

use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::input::Input;
use crate::compress::{Codec, Decompressor};

/// An uncompressed stream.
pub(crate) fn plain(bytes: &[u8]) -> Input {
    let decompressor = Arc::new(Mutex::new(Decompressor::new(Codec::None, 1 << 18)));
    Input::new(Bytes::copy_from_slice(bytes), &decompressor, false)
}
