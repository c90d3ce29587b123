//! The region of a bucket, where nothing says it: Amazon tells it to anyone who asks.

use std::fmt;
use std::time::Duration;

use object_store::client::{HttpConnector, HttpRequest, HttpRequestBody};

use super::StoreClient;
use crate::Result;
use crate::store::settings::Settings;
use crate::store::wrap::Refused;

/// A region, and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BucketRegion {
    pub name: String,
    source: &'static str,
}

impl fmt::Display for BucketRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.source)
    }
}

/// Time for the one question.
const PATIENCE: Duration = Duration::from_secs(10);

/// The region that settings say, else the one that Amazon tells of the bucket. `None`: that of other stores, or where the
/// question failed; `object_store` then takes us-east-1.
pub(super) fn find(
    bucket: &str,
    settings: &Settings,
    has_endpoint: bool,
    client: &StoreClient,
) -> Result<Option<BucketRegion>> {
    for name in ["aws_region", "aws_default_region"] {
        if let Some(region) = settings.value(name) {
            return Ok(Some(BucketRegion { name: region.to_owned(), source: "by settings" }));
        }
    }
    if has_endpoint {
        return Ok(None);
    }
    // A name with dots is no name of a host that a certificate is good for.
    let url = match bucket.contains('.') {
        true => format!("https://s3.amazonaws.com/{bucket}"),
        false => format!("https://{bucket}.s3.amazonaws.com/"),
    };
    ask(&url, client)
}

/// Asks a server for the region of the bucket that a URL names.
fn ask(url: &str, client: &StoreClient) -> Result<Option<BucketRegion>> {
    let Ok(uri) = url.parse() else { return Ok(None) };
    let Ok(connected) = client.again().connector.connect(&client.options) else { return Ok(None) };
    let mut request = HttpRequest::new(HttpRequestBody::empty());
    *request.method_mut() = http::Method::HEAD;
    *request.uri_mut() = uri;
    // On a thread of its own: the caller may be one of the runtime's.
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    crate::runtime()?.spawn(async move {
        let answer = tokio::time::timeout(PATIENCE, connected.execute(request)).await;
        let region = match answer {
            Ok(Ok(answer)) => {
                answer.headers().get("x-amz-bucket-region").and_then(|v| v.to_str().ok()).map(str::to_owned)
            }
            Ok(Err(error)) => redirected(&error),
            Err(_) => None,
        };
        let _ = sender.send(region);
    });
    let found = receiver.recv_timeout(PATIENCE + Duration::from_secs(1)).ok().flatten();
    Ok(found.map(|name| BucketRegion { name, source: "asked of Amazon" }))
}

/// The region that a redirect names.
fn redirected(error: &object_store::client::HttpError) -> Option<String> {
    let mut cause = std::error::Error::source(error);
    while let Some(found) = cause {
        if let Some(Refused::Redirect { region, .. }) = found.downcast_ref::<Refused>() {
            return region.clone();
        }
        cause = found.source();
    }
    None
}

#[cfg(test)]
mod tests;
