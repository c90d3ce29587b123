use super::*;

const MB: u64 = 1 << 20;

/// So much time for each of so many bytes.
fn time_for(ns_per_byte: f64, bytes: u64) -> Duration {
    Duration::from_nanos((ns_per_byte * bytes as f64) as u64)
}

#[test]
fn cheap_writes_stay_in_the_cache() {
    let cache = PageCache::default();
    for _ in 0..100 {
        cache.note_cached(4 * MB, time_for(0.4, 4 * MB));
        assert_eq!(cache.way(), CacheWay::Cached);
    }
    assert_eq!(cache.bytes_past(), 0);
}

#[test]
fn dear_ones_leave_it_once_there_are_enough_of_them() {
    let cache = PageCache::default();
    cache.note_cached(4 * MB, time_for(0.4, 4 * MB));
    cache.note_cached(MB, time_for(3.0, MB));
    assert_eq!(cache.way(), CacheWay::Cached);
    // 0.92 of a nanosecond on the whole.
    cache.note_cached(3 * MB, time_for(0.92, 3 * MB));
    assert_eq!(cache.way(), CacheWay::Direct);
    for _ in 0..100 {
        cache.note_direct(4 * MB);
    }
    assert_eq!((cache.way(), cache.bytes_past()), (CacheWay::Direct, 400 * MB));
}

#[test]
fn a_disk_that_is_waited_for_longer_than_the_cache_would_take_is_left_for_good() {
    let cache = PageCache::default();
    // What was waited for before counts for nothing.
    cache.note_waited(Duration::from_secs(60));
    cache.note_cached(16 * MB, time_for(2.0, 16 * MB));
    for _ in 0..100 {
        cache.note_direct(4 * MB);
        cache.note_waited(time_for(1.9, 4 * MB));
    }
    assert_eq!(cache.way(), CacheWay::Direct);
    for _ in 0..100 {
        cache.note_direct(4 * MB);
        cache.note_waited(time_for(4.0, 4 * MB));
    }
    assert_eq!((cache.way(), cache.bytes_past()), (CacheWay::Cached, 800 * MB));
    cache.note_cached(16 * MB, time_for(9.0, 16 * MB));
    assert_eq!(cache.way(), CacheWay::Cached);
}

#[test]
fn one_long_wait_is_no_slow_disk() {
    let cache = PageCache::default();
    cache.note_cached(16 * MB, time_for(2.0, 16 * MB));
    cache.note_waited(PATIENCE);
    assert_eq!(cache.way(), CacheWay::Direct);
    cache.note_waited(PATIENCE);
    assert_eq!(cache.way(), CacheWay::Cached);
}

#[test]
fn what_was_on_its_way_when_the_way_changed_counts_for_nothing() {
    let cache = PageCache::default();
    cache.note_cached(16 * MB, time_for(2.0, 16 * MB));
    cache.note_cached(16 * MB, time_for(0.1, 16 * MB));
    assert_eq!(cache.way(), CacheWay::Direct);
}

#[test]
fn a_file_system_that_refuses_is_not_asked_again() {
    let cache = PageCache::default();
    cache.note_cached(16 * MB, time_for(2.0, 16 * MB));
    cache.refuse();
    cache.note_cached(16 * MB, time_for(2.0, 16 * MB));
    assert_eq!(cache.way(), CacheWay::Cached);
}
