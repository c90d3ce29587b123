#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;

#[test]
fn work_is_done_behind_in_order() {
    for threads in [0, 1, 2, 7] {
        let (mut seen, under_way) = (Vec::new(), AtomicUsize::new(0));
        let work = |thread: usize, item: u64| {
            assert!(thread < threads.max(1));
            assert!(under_way.fetch_add(1, Ordering::SeqCst) < threads.max(1));
            // Later ones are done sooner.
            std::thread::sleep(std::time::Duration::from_micros(100 * (10 - item % 10)));
            under_way.fetch_sub(1, Ordering::SeqCst);
            Ok(2 * item)
        };
        let take = |item| {
            seen.push(item);
            Ok(())
        };
        ordered_map((0..100).map(Ok), (2, threads), work, take).unwrap();
        assert!(seen.into_iter().eq((0..100).map(|item| 2 * item)));
    }
}

#[test]
fn the_first_error_ends_it() {
    let fails_at = |bad: i32, message: &'static str| {
        move |item: i32| if item == bad { Err(Error::invalid(message)) } else { Ok(item) }
    };
    let broken = || (0..10).map(|item| if item == 7 { Err(Error::invalid("source")) } else { Ok(item) });
    for threads in [1, 2, 5] {
        let error_of = |items: &mut dyn Iterator<Item = Result<i32>>, works: i32, takes: i32| {
            let (work, take) = (fails_at(works, "work"), fails_at(takes, "take"));
            let outcome = ordered_map(items, (2, threads), |_, item| work(item), |item| take(item).map(|_| ()));
            outcome.unwrap_err().message().to_owned()
        };
        let mut made = 0;
        let mut counted = (0..1000).map(|item| {
            made += 1;
            Ok(item)
        });
        assert_eq!(error_of(&mut counted, 5, 6), "work");
        assert!(made < 30, "{made} were made");
        assert_eq!(error_of(&mut (0..1000).map(Ok), 6, 5), "take");
        assert_eq!(error_of(&mut broken(), -1, -1), "source");
        // The work is behind: its error belongs to an earlier item.
        assert_eq!(error_of(&mut broken(), 6, -1), "work");
    }
}

#[test]
fn a_panic_is_an_error_that_nobody_waits_behind() {
    let panics_at = |bad: i32| move |item: i32| if item == bad { panic!("at {bad}") } else { Ok(item) };
    for (works, takes) in [(5, -1), (-1, 5)] {
        let (work, take) = (panics_at(works), panics_at(takes));
        let outcome = ordered_map((0..1000).map(Ok), (2, 3), |_, item| work(item), |item| take(item).map(|_| ()));
        assert_eq!(outcome.unwrap_err().kind(), lakerace_io::ErrorKind::Internal);
    }
}
