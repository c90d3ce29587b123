//! Dictionaries of zstd, made from the common parts of many small contents.

use std::fmt;
use std::sync::{Arc, Mutex};

use lakerace_io::wait::lock;
use lakerace_io::{Error, Result};
use zstd::zstd_safe::{CDict, DDict};

/// The length of a dictionary in bytes. Longer ones gain little, and every reader loads it.
const DICTIONARY_BYTES: usize = 16 << 10;

/// The most bytes that a dictionary is trained from.
const SAMPLE_BYTES: usize = 4 << 20;

/// Contents above this have enough of their own to look back at.
const MAX_SAMPLE_BYTES: usize = 16 << 10;

/// So many contents are enough to train by themselves.
const ENOUGH_SAMPLES: usize = 2_000;

/// zstd refuses to train from fewer.
const FEWEST_SAMPLES: usize = 16;

/// A trained dictionary with its number in the store.
pub(crate) struct TrainedDictionary {
    pub(crate) id: u32,
    pub(crate) bytes: Vec<u8>,
    pub(super) decompressor: DDict<'static>,
    compressors: Mutex<Vec<(i32, Arc<CDict<'static>>)>>,
}

impl fmt::Debug for TrainedDictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary {{ id: {}, bytes: {} }}", self.id, self.bytes.len())
    }
}

impl TrainedDictionary {
    pub(crate) fn new(id: u32, bytes: Vec<u8>) -> Result<Self> {
        let decompressor = DDict::try_create(&bytes)
            .ok_or_else(|| Error::corrupt(format!("dictionary {id} is not a zstd dictionary")))?;
        Ok(Self { id, bytes, decompressor, compressors: Mutex::default() })
    }

    /// The dictionary as a compressor of `level` takes it.
    pub(super) fn compressor(&self, level: i32) -> Arc<CDict<'static>> {
        let mut known = lock(&self.compressors);
        if let Some((_, compressor)) = known.iter().find(|(of, _)| *of == level) {
            return Arc::clone(compressor);
        }
        let made = Arc::new(CDict::create(&self.bytes, level));
        known.push((level, Arc::clone(&made)));
        made
    }
}

/// Contents to train from, in bounded memory.
#[derive(Debug, Default)]
pub(crate) struct TrainingSamples {
    bytes: Vec<u8>,
    sizes: Vec<usize>,
}

impl TrainingSamples {
    /// Takes a content, unless it is too long or enough are there.
    pub(crate) fn add(&mut self, content: &[u8]) {
        let fits = !content.is_empty() && content.len() <= MAX_SAMPLE_BYTES;
        if fits && self.bytes.len() + content.len() <= SAMPLE_BYTES {
            self.bytes.extend_from_slice(content);
            self.sizes.push(content.len());
        }
    }

    /// Returns true if more samples are not useful.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() > SAMPLE_BYTES - MAX_SAMPLE_BYTES
    }

    /// Returns true if there are enough samples for a store to train by itself.
    pub(crate) fn is_enough(&self) -> bool {
        self.sizes.len() >= ENOUGH_SAMPLES || self.bytes.len() >= SAMPLE_BYTES / 2
    }

    /// The dictionary's bytes. Too few samples, and such as have nothing in common, are an error of kind `Invalid`.
    pub(crate) fn train(&self) -> Result<Vec<u8>> {
        if self.sizes.len() < FEWEST_SAMPLES {
            let (few, least) = (self.sizes.len(), FEWEST_SAMPLES);
            return Err(Error::invalid(format!(
                "{few} small files are too few to train a dictionary: at least {least} are needed"
            )));
        }
        zstd::dict::from_continuous(&self.bytes, &self.sizes, DICTIONARY_BYTES).map_err(|e| {
            Error::invalid("the store's small files have too little in common to train a dictionary").because(e)
        })
    }
}
