//! Transforms of contents after compression.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lakerace_io::{Error, Result};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};

/// A reversible change of bytes, such as an encryption.
///
/// A content of more than 256 KiB goes through it piece by piece.
pub trait Transform: fmt::Debug + Send + Sync {
    /// Its name, which files keep. No `; ` is in it.
    fn spec(&self) -> String;
    /// The changed bytes of piece number `piece` of a content.
    fn apply(&self, piece: u64, data: &[u8]) -> Result<Vec<u8>>;
    /// The bytes that [`Self::apply`] was given.
    fn remove(&self, piece: u64, data: &[u8]) -> Result<Vec<u8>>;
}

/// Base64 with padding.
#[derive(Debug)]
pub(super) struct Base64Transform;

impl Transform for Base64Transform {
    fn spec(&self) -> String {
        "base64".to_owned()
    }

    fn apply(&self, _piece: u64, data: &[u8]) -> Result<Vec<u8>> {
        Ok(STANDARD.encode(data).into_bytes())
    }

    fn remove(&self, _piece: u64, data: &[u8]) -> Result<Vec<u8>> {
        STANDARD.decode(data).map_err(|e| Error::corrupt("not valid base64").because(e))
    }
}

/// A key of 256 bits. It is not shown.
#[derive(Clone)]
pub struct SecretKey([u8; 32]);

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(***)")
    }
}

impl SecretKey {
    /// Takes 32 bytes; an error of kind `Usage` for another length.
    pub fn new(bytes: &[u8]) -> Result<Self> {
        let key = bytes.try_into().map_err(|_| {
            Error::usage(format!("a key must have 32 bytes, but this one has {}", bytes.len()))
                .advice("create one, for example with: openssl rand 32")
        })?;
        Ok(Self(key))
    }
}

/// The text in front of the key's number in an encoding.
pub(super) const AES_SPEC: &str = "aes-256-gcm key=";

/// Bytes in front of each piece, from which its key is derived.
const SALT_BYTES: usize = 16;

/// AES-256-GCM. Each piece has a separate key, derived by HKDF-SHA256 from the store's key and a random salt, so that
/// no two share key and nonce. The salt, the encrypted bytes and the tag of 16 bytes are stored; the piece's number is
/// authenticated.
pub(super) struct AesTransform {
    key: SecretKey,
    spec: String,
}

impl fmt::Debug for AesTransform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spec)
    }
}

/// The length of a key that HKDF derives.
struct DerivedLength(usize);

impl KeyType for DerivedLength {
    fn len(&self) -> usize {
        self.0
    }
}

impl AesTransform {
    pub(super) fn new(key: &SecretKey) -> Self {
        let mut id = [0_u8; 4];
        // HKDF gives any length up to 8,160 bytes.
        let _ = derive(key, b"", b"lakerace-files key id", &mut id);
        Self { key: key.clone(), spec: format!("{AES_SPEC}{:08x}", u32::from_be_bytes(id)) }
    }

    fn piece_key(&self, salt: &[u8]) -> Result<LessSafeKey> {
        let mut key = [0_u8; 32];
        derive(&self.key, salt, b"lakerace-files content", &mut key)?;
        let key = UnboundKey::new(&AES_256_GCM, &key).map_err(|_| Error::internal("AES requires a key of 32 bytes"))?;
        Ok(LessSafeKey::new(key))
    }
}

fn derive(key: &SecretKey, salt: &[u8], purpose: &[u8], out: &mut [u8]) -> Result<()> {
    let secret: Prk = Salt::new(HKDF_SHA256, salt).extract(&key.0);
    let derived = secret.expand(&[purpose], DerivedLength(out.len())).and_then(|okm| okm.fill(out));
    derived.map_err(|_| Error::internal("HKDF can't derive a key of this length"))
}

/// Keys are used once, so the nonce may be constant.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

impl Transform for AesTransform {
    fn spec(&self) -> String {
        self.spec.clone()
    }

    fn apply(&self, piece: u64, data: &[u8]) -> Result<Vec<u8>> {
        let mut salt = [0_u8; SALT_BYTES];
        crate::random::fill(&mut salt)?;
        let mut out = Vec::with_capacity(SALT_BYTES + data.len() + AES_256_GCM.tag_len());
        out.extend_from_slice(&salt);
        out.extend_from_slice(data);
        let tag = self
            .piece_key(&salt)?
            .seal_in_place_separate_tag(nonce(), Aad::from(piece.to_le_bytes()), &mut out[SALT_BYTES..])
            .map_err(|_| Error::internal("AES-GCM could not encrypt"))?;
        out.extend_from_slice(tag.as_ref());
        Ok(out)
    }

    fn remove(&self, piece: u64, data: &[u8]) -> Result<Vec<u8>> {
        let damaged = || Error::corrupt("the encrypted bytes differ from those that were written");
        let (salt, sealed) = data.split_at_checked(SALT_BYTES).ok_or_else(damaged)?;
        let mut opened = sealed.to_vec();
        let key = self.piece_key(salt)?;
        let len = key.open_in_place(nonce(), Aad::from(piece.to_le_bytes()), &mut opened).map_err(|_| damaged())?.len();
        opened.truncate(len);
        Ok(opened)
    }
}
