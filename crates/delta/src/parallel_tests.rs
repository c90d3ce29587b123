#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn work_is_done_behind_in_order() {
    let mut seen = Vec::new();
    behind((0..100).map(Ok), 2, |item| {
        seen.push(item);
        Ok(())
    })
    .unwrap();
    assert!(seen.into_iter().eq(0..100));
}

#[test]
fn the_first_error_ends_it() {
    let fails_at = |bad: i32| move |item: i32| if item == bad { Err(Error::invalid("work")) } else { Ok(()) };
    let mut made = 0;
    let counted = (0..1000).map(|item| {
        made += 1;
        Ok(item)
    });
    assert_eq!(behind(counted, 2, fails_at(5)).unwrap_err().message(), "work");
    assert!(made < 20, "{made} were made");
    let broken = || (0..10).map(|item| if item == 7 { Err(Error::invalid("source")) } else { Ok(item) });
    assert_eq!(behind(broken(), 2, |_| Ok(())).unwrap_err().message(), "source");
    // The work is behind: its error belongs to an earlier item.
    assert_eq!(behind(broken(), 2, fails_at(6)).unwrap_err().message(), "work");
}
