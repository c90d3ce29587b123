//! Requests to AWS's Security Token Service (STS), which returns the credentials of a role.
//!
//! <https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html>

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Uri};
use object_store::aws::{AwsAuthorizer, AwsCredential};
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpRequestBody};
use url::form_urlencoded::Serializer;

use super::expiring::FetchedCredential;
use super::sts_answer::{ENDPOINT, credentials, refusal};
use super::{StoreClient, client_options};
use crate::error::{Error, ErrorKind, Result};
use crate::store::error::{find, one_line, root_cause};
use crate::store::settings::StoreSettings;
use crate::store::wrap::{NoRedirectConnector, RefusedAnswer};

/// Time for an answer, unless a setting gives one.
const PATIENCE: Duration = Duration::from_secs(30);

/// Pauses before a request is repeated that was not answered.
const PAUSES: [Duration; 3] = [Duration::from_millis(200), Duration::from_millis(600), Duration::from_millis(1800)];

/// The version of the interface.
const VERSION: &str = "2011-06-15";

/// The region of the global endpoint.
const GLOBAL_REGION: &str = "us-east-1";

/// Regions whose requests go to the global endpoint, where `sts_regional_endpoints` is `legacy`.
const LEGACY_REGIONS: [&str; 16] = [
    "ap-northeast-1",
    "ap-south-1",
    "ap-southeast-1",
    "ap-southeast-2",
    "aws-global",
    "ca-central-1",
    "eu-central-1",
    "eu-north-1",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-west-1",
    "us-west-2",
];

/// A client of the service in one region.
pub(super) struct StsClient {
    http: HttpClient,
    url: Uri,
    region: String,
    retry_time: Duration,
}

impl StsClient {
    /// The client of the endpoint that the settings name, else of the region's.
    pub(super) fn new(settings: &StoreSettings, client: &StoreClient) -> Result<Self> {
        let region = settings.value("aws_region").or_else(|| settings.value("aws_default_region"));
        let name =
            if settings.value("aws_endpoint_url_sts").is_some() { "aws_endpoint_url_sts" } else { "aws_endpoint" };
        let (url, region) = match settings.endpoint(name, "aws_allow_http")? {
            Some(url) => (url.to_string(), region.unwrap_or(GLOBAL_REGION)),
            None => amazon_endpoint(region, settings.has_global_sts()),
        };
        let mut options = client_options(client, settings).with_allow_http(url.starts_with("http:"));
        if settings.value("timeout").is_none() {
            options = options.with_timeout(PATIENCE);
        }
        let http = NoRedirectConnector::default().connect(&options);
        Ok(Self {
            http: http.map_err(|e| Error::internal("the HTTP client could not be created").because(e))?,
            url: url.parse().map_err(|e| Error::usage("the address of STS is not valid").because(e))?,
            region: region.to_owned(),
            retry_time: client.retry.retry_timeout,
        })
    }

    /// The host of the service, for messages.
    pub(super) fn host(&self) -> &str {
        self.url.authority().map_or("", |authority| authority.as_str())
    }

    /// Requests the credentials of a role. A request that was not answered is repeated.
    pub(super) async fn assume_role(
        &self,
        parameters: &[(&str, &str)],
        credential: &AwsCredential,
    ) -> Result<FetchedCredential> {
        let always = [("Action", "AssumeRole"), ("Version", VERSION)];
        let body = Serializer::new(String::new()).extend_pairs(always).extend_pairs(parameters).finish();
        let body = Bytes::from(body);
        let started = Instant::now();
        let mut pauses = PAUSES.into_iter();
        loop {
            let error = match self.send(body.clone(), credential).await.and_then(|answer| credentials(&answer)) {
                Err(error) if error.kind() == ErrorKind::Unavailable => error,
                done => return done,
            };
            match pauses.next().filter(|pause| started.elapsed() + *pause < self.retry_time) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(error),
            }
        }
    }

    async fn send(&self, body: Bytes, credential: &AwsCredential) -> Result<Bytes> {
        let mut request = HttpRequest::new(HttpRequestBody::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        let form = HeaderValue::from_static("application/x-www-form-urlencoded; charset=utf-8");
        request.headers_mut().insert(CONTENT_TYPE, form);
        AwsAuthorizer::new(credential, "sts", &self.region)
            .try_authorize(&mut request, None)
            .map_err(|e| Error::internal("the request to STS could not be signed").because(e))?;
        let answer = self.http.execute(request).await.map_err(no_answer)?;
        let status = answer.status().as_u16();
        let body = answer.into_body().bytes().await.map_err(no_answer)?;
        match status {
            200 => Ok(body),
            _ => {
                Err(refusal(status, &body, &[&credential.secret_key, credential.token.as_deref().unwrap_or_default()]))
            }
        }
    }
}

/// Amazon's endpoint, and the region for which requests to it are signed.
fn amazon_endpoint(region: Option<&str>, is_legacy: bool) -> (String, &str) {
    match region {
        Some(region) if !(is_legacy && LEGACY_REGIONS.contains(&region)) && region != "aws-global" => {
            let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
            (format!("https://sts.{region}.{domain}"), region)
        }
        _ => ("https://sts.amazonaws.com".to_owned(), GLOBAL_REGION),
    }
}

fn no_answer(error: HttpError) -> Error {
    let cause = one_line(&root_cause(&error));
    let (kind, problem) = match find::<RefusedAnswer>(&error) {
        Some(refused) => (ErrorKind::Invalid, format!("STS can't be used: {refused}")),
        None => (ErrorKind::Unavailable, format!("STS does not answer: {cause}")),
    };
    let advice = format!("check the network, and {ENDPOINT} if it is set, then run it again");
    Error::new(kind, problem).advice(advice).caused_by(error)
}

#[cfg(test)]
mod tests;
