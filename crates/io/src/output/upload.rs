//! An object under way to an object store: one PUT, or parts sent while the caller continues.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use lakerace_exec::WatchedValue;
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, CopyMode, CopyOptions, GetOptions, MultipartUpload, ObjectStore, ObjectStoreExt, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, UploadPart,
};
use tokio::task::AbortHandle;

use super::IfExists;
use super::in_flight::{InFlight, PartPermit};
use crate::error::{Error, Result};
use crate::job::block_with_grace;
use crate::option::MODE;
use crate::store::error::{is_transient, store_error};
use crate::store::object::JobStore;
use crate::store::wrap::if_absent;

/// The first parts' size. S3 takes 5 MiB at least, and 10,000 parts at most.
const PART_BYTES: usize = 8 << 20;

/// Parts double after this many parts: 10,000 parts are then 8 TB, more than the limit of an object.
const PARTS_OF_A_SIZE: usize = 1000;

/// Limit of bytes of parts under way, unless the caller sets it. A row group arrives all together, and the caller
/// continues with the next one while it is on its way.
const IN_FLIGHT_BYTES: usize = 128 << 20;

/// Smaller writes are copied together, so that a part does not consist of thousands of them.
const SMALL_WRITE_BYTES: usize = 64 << 10;

/// The metadata entry by which an upload recognizes the object that it made. Azure accepts only letters and digits.
const UPLOAD_METADATA: Attribute = Attribute::Metadata(Cow::Borrowed("lakeraceupload"));

#[derive(Debug)]
pub(super) struct MultipartOutput {
    store: JobStore,
    path: Path,
    /// The path at which parts become an object: another name than `path` if the store does not support a condition at
    /// that step.
    parts_path: Path,
    url: String,
    if_exists: IfExists,
    pending: Vec<Bytes>,
    pending_bytes: usize,
    small: BytesMut,
    multipart: Option<Multipart>,
    /// The value of [`UPLOAD_METADATA`] of an object of several parts.
    token: String,
    parts: usize,
    sent_bytes: u64,
    tasks: Vec<AbortHandle>,
    under_way: Arc<WatchedValue<SentParts>>,
    in_flight: InFlight,
    published: bool,
}

/// Returns true if the object exists, and was made by the upload with this token.
async fn is_made_by(store: &Arc<dyn ObjectStore>, path: &Path, token: &str) -> bool {
    let head = store.get_opts(path, GetOptions { head: true, ..GetOptions::default() }).await;
    head.is_ok_and(|made| made.attributes.get(&UPLOAD_METADATA).is_some_and(|value| value.as_ref() == token))
}

/// Locked while it is completed, so that a completion that was cancelled can still be given up. Otherwise free.
type Multipart = Arc<tokio::sync::Mutex<Box<dyn MultipartUpload>>>;

/// Parts that are being sent.
#[derive(Debug, Default)]
struct SentParts {
    bytes: usize,
    error: Option<Error>,
}

impl SentParts {
    fn check(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }
}

impl MultipartOutput {
    pub(super) fn create(store: &JobStore, path: &Path, if_exists: IfExists) -> Result<Self> {
        if if_exists == IfExists::Error && store.stat(path)?.is_some() {
            return Err(exists().at(store.url(path)));
        }
        let token = format!("{:032x}", rand::random::<u128>());
        let is_copied = if_exists.is_error() && store.copies_conditional_parts();
        let parts_path = if is_copied { hidden_path(path, &token) } else { path.clone() };
        Ok(Self {
            store: store.clone(),
            path: path.clone(),
            parts_path,
            url: store.url(path),
            if_exists,
            pending: Vec::new(),
            pending_bytes: 0,
            small: BytesMut::new(),
            multipart: None,
            token,
            parts: 0,
            sent_bytes: 0,
            tasks: Vec::new(),
            under_way: Arc::default(),
            in_flight: InFlight::new(IN_FLIGHT_BYTES),
            published: false,
        })
    }

