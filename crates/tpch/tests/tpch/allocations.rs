//! What each mode copies, by what it allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::UInt8Type;
use lakerace_format::Source;
use lakerace_tpch::TpchSource;

use crate::common::{columns, job};

struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all is left to the system's allocator; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.with(|bytes| bytes.set(bytes.get() + layout.size()));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.with(|bytes| bytes.set(bytes.get() + layout.size()));
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATED.with(|bytes| bytes.set(bytes.get() + size.saturating_sub(layout.size())));
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The second batch of a table's column, made on this thread, and the bytes that were allocated for it. The first one
/// makes what all batches share.
fn second_batch(name: &str, column: &str) -> (RecordBatch, usize) {
    let source = TpchSource::new(name.parse().unwrap(), &job(1));
    let plan = source.plan(&columns(&[column])).unwrap();
    let mut batches = source.read(&plan).unwrap();
    // The whole pool.
    batches.next().unwrap().unwrap();
    batches.next().unwrap().unwrap();
    let before = ALLOCATED.get();
    let batch = batches.next().unwrap().unwrap();
    let allocated = ALLOCATED.get() - before;
    (batch, allocated)
}

/// What a batch needs besides its columns: lists of buffers, schemas, counts of lines.
const OVERHEAD_BYTES: usize = 40_000;

#[test]
fn comments_are_copied_once_by_zero_copy_and_never_by_true_zero_copy() {
    let (batch, copied) = second_batch("tpch:orders?sf=1", "o_comment");
    let rows = batch.num_rows();
    let texts: usize = batch.column(0).as_string_view().iter().flatten().map(str::len).sum();
    assert!(texts > 48 * rows);
    // The texts (with some room) and a view of 16 bytes for each.
    let expected = rows * 16 + texts;
    assert!((expected..expected + texts / 8 + OVERHEAD_BYTES).contains(&copied), "{copied} for {expected}");
    let (other, viewed) = second_batch("tpch:orders?sf=1&mode=true-zero-copy", "o_comment");
    assert_eq!(other, batch);
    assert!((rows * 16..rows * 16 + OVERHEAD_BYTES).contains(&viewed), "{viewed} for {rows} views");
    let (same, built) = second_batch("tpch:orders?sf=1&mode=baseline", "o_comment");
    assert_eq!(same, batch);
    // A struct for each row, and all columns of it.
    assert!(built > 3 * copied, "{built}");
}

#[test]
fn words_are_keys_of_a_byte_by_true_zero_copy() {
    let (batch, copied) = second_batch("tpch:orders?sf=1", "o_orderpriority");
    let rows = batch.num_rows();
    assert!((rows * 17..rows * 17 + OVERHEAD_BYTES).contains(&copied), "{copied} for {rows} words");
    let (other, keyed) = second_batch("tpch:orders?sf=1&mode=true-zero-copy", "o_orderpriority");
    assert!((rows..rows + OVERHEAD_BYTES).contains(&keyed), "{keyed} for {rows} keys");
    assert_eq!(crate::common::plain(&other), batch);
}

/// Where the texts of a batch are, and what else its arrays refer to.
#[test]
fn views_of_the_pool_share_it_and_copies_stand_alone() {
    let buffers = |name: &str| {
        let (batch, _) = second_batch(name, "l_comment");
        let comments = batch.column(0).as_string_view();
        comments.data_buffers().iter().map(|buffer| buffer.as_ptr() as usize).collect::<Vec<_>>()
    };
    let (one, two) = ("tpch:lineitem?sf=1&part=1/2", "tpch:lineitem?sf=1&part=2/2");
    assert_eq!(buffers(one).len(), 1);
    let shared = |name: &str| buffers(&format!("{name}&mode=true-zero-copy"));
    assert_eq!(shared(one).len(), 300);
    assert_eq!(shared(one), shared(two));

    // Five comments are not worth all of it.
    let source = TpchSource::new("tpch:region?sf=1&mode=true-zero-copy".parse().unwrap(), &job(1));
    let plan = source.plan(&columns(&["r_comment"])).unwrap();
    let batch = source.read(&plan).unwrap().next().unwrap().unwrap();
    let pieces = batch.column(0).as_string_view().data_buffers().len();
    assert!((1..=5).contains(&pieces), "{pieces}");

    let words = |name: &str| {
        let (batch, _) = second_batch(name, "l_shipinstruct");
        let words = batch.column(0).as_dictionary::<UInt8Type>().values().to_data();
        words.buffers()[0].as_ptr() as usize
    };
    assert_eq!(words(&format!("{one}&mode=true-zero-copy")), words(&format!("{two}&mode=true-zero-copy")));
}
