//! The region of a bucket, if no setting gives it: Amazon returns it without credentials.

use std::time::Duration;

use object_store::ClientOptions;
use object_store::client::{HttpConnector, HttpRequest, HttpRequestBody};

use super::{StoreClient, client_options};
use crate::error::Result;
use crate::store::kind::{RegionSource, StoreRegion};
use crate::store::settings::StoreSettings;
use crate::store::wrap::{RefusedAnswer, bucket_region};

/// Time for the one question.
const PATIENCE: Duration = Duration::from_secs(10);

/// The region in the settings, else the one that Amazon returns for the bucket. `None` for other stores, or if the
/// request failed; `object_store` then uses us-east-1.
pub(super) fn find(
    bucket: &str,
    settings: &StoreSettings,
    has_endpoint: bool,
    client: &StoreClient,
) -> Result<Option<StoreRegion>> {
    for name in ["aws_region", "aws_default_region"] {
        if let Some(region) = settings.value(name) {
            return Ok(Some(StoreRegion { name: region.to_owned(), source: RegionSource::Settings }));
        }
    }
    if has_endpoint {
        return Ok(None);
    }
    // A name with dots is not a host name for which a certificate is valid.
    let url = match bucket.contains('.') {
        true => format!("https://s3.amazonaws.com/{bucket}"),
        false => format!("https://{bucket}.s3.amazonaws.com/"),
    };
    ask(&url, client, &client_options(client, settings))
}

/// Asks a server for the region of the bucket that a URL names.
fn ask(url: &str, client: &StoreClient, options: &ClientOptions) -> Result<Option<StoreRegion>> {
    let Ok(uri) = url.parse() else { return Ok(None) };
    let Ok(connected) = client.again().connector.connect(options) else { return Ok(None) };
    let mut request = HttpRequest::new(HttpRequestBody::empty());
    *request.method_mut() = http::Method::HEAD;
    *request.uri_mut() = uri;
    // This runs on another thread: the caller may be one of the runtime's.
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    crate::runtime()?.spawn(async move {
        let answer = tokio::time::timeout(PATIENCE, connected.execute(request)).await;
        let region = match answer {
            Ok(Ok(answer)) => bucket_region(answer.headers()),
            Ok(Err(error)) => redirected(&error),
            Err(_) => None,
        };
        let _ = sender.send(region);
    });
    let found = receiver.recv_timeout(PATIENCE + Duration::from_secs(1)).ok().flatten();
    Ok(found.map(|name| StoreRegion { name, source: RegionSource::Amazon }))
}

/// The region that a redirect names.
fn redirected(error: &object_store::client::HttpError) -> Option<String> {
    let mut cause = std::error::Error::source(error);
    while let Some(found) = cause {
        if let Some(RefusedAnswer::Redirect { region, .. }) = found.downcast_ref::<RefusedAnswer>() {
            return region.clone();
        }
        cause = found.source();
    }
    None
}

#[cfg(test)]
mod tests;
