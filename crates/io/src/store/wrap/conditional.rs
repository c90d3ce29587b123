//! Completing a multipart upload on the condition that the object does not exist, which S3 can do and `object_store` has no
//! call for.

use std::future::Future;

use async_trait::async_trait;
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService};
use object_store::{ClientOptions, Result};

use super::metered::CountingConnector;

tokio::task_local! {
    /// Set while an upload is completed that must not replace anything.
    static IF_ABSENT: ();
}

/// Completes an upload under the condition that nothing has its name. Where something has, S3 answers 412. A server that
/// does not know the condition takes no notice of it.
pub(crate) async fn if_absent<T>(completion: impl Future<Output = T>) -> T {
    IF_ABSENT.scope((), completion).await
}

/// Makes HTTP clients that know the condition, and that count.
#[derive(Debug, Default)]
pub(crate) struct ConditionalConnector {
    inner: CountingConnector,
}

impl HttpConnector for ConditionalConnector {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        Ok(HttpClient::new(ConditionalClient { inner: self.inner.connect(options)? }))
    }
}

#[derive(Debug)]
struct ConditionalClient {
    inner: HttpClient,
}

#[async_trait]
impl HttpService for ConditionalClient {
    async fn call(&self, mut request: HttpRequest) -> std::result::Result<HttpResponse, HttpError> {
        let completes = request.method().as_str() == "POST"
            && request.uri().query().is_some_and(|query| query.split('&').any(|part| part.starts_with("uploadId=")));
        if completes
            && IF_ABSENT.try_with(|()| ()).is_ok()
            && let Ok(anything) = "*".parse()
        {
            request.headers_mut().insert("if-none-match", anything);
        }
        self.inner.execute(request).await
    }
}
