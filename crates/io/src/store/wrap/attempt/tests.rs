#![allow(clippy::unwrap_used)]
use std::sync::Mutex;

use object_store::client::{HttpRequestBody, HttpResponseBody};
use tokio::time::Instant;

use super::*;

/// A server that gives these answers, one after the other: a status with headers, or a connection that fails.
#[derive(Debug)]
struct Answers(Mutex<Vec<Option<(u16, &'static str)>>>);

#[async_trait]
impl HttpService for Answers {
    async fn call(&self, _: HttpRequest) -> std::result::Result<HttpResponse, HttpError> {
        let answer = self.0.lock().unwrap().remove(0);
        match answer {
            None => Err(HttpError::new(HttpErrorKind::Connect, std::io::Error::other("refused"))),
            Some((0, _)) => std::future::pending().await,
            Some((status, retry_after)) => {
                let mut response = http::Response::builder().status(status);
                if !retry_after.is_empty() {
                    response = response.header("retry-after", retry_after);
                }
                Ok(response.body(HttpResponseBody::from(String::new())).unwrap())
            }
        }
    }
}

fn client(answers: &[Option<(u16, &'static str)>], longest_wait: Duration) -> AttemptClient {
    let inner = HttpClient::new(Answers(Mutex::new(answers.to_vec())));
    let observed = Arc::new(Observations::new(Observations::s3()));
    AttemptClient { inner, longest_wait, contact: Arc::default(), observed }
}

fn request(method: &str) -> HttpRequest {
    http::Request::builder().method(method).uri("http://store/key").body(HttpRequestBody::empty()).unwrap()
}

/// Seconds of the paused clock that an attempt takes, and its status.
async fn attempt(client: &AttemptClient, method: &str) -> (u64, std::result::Result<u16, HttpErrorKind>) {
    let started = Instant::now();
    let outcome = client.call(request(method)).await;
    (started.elapsed().as_secs(), outcome.map(|response| response.status().as_u16()).map_err(|error| error.kind()))
}

#[tokio::test(start_paused = true)]
async fn waits_as_long_as_the_server_asks_for() {
    let minute = Duration::from_secs(60);
    let answers = [Some((503, "7")), Some((429, "2")), Some((503, "")), Some((500, "9")), Some((200, "9"))];
    let client = client(&answers, minute);
    let mut seen = Vec::new();
    for _ in answers {
        seen.push(attempt(&client, "GET").await);
    }
    assert_eq!(seen, [(7, Ok(503)), (2, Ok(429)), (0, Ok(503)), (0, Ok(500)), (0, Ok(200))]);
}

#[tokio::test(start_paused = true)]
async fn waits_no_longer_than_it_may() {
    let client = client(&[Some((503, "3600")), Some((503, "Tue, 31 Dec 2199 23:59:59 GMT"))], Duration::from_secs(5));
    assert_eq!(attempt(&client, "GET").await, (5, Ok(503)));
    assert_eq!(attempt(&client, "GET").await, (5, Ok(503)));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_without_an_answer_ends() {
    let client = client(&[Some((0, ""))], Duration::ZERO);
    assert_eq!(attempt(&client, "GET").await, (STALL.as_secs(), Err(HttpErrorKind::Timeout)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_never_there_is_given_up_early() {
    let client = client(&[None; 7], Duration::ZERO);
    for _ in 1..FIRST_CONTACT_ATTEMPTS {
        assert_eq!(attempt(&client, "GET").await.1, Err(HttpErrorKind::Connect));
    }
    // Of this kind, attempts are not repeated.
    assert_eq!(attempt(&client, "GET").await.1, Err(HttpErrorKind::Unknown));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_restarts_is_waited_for() {
    let mut answers = vec![Some((200, ""))];
    answers.extend([None; 20]);
    let client = client(&answers, Duration::ZERO);
    assert_eq!(attempt(&client, "GET").await.1, Ok(200));
    for _ in 0..20 {
        assert_eq!(attempt(&client, "GET").await.1, Err(HttpErrorKind::Connect));
    }
}

/// Seconds of the paused clock after which a silent server is given up.
async fn patience(method: &str, target: &str) -> u64 {
    let client = client(&[Some((0, ""))], Duration::ZERO);
    let body = HttpRequestBody::empty();
    let request = http::Request::builder().method(method).uri(format!("http://store{target}")).body(body).unwrap();
    let started = Instant::now();
    assert_eq!(client.call(request).await.unwrap_err().kind(), HttpErrorKind::Timeout);
    started.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn every_request_ends() {
    let (short, long) = (STALL.as_secs(), LONGEST_WORK.as_secs());
    for (method, target, expected) in [
        ("GET", "/bucket/key", short),
        ("HEAD", "/bucket/key", short),
        ("PUT", "/bucket/key", short),
        ("DELETE", "/bucket/key", short),
        ("POST", "/token", short),
        ("POST", "/bucket/key?uploadId=1", long),
        ("POST", "/bucket?delete", long),
        ("POST", "/container?restype=container&comp=batch", long),
        ("POST", "/batch/storage/v1", long),
        ("PUT", "/container/key?comp=blocklist", long),
    ] {
        assert_eq!(patience(method, target).await, expected, "{method} {target}");
    }
}
