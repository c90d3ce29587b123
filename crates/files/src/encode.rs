//! The stored form of contents: compressed, then transformed, piece by piece.
//!
//! A content is cut into pieces of [`PIECE_BYTES`], each encoded separately, so that any part can be read without the
//! others. A piece whose compressed form is no smaller stays raw, which its length shows.

mod codec;
mod dictionary;
mod transform;

use std::mem::MaybeUninit;
use std::sync::Arc;

use lakerace_io::{Error, Result};

pub(crate) use dictionary::{TrainedDictionary, TrainingSamples};
pub use transform::{SecretKey, Transform};

use crate::options::{Codec, Compression, Options};

/// The decoded bytes of a piece; the last one of a content is shorter.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// How a content is encoded: `zstd dictionary=3; base64; aes-256-gcm key=1a2b3c4d`.
#[derive(Debug)]
pub(crate) struct Encoding {
    pub(crate) codec: Codec,
    pub(crate) dictionary: Option<Arc<TrainedDictionary>>,
    pub(crate) chain: Vec<Arc<dyn Transform>>,
    pub(crate) text: String,
}

impl Encoding {
    /// Returns true if stored bytes are the content's own.
    pub(crate) fn is_plain(&self) -> bool {
        self.codec == Codec::None && self.chain.is_empty()
    }

    /// Appends the stored form of piece number `piece` to `out`.
    pub(crate) fn encode(&self, piece: u64, data: &[u8], level: i32, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let dictionary = self.dictionary.as_deref();
        let kept = self.codec != Codec::None && {
            codec::compress(self.codec, level, dictionary, data, out)?;
            out.len() - start < data.len()
        };
        if !kept {
            out.truncate(start);
            out.extend_from_slice(data);
        }
        for transform in &self.chain {
            let applied = transform.apply(piece, &out[start..]).map_err(|e| e.at(transform.spec()))?;
            out.truncate(start);
            out.extend_from_slice(&applied);
        }
        Ok(())
    }

    /// Decodes a piece into `out`, which has exactly its length.
    pub(crate) fn decode(&self, piece: u64, stored: &[u8], out: &mut [MaybeUninit<u8>]) -> Result<()> {
        let mut removed: Option<Vec<u8>> = None;
        for transform in self.chain.iter().rev() {
            let stored = removed.as_deref().unwrap_or(stored);
            removed = Some(transform.remove(piece, stored).map_err(|e| e.at(transform.spec()))?);
        }
        let packed = removed.as_deref().unwrap_or(stored);
        if packed.len() == out.len() {
            copy(packed, out);
            return Ok(());
        }
        if self.codec == Codec::None {
            return Err(Error::corrupt(format!("{} bytes are stored instead of {}", packed.len(), out.len())));
        }
        codec::decompress(self.codec, self.dictionary.as_deref(), packed, zeroed(out))
    }
}

/// Copies into memory that nothing was written to yet; both have one length.
pub(crate) fn copy(from: &[u8], to: &mut [MaybeUninit<u8>]) {
    to.write_copy_of_slice(from);
}

/// The memory with zeros in it.
pub(crate) fn zeroed(out: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    out.fill(MaybeUninit::new(0));
    // SAFETY: every byte has just been written.
    unsafe { out.assume_init_mut() }
}

/// The tools by which a store encodes and decodes.
#[derive(Debug)]
pub(crate) struct EncodingContext {
    transforms: Vec<Arc<dyn Transform>>,
    aes: Option<Arc<dyn Transform>>,
    encrypt: bool,
}

impl EncodingContext {
    pub(crate) fn new(options: &Options) -> Result<Self> {
        if options.encrypt && options.key.is_none() {
            return Err(Error::usage("encryption requires a key").advice("give a key of 32 bytes"));
        }
        let aes = options.key.as_ref().map(|key| Arc::new(transform::AesTransform::new(key)) as Arc<dyn Transform>);
        Ok(Self { transforms: options.transforms.clone(), aes, encrypt: options.encrypt })
    }

    /// The encoding of new contents.
    pub(crate) fn encoding(&self, compression: Compression, dictionary: Option<Arc<TrainedDictionary>>) -> Encoding {
        let mut chain = self.transforms.clone();
        chain.extend(self.aes.iter().filter(|_| self.encrypt).cloned());
        let mut text = compression.codec.name().to_owned();
        if let Some(dictionary) = &dictionary {
            text += &format!(" dictionary={}", dictionary.id);
        }
        for transform in &chain {
            text += "; ";
            text += &transform.spec();
        }
        Encoding { codec: compression.codec, dictionary, chain, text }
    }

    /// The encoding that a file names. `dictionary` gives one by its number. A missing key or transform is an error of kind
    /// `Usage`, a wrong key of kind `Invalid`, an unknown codec of kind `Unsupported`.
    pub(crate) fn parse(
        &self,
        text: &str,
        dictionary: &mut dyn FnMut(u32) -> Result<Arc<TrainedDictionary>>,
    ) -> Result<Encoding> {
        let mut stages = text.split("; ");
        let mut words = stages.next().unwrap_or_default().split(' ');
        let name = words.next().unwrap_or_default();
        let unknown = || {
            Error::unsupported(format!("the content uses an unknown codec: {name:?}"))
                .advice("read it with a newer version of lakerace")
        };
        let codec = Codec::ALL.into_iter().find(|codec| codec.name() == name).ok_or_else(unknown)?;
        let number = words.next().map(|word| word.strip_prefix("dictionary=").and_then(|id| id.parse().ok()));
        let dictionary = match number {
            None => None,
            Some(Some(id)) => Some(dictionary(id)?),
            Some(None) => return Err(unknown()),
        };
        let chain = stages.map(|stage| self.transform(stage)).collect::<Result<Vec<_>>>()?;
        Ok(Encoding { codec, dictionary, chain, text: text.to_owned() })
    }

    fn transform(&self, spec: &str) -> Result<Arc<dyn Transform>> {
        if let Some(id) = spec.strip_prefix(transform::AES_SPEC) {
            return match &self.aes {
                Some(aes) if aes.spec() == spec => Ok(Arc::clone(aes)),
                Some(aes) => {
                    let own = aes.spec();
                    let own = own.strip_prefix(transform::AES_SPEC).unwrap_or_default();
                    Err(Error::invalid(format!("the content is encrypted with key {id}, but the given key is {own}"))
                        .advice("open the store with the key that it was written with"))
                }
                None => Err(Error::usage(format!("the content is encrypted with key {id}"))
                    .advice("open the store with its key")),
            };
        }
        if let Some(known) = self.transforms.iter().find(|transform| transform.spec() == spec) {
            return Ok(Arc::clone(known));
        }
        if spec == transform::Base64Transform.spec() {
            return Ok(Arc::new(transform::Base64Transform));
        }
        Err(Error::usage(format!("the content is stored with the transform {spec}"))
            .advice("open the store with this transform"))
    }
}

impl dyn Transform {
    /// The built-in transform of this name: `base64`.
    pub fn named(name: &str) -> Result<Arc<dyn Transform>> {
        match name {
            "base64" => Ok(Arc::new(transform::Base64Transform)),
            _ => Err(Error::usage(format!("unknown transform {name:?}"))
                .advice("the known transform is base64; encryption is turned on by giving a key")),
        }
    }
}

#[cfg(test)]
mod tests;
