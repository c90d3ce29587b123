//! Completing a multipart upload on the condition that the object does not exist, which S3 and Azure can do and `object_store` has
//! no call for.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientOptions, Result};

use super::metered::CountingConnector;
use crate::store::azure::AzureSigner;
use crate::store::kind::StoreKind;

tokio::task_local! {
    /// Set while an upload is completed that must not replace anything.
    static IF_ABSENT: ();
}

/// Completes an upload under the condition that no object has its name. If one has, S3 answers 412, and Azure 409. A
/// server that does not support the condition ignores it.
pub(crate) async fn if_absent<T>(completion: impl Future<Output = T>) -> T {
    IF_ABSENT.scope((), completion).await
}

/// Makes HTTP clients that know the condition, and that count.
#[derive(Debug, Clone)]
pub(crate) struct ConditionalConnector {
    inner: CountingConnector,
    signer: Option<Arc<AzureSigner>>,
}

impl ConditionalConnector {
    pub(crate) fn new(kind: &'static StoreKind) -> Self {
        Self { inner: CountingConnector::new(kind), signer: None }
    }

    /// Signs requests again that have got the condition.
    pub(crate) fn set_signer(&mut self, signer: AzureSigner) {
        self.signer = Some(Arc::new(signer));
    }
}

impl HttpConnector for ConditionalConnector {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        Ok(HttpClient::new(ConditionalClient { inner: self.inner.connect(options)?, signer: self.signer.clone() }))
    }
}

#[derive(Debug)]
struct ConditionalClient {
    inner: HttpClient,
    signer: Option<Arc<AzureSigner>>,
}

#[async_trait]
impl HttpService for ConditionalClient {
    async fn call(&self, mut request: HttpRequest) -> std::result::Result<HttpResponse, HttpError> {
        if completes_upload(&request)
            && IF_ABSENT.try_with(|()| ()).is_ok()
            && let Ok(anything) = "*".parse()
        {
            request.headers_mut().insert("if-none-match", anything);
            if let Some(signer) = &self.signer {
                signer.sign_again(&mut request).map_err(|e| HttpError::new(HttpErrorKind::Request, e))?;
            }
        }
        self.inner.execute(request).await
    }
}

/// Returns true if a request makes one object of parts: a POST to S3, and a PUT of a list of blocks to Azure.
pub(super) fn completes_upload(request: &HttpRequest) -> bool {
    let has = |beginning: &str| {
        let query = request.uri().query();
        query.is_some_and(|query| query.split('&').any(|part| part.starts_with(beginning)))
    };
    match request.method().as_str() {
        "POST" => has("uploadId="),
        "PUT" => has("comp=blocklist"),
        _ => false,
    }
}
