//! Who asks: an API key, a user, a signature of Amazon's, and certificates, from the location or the environment.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lakerace_io::object_store::aws::{AmazonS3, AmazonS3Builder, AwsAuthorizer};
use lakerace_io::object_store::client::{HttpRequest, HttpRequestBody};
use lakerace_io::{Error, Result};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::tls::{Certificate, Identity};

use super::location::SearchLocation;

/// An API key as the server gives it out, encoded.
const API_KEY: &str = "ELASTICSEARCH_API_KEY";
/// The user, where the location has none.
const USER: &str = "ELASTICSEARCH_USER";
/// Its password.
const PASSWORD: &str = "ELASTICSEARCH_PASSWORD";
/// `es` or `aoss`: requests are signed for that service of Amazon's, by the `AWS_*` variables.
const SIGV4: &str = "ELASTICSEARCH_SIGV4";
/// A PEM file of the certificates that the server's is signed by.
const CA: &str = "ELASTICSEARCH_CA";
/// A PEM file of this client's certificate.
const CLIENT_CERTIFICATE: &str = "ELASTICSEARCH_CLIENT_CERTIFICATE";
/// A PEM file of its key.
const CLIENT_KEY: &str = "ELASTICSEARCH_CLIENT_KEY";

/// How requests say who asks. It has no `Debug`, so that nothing prints it.
#[derive(Clone)]
pub(super) enum RequestCredentials {
    /// No one.
    None,
    /// The value of the header `Authorization`.
    Header(HeaderValue),
    /// A signature of each request.
    Signature(Arc<AmazonSigner>),
}

/// Signs requests as Amazon's services want it.
pub(super) struct AmazonSigner {
    store: AmazonS3,
    service: String,
    region: String,
}

impl RequestCredentials {
    /// Collects the credentials of the location, else of the environment.
    pub fn gather(location: &SearchLocation) -> Result<Self> {
        if let Some((user, password)) = &location.user {
            return basic(user, password);
        }
        if let Some(key) = variable(API_KEY) {
            return header(format!("ApiKey {key}"));
        }
        if let Some(user) = variable(USER) {
            return basic(&user, &variable(PASSWORD).unwrap_or_default());
        }
        match variable(SIGV4) {
            Some(service) => Ok(Self::Signature(Arc::new(AmazonSigner::new(service)?))),
            None => Ok(Self::None),
        }
    }

    /// The headers that say who sends this request.
    pub async fn headers(&self, method: &str, url: &str, body: &bytes::Bytes) -> Result<HeaderMap> {
        match self {
            Self::None => Ok(HeaderMap::new()),
            Self::Header(value) => Ok(HeaderMap::from_iter([(AUTHORIZATION, value.clone())])),
            Self::Signature(signer) => signer.sign(method, url, body).await,
        }
    }
}

impl AmazonSigner {
    fn new(service: String) -> Result<Self> {
        if service != "es" && service != "aoss" {
            return Err(Error::usage(format!(
                "{SIGV4} must be es or aoss, for OpenSearch Service or OpenSearch Serverless"
            )));
        }
        let region = variable("AWS_REGION")
            .or_else(|| variable("AWS_DEFAULT_REGION"))
            .ok_or_else(|| Error::usage(format!("{SIGV4} is set, but the region is not")).advice("set AWS_REGION"))?;
        // Its credentials are those that any request of ours to Amazon has; no bucket is asked for anything.
        let store = AmazonS3Builder::from_env().with_bucket_name("unused").with_region(&region).build();
        let store = store.map_err(|_| no_credentials())?;
        Ok(Self { store, service, region })
    }

    async fn sign(&self, method: &str, url: &str, body: &bytes::Bytes) -> Result<HeaderMap> {
        let credential = self.store.credentials().get_credential().await.map_err(|_| no_credentials())?;
        let mut request = HttpRequest::new(HttpRequestBody::from(body.clone()));
        *request.method_mut() = method.parse().map_err(|_| Error::internal("an unknown HTTP method"))?;
        *request.uri_mut() = url.parse().map_err(|_| Error::internal("the URL can't be signed"))?;
        AwsAuthorizer::new(&credential, &self.service, &self.region)
            .try_authorize(&mut request, None)
            .map_err(|_| Error::internal("the request could not be signed"))?;
        Ok(std::mem::take(request.headers_mut()))
    }
}

fn no_credentials() -> Error {
    Error::invalid("there are no AWS credentials to sign requests with")
        .advice("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
}

/// Certificates from the environment: those of authorities, and our own.
pub(super) fn certificates() -> Result<(Vec<Certificate>, Option<Identity>)> {
    let authorities = match variable(CA) {
        None => Vec::new(),
        Some(path) => Certificate::from_pem_bundle(&file(CA, &path)?)
            .map_err(|_| Error::invalid(format!("{CA} names a file without PEM certificates")).at(&path))?,
    };
    let identity = match (variable(CLIENT_CERTIFICATE), variable(CLIENT_KEY)) {
        (None, None) => None,
        (Some(certificate), Some(key)) => {
            let pem = [file(CLIENT_KEY, &key)?, b"\n".to_vec(), file(CLIENT_CERTIFICATE, &certificate)?].concat();
            let wrong = |_| {
                Error::invalid("the client's certificate and key are not a valid certificate and key in PEM format")
                    .at(&certificate)
            };
            Some(Identity::from_pem(&pem).map_err(wrong)?)
        }
        _ => return Err(Error::usage(format!("{CLIENT_CERTIFICATE} and {CLIENT_KEY} must be set together"))),
    };
    Ok((authorities, identity))
}

fn file(variable: &str, path: &str) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| Error::from(error).at(path).advice(format!("{variable} names it")))
}

fn basic(user: &str, password: &str) -> Result<RequestCredentials> {
    header(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

fn header(value: String) -> Result<RequestCredentials> {
    let mut value = HeaderValue::from_str(&value)
        .map_err(|_| Error::usage(format!("{API_KEY} has characters that an HTTP header can't hold")))?;
    value.set_sensitive(true);
    Ok(RequestCredentials::Header(value))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
