//! Pipes as objects.

use std::sync::Arc;

use super::{Pipe, SpooledPipe};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::store;
use crate::store::object::{JobStore, Object};

impl Pipe {
    /// The pipe as an object of unknown size that only [`Self::reader`] and [`Self::peek`] read.
    pub fn object(self: &Arc<Self>, job: &Job) -> Object {
        let store = JobStore { pipe: Some(Arc::clone(self)), ..store::memory("", job) };
        Object { size_bytes: Some(0), ..store.object(object_store::path::Path::from("pipe")) }
    }

    /// All bytes as a file that can be read at any position: a temporary one that no other user can read and that is
    /// deleted when the process ends. Blocks until the pipe has ended.
    pub fn spooled_object(self: &Arc<Self>, why: &str, job: &Job) -> Result<Object> {
        let known = self.lock().spooled.as_ref().map(SpooledPipe::path);
        let path = match known {
            Some(path) => path,
            None => {
                let (spooled, bytes) = SpooledPipe::fill(self.reader(job)?, job)?;
                job.warn(&format!(
                    "{}: {bytes} bytes were first written to a temporary file in {}, because {why}",
                    self.name,
                    std::env::temp_dir().display()
                ));
                self.lock().spooled.insert(spooled).path()
            }
        };
        let path = object_store::path::Path::parse(&path).map_err(|e| Error::unexpected(e).at(&self.name))?;
        let store = JobStore { pipe: Some(Arc::clone(self)), ..store::local(job) };
        Ok(store.object(path))
    }
}
