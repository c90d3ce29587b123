#![allow(clippy::unwrap_used)]
use super::*;

fn entry(number: usize) -> ObjectMeta {
    ObjectMeta {
        location: Path::from(format!("f/{number:06}")),
        last_modified: chrono::DateTime::UNIX_EPOCH,
        size: 0,
        e_tag: None,
        version: None,
    }
}

/// A listing of these numbers.
fn listing(
    numbers: impl Iterator<Item = usize> + Clone + Send + 'static,
) -> Listing<impl Fn() -> BoxStream<'static, Result<ObjectMeta>>> {
    let begin = move || stream::iter(numbers.clone().map(|number| Ok(entry(number)))).boxed();
    let policy = RetryPolicy::bodies_only(Duration::ZERO);
    Listing { stream: begin(), begin, policy, seen: 0, last: None, remembered: None, attempt: 0 }
}

#[tokio::test]
async fn a_listing_that_repeats_itself_ends_in_an_error() {
    // The same page again, from the first entry or from a later one.
    for (front, page) in [(0, 1), (0, 1000), (1, 3), (2500, 1000), (7, 1)] {
        let numbers = (0..front).chain((front..front + page).cycle());
        let mut endless = listing(numbers);
        let mut listed = 0;
        let error = loop {
            match endless.next().await {
                Ok(entry) => listed += usize::from(entry.is_some()),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("does not end"), "{error}");
        assert!(listed <= 4 * (front + page) + 4, "{front} {page} {listed}");
    }
}

#[tokio::test]
async fn a_listing_in_any_order_is_listed_whole() {
    let mut whole = listing((0..5000).rev().chain(6000..9000));
    let mut listed = 0;
    while whole.next().await.unwrap().is_some() {
        listed += 1;
    }
    assert_eq!(listed, 8000);
}
