//! Names of files and folders, and the store behind them.

use object_store::path::Path;

use crate::option::STORAGE_OPTION;
use crate::path::{STANDARD_STREAM, file_url, local_path, split_scheme};
use crate::store;
use crate::store::options::StorageOptions;
use crate::{Error, Job, JobStore, Object, Result};

/// A local path or URL of bytes: `/a/b.parquet`, `./x/`, `file:///a`, `s3://bucket/key`, `memory://name/key`.
///
/// Keys of `s3://` and `memory://` are taken as they stand, as the AWS command does: `%` and `#` are
/// characters of the key. A `file://` URL is percent-decoded; a plain path is not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    text: String,
    target: Target,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Target {
    Local(Path),
    S3 { bucket: String, path: Path },
    Memory { name: String, path: Path },
}

const KNOWN: &str = "known are local paths, file://, s3:// and memory://";

impl Location {
    /// Parses a path or URL. Unknown schemes are an error of kind `Usage` that lists the known ones.
    pub fn parse(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::usage("the location is empty").advice("name a file, a folder or a URL"));
        }
        if text == STANDARD_STREAM {
            return Err(Error::usage("standard input and output have no place here")
                .at(text)
                .advice("a file of this name is ./-"));
        }
        let Some((scheme, rest)) = split_scheme(text) else {
            return Ok(Self { text: text.to_owned(), target: Target::Local(local_path(text, text)?) });
        };
        let shown = without_credentials(scheme, rest);
        let target = match scheme.to_ascii_lowercase().as_str() {
            "file" => Target::Local(file_url(rest, &shown)?),
            "s3" | "s3a" => {
                let (bucket, path) = bucket_and_key(rest, &shown)?;
                Target::S3 { bucket, path }
            }
            "memory" => {
                let (name, path) = bucket_and_key(rest, &shown)?;
                Target::Memory { name, path }
            }
            _ => {
                return Err(Error::usage(format!("unknown scheme {scheme:?}")).at(shown).advice(KNOWN));
            }
        };
        Ok(Self { text: shown, target })
    }

    /// As the user wrote it, without credentials.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The location in one spelling: of a local path the one from the root, without links, and of a folder the one without a slash
    /// at its end.
    pub fn canonical(&self) -> String {
        match &self.target {
            Target::Local(path) => canonical_path(std::path::Path::new(&format!("/{path}"))).display().to_string(),
            Target::S3 { bucket, path } => format!("s3://{bucket}/{path}"),
            Target::Memory { name, path } => format!("memory://{name}/{path}"),
        }
    }

    /// The store behind this location, metered by `job`, and the path in it (without trailing slash).
    pub fn open(&self, options: &StorageOptions, job: &Job) -> Result<(JobStore, Path)> {
        options.check_names()?;
        let (store, path) = match &self.target {
            Target::Local(path) => (store::local(job), path),
            Target::S3 { bucket, path } => (store::s3(bucket, options, job).map_err(|e| e.at(&self.text))?, path),
            Target::Memory { name, path } => (store::memory(name, job), path),
        };
        Ok((store, path.clone()))
    }

    /// The location as one object of unknown size. No request is sent.
    pub fn object(&self, options: &StorageOptions, job: &Job) -> Result<Object> {
        let (store, path) = self.open(options, job)?;
        Ok(store.object(path))
    }
}

/// A path from the root, without links as far as it exists.
pub fn canonical_path(path: &std::path::Path) -> std::path::PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for ancestor in whole.ancestors() {
        if let (Ok(found), Ok(rest)) = (std::fs::canonicalize(ancestor), whole.strip_prefix(ancestor)) {
            // Nothing is joined without a slash at the end.
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    whole
}

/// The URL as errors show it: without what stands before the host, and without a query that may sign a request.
fn without_credentials(scheme: &str, rest: &str) -> String {
    let keeps_query = matches!(scheme.to_ascii_lowercase().as_str(), "file" | "s3" | "s3a" | "memory");
    let rest = match rest.find('?') {
        Some(at) if !keeps_query || is_signed(rest) => &rest[..at],
        _ => rest,
    };
    let host_end = rest.find('/').unwrap_or(rest.len());
    let host = &rest[..host_end];
    match host.rfind('@') {
        Some(at) => format!("{scheme}://{}{}", &host[at + 1..], &rest[host_end..]),
        None => format!("{scheme}://{rest}"),
    }
}

/// Whether it has the query of a presigned URL, of version 4 or 2 of the signatures.
fn is_signed(rest: &str) -> bool {
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|part| {
        let name = part.split('=').next().unwrap_or_default().to_ascii_lowercase();
        matches!(name.as_str(), "x-amz-signature" | "x-amz-credential" | "x-amz-security-token" | "signature")
    })
}

fn bucket_and_key(rest: &str, shown: &str) -> Result<(String, Path)> {
    if is_signed(rest) {
        return Err(Error::usage("presigned URLs are not taken: they are for one request")
            .at(shown)
            .advice("write s3://bucket/key, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"));
    }
    let (host, key) = rest.split_once('/').unwrap_or((rest, ""));
    if host.contains('@') {
        return Err(Error::usage("credentials in a URL are not taken: they would end up in logs")
            .at(shown)
            .advice(format!("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or pass {STORAGE_OPTION}")));
    }
    if host.is_empty() {
        return Err(Error::usage("the URL names no bucket").at(shown).advice("write s3://bucket/key"));
    }
    let path = Path::parse(key).map_err(|e| Error::usage(format!("not a key: {e}")).at(shown))?;
    Ok((host.to_owned(), path))
}

#[cfg(test)]
mod tests;