    pub(super) fn limit_in_flight(&mut self, in_flight: &InFlight) {
        self.in_flight = in_flight.clone();
    }

    pub(super) fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.store.job.check()?;
        self.pending_bytes += bytes.len();
        if bytes.len() < SMALL_WRITE_BYTES {
            self.small.extend_from_slice(&bytes);
        } else {
            self.gather_small();
            self.pending.push(bytes);
        }
        // One byte more than a part is held back: an object of exactly one part needs no multipart upload.
        while self.pending_bytes > self.part_bytes() {
            self.gather_small();
            let part = self.take(self.part_bytes());
            self.send_part(part)?;
        }
        Ok(())
    }

    /// The bytes that are kept back for the next part, and parts that are under way.
    pub(super) fn unsent_bytes(&self) -> u64 {
        (self.pending_bytes + self.under_way.lock().bytes) as u64
    }

    pub(super) fn prepare(&mut self) -> Result<()> {
        self.send_rest()?;
        self.wait_until(|sending| sending.bytes == 0)
    }

    /// Sends the rest of an object of several parts, and does not wait for them.
    pub(super) fn send_rest(&mut self) -> Result<()> {
        self.gather_small();
        if self.multipart.is_some() && self.pending_bytes > 0 {
            let part = self.take(self.pending_bytes);
            self.send_part(part)?;
        }
        Ok(())
    }

    pub(super) fn publish(&mut self) -> Result<()> {
        let url = self.url.clone();
        match self.multipart.clone() {
            Some(multipart) => self.complete(multipart)?,
            None => {
                let payload: PutPayload = self.take(self.pending_bytes).into_iter().collect();
                let mode = if self.if_exists.is_error() { PutMode::Create } else { PutMode::Overwrite };
                let (store, path) = (Arc::clone(&self.store.store), self.path.clone());
                self.store.wait(async move {
                    store.put_opts(&path, payload, PutOptions::from(mode)).await.map_err(|e| store_error(e, &url))
                })?;
            }
        }
        self.published = true;
        Ok(())
    }

    fn complete(&self, multipart: Multipart) -> Result<()> {
        let (store, path, url, token) =
            (Arc::clone(&self.store.store), self.path.clone(), self.url.clone(), self.token.clone());
        let hidden = (self.parts_path != self.path).then(|| self.parts_path.clone());
        let must_be_absent = self.if_exists.is_error();
        self.store.wait(async move {
            let mut multipart = multipart.lock().await;
            let mut outcome =
                if must_be_absent { if_absent(multipart.complete()).await } else { multipart.complete().await }
                    .map(drop);
            if let Some(hidden) = &hidden {
                // The answer may have been lost after the object was made.
                if outcome.as_ref().is_err_and(is_transient) && is_made_by(&store, hidden, &token).await {
                    outcome = Ok(());
                }
                if outcome.is_ok() {
                    outcome = store.copy_opts(hidden, &path, CopyOptions::new().with_mode(CopyMode::Create)).await;
                }
                // If this fails, the remaining object has a name that no listing of data shows.
                let _ = store.delete(hidden).await;
            }
            let Err(error) = outcome else { return Ok(()) };
            let refused = must_be_absent
                && matches!(
                    error,
                    object_store::Error::Precondition { .. } | object_store::Error::AlreadyExists { .. }
                );
            // The answer may have been lost after the object was made: its metadata shows which upload made it.
            if (refused || is_transient(&error)) && is_made_by(&store, &path, &token).await {
                return Ok(());
            }
            let _ = multipart.abort().await;
            Err(if refused { exists().at(&url) } else { store_error(error, &url) })
        })
    }

    fn part_bytes(&self) -> usize {
        PART_BYTES << (self.parts / PARTS_OF_A_SIZE).min(9)
    }

    fn gather_small(&mut self) {
        if !self.small.is_empty() {
            self.pending.push(self.small.split().freeze());
        }
    }

    /// Takes the first `n` of the pending bytes, without copying them.
    fn take(&mut self, n: usize) -> Vec<Bytes> {
        let mut taken = Vec::new();
        let mut missing = n;
        let mut used = 0;
        for chunk in &mut self.pending {
            if missing == 0 {
                break;
            }
            let part = chunk.split_to(chunk.len().min(missing));
            missing -= part.len();
            taken.push(part);
            used += usize::from(chunk.is_empty());
        }
        self.pending.drain(..used);
        self.pending_bytes -= n - missing;
        taken
    }

    fn send_part(&mut self, chunks: Vec<Bytes>) -> Result<()> {
        let payload: PutPayload = chunks.into_iter().collect();
        let bytes = payload.content_length();
        let permit = self.in_flight.permit(bytes, &self.store.job, || self.check_parts())?;
        if self.multipart.is_none() {
            let (store, path, url) = (Arc::clone(&self.store.store), self.parts_path.clone(), self.url.clone());
            let mut attributes = Attributes::new();
            attributes.insert(UPLOAD_METADATA, self.token.clone().into());
            let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
            let begun = self
                .store
                .wait(async move { store.put_multipart_opts(&path, options).await.map_err(|e| store_error(e, &url)) });
            self.multipart = Some(Arc::new(tokio::sync::Mutex::new(begun?)));
        }
        let part = self.multipart.as_ref().and_then(|multipart| Some(multipart.try_lock().ok()?.put_part(payload)));
        let part = part.ok_or_else(|| Error::internal("no upload is in progress"))?;
        self.parts += 1;
        self.sent_bytes += bytes as u64;
        self.spawn(part, bytes, permit)
    }

    fn spawn(&mut self, part: UploadPart, bytes: usize, permit: PartPermit) -> Result<()> {
        self.under_way.lock().bytes += bytes;
        let (under_way, url) = (Arc::clone(&self.under_way), self.url.clone());
        let task = crate::runtime()?.spawn(async move {
            let outcome = part.await;
            let mut sending = under_way.lock();
            sending.bytes -= bytes;
            if let Err(e) = outcome {
                sending.error.get_or_insert(store_error(e, &url));
            }
            drop(sending);
            under_way.notify_all();
            // After an error was noted: a caller that waits for room checks for errors.
            drop(permit);
        });
        self.tasks.retain(|task| !task.is_finished());
        self.tasks.push(task.abort_handle());
        Ok(())
    }

    /// The error of a part that was not sent.
    fn check_parts(&self) -> Result<()> {
        self.under_way.lock().check()
    }

    fn wait_until(&self, reached: impl Fn(&SentParts) -> bool) -> Result<()> {
        let is_over = |sending: &SentParts| sending.check().map(|()| reached(sending));
        self.under_way.wait_until(&self.store.job, is_over).map(drop)
    }
}

/// A name in the same folder that readers of the folder pass over.
fn hidden_path(path: &Path, token: &str) -> Path {
    let name = format!(".lakerace-upload-{token}");
    path.parent().map_or_else(|| Path::from(name.as_str()), |folder| folder.join(name.as_str()))
}

fn exists() -> Error {
    Error::conflict("it already exists")
        .advice(format!("remove it, choose another name, or replace it with {}", MODE.to("overwrite")))
}

impl Drop for MultipartOutput {
    fn drop(&mut self) {
        if self.published {
            return;
        }
        for task in &self.tasks {
            task.abort();
        }
        let Some(multipart) = self.multipart.take() else { return };
        let hidden = (self.parts_path != self.path).then(|| (Arc::clone(&self.store.store), self.parts_path.clone()));
        // Neither the parts nor the hidden object made of them must be billed for ever.
        block_with_grace(async move {
            let _ = multipart.lock().await.abort().await;
            if let Some((store, hidden)) = hidden {
                let _ = store.delete(&hidden).await;
            }
        });
    }
}
