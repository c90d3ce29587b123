//! How a store is opened.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use lakerace_io::{Error, StorageOptions};

use crate::encode::{SecretKey, Transform};

/// The events that a committed write to a store of small files survives. The default is [`Self::Normal`].
///
/// Files that jobs write elsewhere, exports included, have a [`DurabilityLevel`](lakerace_io::DurabilityLevel), whose
/// default is `Full`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A loss of power: each commit waits for the disk.
    Full,
    /// The end of the process; a loss of power may take the last commits, and leaves the store whole.
    #[default]
    Normal,
    /// The end of the process; a loss of power may damage the store.
    Off,
}

impl FromStr for Durability {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "full" => Ok(Self::Full),
            "normal" => Ok(Self::Normal),
            "off" => Ok(Self::Off),
            _ => Err(Error::usage(format!("unknown durability {text:?}")).advice("choose full, normal or off")),
        }
    }
}

/// A compressor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codec {
    /// No compression.
    None,
    /// Zstandard.
    Zstd,
    /// LZ4 blocks.
    Lz4,
    /// Snappy blocks.
    Snappy,
    /// Gzip.
    Gzip,
    /// Bzip2.
    Bz2,
    /// XZ.
    Xz,
    /// Brotli.
    Brotli,
}

impl Codec {
    /// All of them, by their numbers in a store.
    pub(crate) const ALL: [Self; 8] =
        [Self::None, Self::Zstd, Self::Lz4, Self::Snappy, Self::Gzip, Self::Bz2, Self::Xz, Self::Brotli];

    /// Its name in a store and in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
            Self::Snappy => "snappy",
            Self::Gzip => "gzip",
            Self::Bz2 => "bz2",
            Self::Xz => "xz",
            Self::Brotli => "brotli",
        }
    }

    fn levels(self) -> Option<(std::ops::RangeInclusive<i32>, i32)> {
        match self {
            Self::None | Self::Lz4 | Self::Snappy => None,
            Self::Zstd => Some((-7..=22, 3)),
            Self::Gzip => Some((1..=9, 6)),
            Self::Bz2 => Some((1..=9, 9)),
            Self::Xz => Some((0..=9, 6)),
            Self::Brotli => Some((0..=11, 5)),
        }
    }
}

/// A codec with its level, and whether it uses the store's dictionary: `none`, `zstd`, `zstd:9`, `zstd-dict`, `lz4`, ….
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Compression {
    /// The codec.
    pub codec: Codec,
    /// Its level; the codec's own default where it has none.
    pub level: i32,
    /// True if contents are compressed with a dictionary trained from the store's small files.
    pub dictionary: bool,
}

impl Default for Compression {
    fn default() -> Self {
        Self { codec: Codec::None, level: 0, dictionary: false }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.codec.name())?;
        f.write_str(if self.dictionary { "-dict" } else { "" })?;
        match self.codec.levels() {
            Some((_, default)) if default != self.level => write!(f, ":{}", self.level),
            _ => Ok(()),
        }
    }
}

impl FromStr for Compression {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (name, level) = text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level)));
        let (name, dictionary) = if name == "zstd-dict" { ("zstd", true) } else { (name, false) };
        let Some(codec) = Codec::ALL.into_iter().find(|codec| codec.name() == name) else {
            return Err(Error::usage(format!("unknown compression {text:?}")).advice(
                "choose none, zstd, zstd-dict, lz4, snappy, gzip, bz2, xz or brotli, some of them with a level: zstd:9",
            ));
        };
        let level = match (level, codec.levels()) {
            (None, levels) => levels.map_or(0, |(_, default)| default),
            (Some(_), None) => return Err(Error::usage(format!("{name} has no levels")).at(text)),
            (Some(level), Some((levels, _))) => match level.parse() {
                Ok(level) if levels.contains(&level) => level,
                _ => {
                    let (from, to) = (levels.start(), levels.end());
                    return Err(Error::usage(format!("{name} has levels from {from} to {to}")).at(text));
                }
            },
        };
        Ok(Self { codec, level, dictionary })
    }
}

/// How a store is opened. Those that a new store keeps are marked.
#[derive(Debug, Clone)]
pub struct Options {
    /// True if a store is made where there is none.
    pub create: bool,
    /// True if nothing is written.
    pub read_only: bool,
    /// The events that a commit survives.
    pub durability: Durability,
    /// The codec of files put by this opening; the store's own where `None`. Kept by a new store.
    pub compression: Option<Compression>,
    /// Batches put contents up to 4 KiB into shared blocks of this many bytes; 0 is off; the store's own where `None`. Kept by a new
    /// store.
    pub pack_bytes: Option<u32>,
    /// Transforms of contents, in the order of their application.
    pub transforms: Vec<Arc<dyn Transform>>,
    /// The key for contents that were encrypted. With it, `encrypt` says whether new ones are.
    pub key: Option<SecretKey>,
    /// True if contents are encrypted after the transforms, which takes a key.
    pub encrypt: bool,
    /// How long a write waits for other writers.
    pub busy_timeout: Duration,
    /// SQLite's page in bytes: a power of two from 4,096 to 65,536. Kept by a new store.
    pub page_bytes: u32,
    /// The size of a SQLite store's write-ahead log at which writes wait for readers.
    pub wal_limit_bytes: u64,
    /// Settings of an object store.
    pub storage: StorageOptions,
    /// The folder in which a store on an object store keeps its names for the next opening. Where `None`, in `names` of
    /// `LAKERACE_CACHE_DIR`, else of
    /// `lakerace` in the user's folder of caches.
    pub cache_folder: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            create: true,
            read_only: false,
            durability: Durability::default(),
            compression: None,
            pack_bytes: None,
            transforms: Vec::new(),
            key: None,
            encrypt: false,
            busy_timeout: Duration::from_secs(60),
            page_bytes: 8192,
            wal_limit_bytes: 64 << 20,
            storage: StorageOptions::default(),
            cache_folder: None,
        }
    }
}

#[cfg(test)]
mod tests;
