//! The maximum length of the path of a data file, which includes values of partitions.

use lakerace_io::option::PARTITION_BY;
use lakerace_io::{Error, Object, Result};

/// Bytes of a file's or folder's name on a local disk.
const NAME_BYTES: usize = 255;
/// Bytes of an object's key on S3.
const KEY_BYTES: usize = 1024;

/// Returns an error where the path of a file is longer than its store allows; it names the column `name=…` of the
/// longest folder.
pub(super) fn check_path(object: &Object) -> Result<()> {
    let path = object.path.as_ref();
    let is_fine = match object.store.has_local_files() {
        true => path.split('/').all(|part| part.len() <= NAME_BYTES),
        false => path.len() <= KEY_BYTES,
    };
    if is_fine {
        return Ok(());
    }
    let longest = path.split('/').max_by_key(|part| part.len()).unwrap_or_default();
    let (column, value) = longest.split_once('=').unwrap_or(("", longest));
    let limit = match object.store.has_local_files() {
        true => format!("a folder's name has at most {NAME_BYTES} bytes, but {column}=… has {}", longest.len()),
        false => format!("an object's key has at most {KEY_BYTES} bytes, but this one has {}", path.len()),
    };
    let begin: String = value.chars().take(20).collect();
    Err(Error::invalid(format!("the value of a partition column is too long for a path: {limit}"))
        .at(format!("partition column {column:?}, value {begin:?}…"))
        .advice(format!("partition the table by another column with {PARTITION_BY}, or shorten the value")))
}
