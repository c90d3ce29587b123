#![allow(clippy::unwrap_used)]

use super::*;
use crate::ErrorKind;

#[test]
fn a_runtime_has_a_thread_for_calls_that_block() {
    let runtime = start_runtime("tested", 1).unwrap();
    let sum = runtime.block_on(async { tokio::task::spawn_blocking(|| 1 + 1).await.unwrap() });
    assert_eq!(sum, 2);
}

#[test]
fn an_error_says_which_limit_to_raise() {
    let error = not_started("tested", "no thread");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("ulimit -u"), "{error}");
}
