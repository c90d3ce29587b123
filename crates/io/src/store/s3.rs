//! Amazon S3 and stores that speak its interface.

use std::sync::Arc;

use object_store::ClientOptions;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::HttpRequest;

use super::kind::{BuiltStore, ConditionalParts, StoreAddress, StoreAdvice, StoreClient, StoreIdentity, StoreKind};
use super::settings::{StoreSettings, protects_bodies, refused_setting};
use crate::error::Result;
use crate::meter::RequestKind;

mod assume_role;
mod chain;
mod expiring;
mod foreign_options;
mod ini;
mod process;
mod profile;
mod profile_files;
mod region;
mod sso;
mod sts;
mod sts_answer;

/// Buckets of S3.
pub(crate) static S3: StoreKind = StoreKind {
    name: "S3",
    schemes: &["s3", "s3a"],
    container_schemes: &[],
    example: "s3://bucket/key",
    can_list: true,
    can_write: true,
    is_billed: true,
    can_put_if_absent: true,
    conditional_parts: ConditionalParts::OnCompletion,
    has_encoded_names: false,
    container: "bucket",
    common_options: &[
        "aws_access_key_id",
        "aws_secret_access_key",
        "aws_session_token",
        "aws_region",
        "aws_default_region",
        "aws_endpoint_url",
        "aws_allow_http",
        "aws_profile",
        "aws_skip_signature",
        "aws_virtual_hosted_style_request",
        "aws_request_payer",
    ],
    // Its own order of sources knows which of them belong together.
    identity_settings: &[],
    addresses: &["aws_endpoint_url_s3", "aws_endpoint_url_sts", "aws_endpoint", "aws_metadata_endpoint"],
    advice: StoreAdvice {
        no_credentials: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or AWS_SKIP_SIGNATURE=true for a public bucket",
        denied: "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and their permissions on this bucket",
        no_container: "check the name of the bucket, the region (AWS_REGION) and the endpoint (AWS_ENDPOINT_URL)",
        no_object: "check its name, which is case-sensitive, and the name of the bucket",
        no_store: "check AWS_ENDPOINT_URL: the server there is not an S3 store",
    },
    is_variable: |name| name.starts_with("AWS_"),
    setting: |name| config_key(name).map(|key| key.as_ref().to_owned()),
    foreign_option: foreign_options::foreign_option,
    defaults: chain::defaults,
    parse: |_, rest, shown| S3.bucket_and_key(rest, shown),
    bill,
    build,
};

/// The setting of `object_store` with this name.
fn config_key(name: &str) -> Option<AmazonS3ConfigKey> {
    name.to_ascii_lowercase().parse().ok()
}

/// The billing category of a request to S3.
fn bill(request: &HttpRequest) -> Option<RequestKind> {
    let query = request.uri().query().unwrap_or_default();
    // Every signed request to S3 carries this header; requests for credentials do not.
    let to_bucket =
        request.headers().contains_key("x-amz-content-sha256") || !is_credentials_path(request.uri().path());
    if !to_bucket {
        return None;
    }
    match request.method().as_str() {
        "GET" if query.contains("list-type=") => Some(RequestKind::List),
        "GET" => Some(RequestKind::Get),
        "HEAD" => Some(RequestKind::Head),
        "PUT" => Some(RequestKind::Put),
        "POST" if query.starts_with("delete") => Some(RequestKind::Delete),
        "POST" => Some(RequestKind::Put),
        "DELETE" => Some(RequestKind::Delete),
        _ => None,
    }
}

/// Instance metadata, container credentials and STS.
fn is_credentials_path(path: &str) -> bool {
    path.starts_with("/latest/") || path.starts_with("/v2/credentials") || path == "/"
}

fn builder(bucket: &str, client: StoreClient) -> AmazonS3Builder {
    AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_client_options(client.options)
        .with_http_connector(client.connector)
        .with_retry(client.retry)
}

/// The settings of a client, such as a proxy, for a request that is not to the bucket.
fn client_options(client: &StoreClient, settings: &StoreSettings) -> ClientOptions {
    settings.all().fold(client.options.clone(), |options, (name, value)| match config_key(name) {
        Some(AmazonS3ConfigKey::Client(key)) => options.with_config(key, value),
        _ => options,
    })
}

fn build(address: &StoreAddress, settings: &StoreSettings, client: StoreClient) -> Result<BuiltStore> {
    let bucket = address.container.as_str();
    let endpoint = match settings.value("aws_endpoint_url_s3") {
        Some(_) => settings.endpoint("aws_endpoint_url_s3", "aws_allow_http")?,
        None => settings.endpoint("aws_endpoint", "aws_allow_http")?,
    };
    let source = chain::credentials(settings, endpoint.is_some())?;
    let region = region::find(bucket, settings, endpoint.is_some(), &client)?;
    let again = client.again();
    // Hashing a body for its signature costs both sides a pass over all bytes.
    let mut builder = builder(bucket, client).with_unsigned_payload(protects_bodies(endpoint.as_ref()));
    if let Some(region) = &region {
        builder = builder.with_region(&region.name);
    }
    for (name, value) in settings.all() {
        // The URL names the bucket: AWS_BUCKET must not override it.
        if let Some(key) = config_key(name).filter(|key| *key != AmazonS3ConfigKey::Bucket) {
            builder = builder.with_config(key, value);
        }
    }
    if let Some(credentials) = settings.credentials() {
        builder = builder.with_credentials(Arc::new(credentials.clone()));
    }
    let is_signed = !settings.is_true("aws_skip_signature");
    let roles = if is_signed { settings.roles() } else { &[] };
    if !roles.is_empty() {
        // A store without roles has the credentials that assume the first one.
        let plain = built(builder.clone(), bucket, settings, &again)?;
        let credentials = assume_role::assume_roles(plain.credentials(), roles, settings, &again)?;
        builder = builder.with_credentials(credentials);
    }
    let store = built(builder, bucket, settings, &again)?;
    let credentials = roles.iter().fold(source, |source, role| format!("{role}, by {source}"));
    let identity = StoreIdentity { credentials, region, endpoint: endpoint.map(|url| url.to_string()) };
    Ok(BuiltStore { store: Arc::new(store), identity })
}

/// The client of a bucket. The error names the setting that is refused.
fn built(builder: AmazonS3Builder, bucket: &str, settings: &StoreSettings, client: &StoreClient) -> Result<AmazonS3> {
    builder.build().map_err(|error| {
        let is_refused = |name: &str, value: &str| {
            let Some(key) = config_key(name) else { return false };
            let plain = self::builder(bucket, client.again()).with_region("us-east-1").with_allow_http(true);
            let plain = plain.with_access_key_id("any").with_secret_access_key("any");
            plain.with_config(key, value).build().is_err()
        };
        refused_setting(&S3, settings, error, is_refused)
    })
}

#[cfg(test)]
mod tests;
