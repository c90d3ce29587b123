//! Appending to files that others append to at the same time.

use std::time::Duration;

use lakerace_io::{ErrorKind, Result};

use super::Store;
use crate::content_copy::copy;
use crate::home::{FileVersion, IfExists, PendingAppend, PutOptions};

/// Attempts after which the next one waits a moment: other writers were faster each time.
const QUICK_ATTEMPTS: u32 = 8;

/// The longest such moment, in milliseconds.
const MOMENT_MS: u64 = 20;

/// Appends in one step: to the file itself where the home supports it, otherwise by a new content that replaces the old
/// one. If another writer was faster, this is repeated on the new content.
pub(super) fn append(store: &Store, name: &str, tail: &mut dyn PendingAppend, options: &PutOptions) -> Result<()> {
    if store.home().append_in_place(name, tail, options)? {
        return Ok(());
    }
    for attempt in 0_u32.. {
        let before = store.version(name)?;
        match replace(store, name, before, tail, options) {
            Err(e)
                if matches!(e.kind(), ErrorKind::Conflict | ErrorKind::NotFound) && store.version(name)? != before => {}
            done => return done,
        }
        if attempt >= QUICK_ATTEMPTS {
            std::thread::sleep(Duration::from_millis(rand::random_range(0..MOMENT_MS)));
        }
    }
    Ok(())
}

/// Puts the content of the version `before` and the tail in the place of that version.
fn replace(
    store: &Store,
    name: &str,
    before: Option<FileVersion>,
    tail: &mut dyn PendingAppend,
    options: &PutOptions,
) -> Result<()> {
    let if_exists = IfExists::ReplaceVersion(before.unwrap_or(FileVersion::ABSENT));
    let mut options = PutOptions { if_exists, ..options.clone() };
    let mut old = None;
    if before.is_some() {
        old = Some(store.open_read(name)?);
        if options.metadata.is_none() {
            options.metadata = store.stat(name)?.and_then(|stat| stat.metadata);
        }
    }
    let mut writer = store.create(name, &options)?;
    if let Some(old) = &mut old {
        copy(&mut **old, &mut |bytes| writer.write(bytes))?;
    }
    tail.give(&mut |bytes| writer.write(bytes))?;
    writer.finish()
}
