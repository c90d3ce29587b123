//! A view of an index that does not change while it is read.

use std::sync::Mutex;
use std::time::Duration;

use lakerace_io::wait::lock;
use lakerace_io::{Error, Job, Result, runtime};
use serde_json::{Value, json};

use super::client::{SearchClient, SearchRequest};
use super::location::escape;

/// How long the server keeps a view that no one asks for. Each page asks for as long again.
pub(super) const KEEP_ALIVE: &str = "5m";

/// How long the end of a read waits until its view is closed.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ViewDialect {
    Elasticsearch,
    OpenSearch,
}

/// An open view, which is closed on drop.
pub(super) struct PointInTime {
    client: SearchClient,
    dialect: ViewDialect,
    id: Mutex<String>,
}

impl PointInTime {
    /// Opens one.
    pub fn open(client: &SearchClient, index: &str, job: &Job) -> Result<Self> {
        let index = escape(index);
        let path = format!("/{index}/_pit?keep_alive={KEEP_ALIVE}");
        let answer = client.call(job, SearchRequest::bare("POST", path))?;
        let (dialect, id): (ViewDialect, Value) = match answer.status {
            200..=299 => (ViewDialect::Elasticsearch, client.parsed::<Value>(&answer)?["id"].clone()),
            // OpenSearch has another path for it.
            400 | 405 => {
                let path = format!("/{index}/_search/point_in_time?keep_alive={KEEP_ALIVE}");
                (ViewDialect::OpenSearch, client.object(job, SearchRequest::bare("POST", path))?["pit_id"].clone())
            }
            _ => return Err(client.refusal(&answer)),
        };
        let id = id.as_str().ok_or_else(|| {
            Error::unsupported("the server has no point-in-time searches")
                .at(&client.location().shown)
                .advice("use at least Elasticsearch 7.12 or OpenSearch 3.3")
        })?;
        Ok(Self { client: client.clone(), dialect, id: Mutex::new(id.to_owned()) })
    }

    /// The current identifier.
    pub fn id(&self) -> String {
        lock(&self.id).clone()
    }

    /// The server may name it again with each page.
    pub fn renew(&self, id: String) {
        *lock(&self.id) = id;
    }
}

impl Drop for PointInTime {
    fn drop(&mut self) {
        let id = self.id();
        let request = match self.dialect {
            ViewDialect::Elasticsearch => SearchRequest::json("DELETE", "/_pit", &json!({ "id": id })),
            ViewDialect::OpenSearch => {
                SearchRequest::json("DELETE", "/_search/point_in_time", &json!({ "pit_id": [id] }))
            }
        };
        let Ok(runtime) = runtime() else { return };
        let client = self.client.clone();
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        runtime.spawn(async move {
            // A server that does not answer now forgets it by itself.
            let _ = client.ask(request, GRACE).await;
            let _ = sender.send(());
        });
        let _ = receiver.recv_timeout(GRACE);
    }
}
