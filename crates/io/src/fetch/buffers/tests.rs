#![allow(clippy::unwrap_used)]

use std::io::Write;

use super::*;

#[test]
fn a_buffer_holds_what_was_appended_and_no_more() {
    let mut buffer = PooledBuffer::with_capacity(100_000).unwrap();
    let data: Vec<u8> = (0..100_000u32).map(|i| i as u8).collect();
    assert_eq!(buffer.append(&data[..60_000]), 60_000);
    assert_eq!(buffer.append(&data[60_000..]), 40_000);
    let bytes = buffer.freeze();
    assert_eq!(bytes, data);
    assert_eq!(bytes.as_ptr() as usize % ALIGNMENT, 0);
    let small = PooledBuffer::with_capacity(10).unwrap();
    assert!(small.freeze().is_empty());
}

#[test]
fn reading_stops_at_the_end_of_the_file() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[7; 5000]).unwrap();
    let mut buffer = PooledBuffer::with_capacity(10_000).unwrap();
    buffer.read_at(&file, 1000, 10_000).unwrap();
    assert_eq!(buffer.len(), 4000);
    assert_eq!(buffer.freeze(), vec![7; 4000]);
}

#[test]
fn slices_keep_the_buffer_alive() {
    let mut buffer = PooledBuffer::with_capacity(70_000).unwrap();
    buffer.append(&[1; 70_000]);
    let slice = buffer.freeze().slice(10..20);
    // A buffer made now must not be the one that is still in use.
    let mut other = PooledBuffer::with_capacity(70_000).unwrap();
    other.append(&[2; 70_000]);
    assert_eq!(slice, vec![1; 10]);
}

#[test]
fn classes_hold_what_they_are_asked_for() {
    assert_eq!(class_of(1), None);
    for capacity in [SMALLEST_POOLED, SMALLEST_POOLED + 1, 1 << 20, (1 << 20) + 1, 40 << 20, (48 << 20) - 1, 100 << 20]
    {
        let class = class_of(capacity).unwrap();
        assert!(class_bytes(class) >= capacity, "{capacity}");
        assert!(class == 0 || class_bytes(class - 1) < capacity, "{capacity}");
    }
    assert_eq!(class_bytes(class_of(40 << 20).unwrap()), 40 << 20);
    assert_eq!(class_of(usize::MAX / 2), None);
}

#[test]
fn unused_memory_that_is_a_little_larger_is_taken() {
    let pool = BufferPool {
        state: Mutex::new(BufferPoolState { classes: [const { Vec::new() }; CLASSES], kept_bytes: 0, users: 1 }),
    };
    let class = class_of(1 << 20).unwrap();
    for larger in 0..6 {
        pool.give_back(BufferMemory::new(class_bytes(class + larger)).unwrap());
    }
    let taken: Vec<usize> = std::iter::from_fn(|| pool.take(class)).map(|memory| memory.capacity >> 18).collect();
    // Of 1, 1.25, 1.5 and 1.75 MiB; those of 2 MiB and more stay for others.
    assert_eq!(taken, [4, 5, 6, 7]);
    let kept = pool.lock().kept_bytes;
    assert_eq!(kept, (2 << 20) + (2 << 20) / 4 * 5);
    assert!(pool.take(CLASSES - 1).is_none());
}

#[test]
fn what_is_filled_can_be_read_while_the_rest_arrives() {
    let data: Vec<u8> = (0..300_000u32).map(|i| (i * 7) as u8).collect();
    let mut filler = BufferFiller::with_gaps(data.len(), VecDeque::new()).unwrap();
    let growing = Arc::clone(filler.growing());
    let reader = std::thread::spawn({
        let data = data.clone();
        move || {
            let mut at = 0;
            while at < data.len() {
                let end = growing.filled();
                assert!(growing.slice(at..end + 1).is_none() || end < growing.filled());
                assert_eq!(growing.slice(at..end).unwrap(), data[at..end]);
                at = end;
            }
            growing.slice(10..20).unwrap()
        }
    });
    for chunk in data.chunks(1000) {
        assert_eq!(filler.append(chunk), chunk.len());
    }
    assert_eq!(filler.append(&[1]), 0);
    drop(filler);
    assert_eq!(reader.join().unwrap(), data[10..20]);
}

#[test]
fn gaps_of_a_body_are_dropped_however_it_arrives() {
    let body: Vec<u8> = (0..1000u32).map(|i| i as u8).collect();
    let gaps = [0..10, 100..300, 300..301, 990..1000];
    let kept: Vec<u8> = (0..1000).filter(|at| !gaps.iter().any(|gap| gap.contains(at))).map(|at| body[at]).collect();
    for chunk in [1, 7, 100, 250, 1000] {
        let mut filler = BufferFiller::with_gaps(1000, gaps.clone().into()).unwrap();
        assert_eq!(body.chunks(chunk).map(|bytes| filler.append(bytes)).sum::<usize>(), 1000);
        assert_eq!(filler.append(&[1]), 0);
        let growing = Arc::clone(filler.growing());
        assert_eq!(growing.slice(0..growing.filled()).unwrap(), kept, "chunks of {chunk}");
    }
}
