#![allow(clippy::unwrap_used)]

use arrow::array::{Array, ArrayRef, BinaryViewArray, StringViewArray};
use lakerace_io::ErrorKind;
use proptest::prelude::*;

use super::*;
use crate::parquet::decode::block::PageBytes;
use crate::parquet::decode::byte_view::ViewCollector;
use crate::parquet::decode::values::{PageEncoding, ValueCollector};
use crate::parquet::encode::delta::append_lengths;

/// Values as a plain page has them.
fn page(values: &[Vec<u8>]) -> Vec<u8> {
    let stored = |value: &Vec<u8>| [&(value.len() as u32).to_le_bytes()[..], value].concat();
    values.iter().flat_map(stored).collect()
}

/// Values as a page has them that stores their lengths apart.
fn page_apart(values: &[Vec<u8>]) -> Vec<u8> {
    let lengths: Vec<u32> = values.iter().map(|value| value.len() as u32).collect();
    let mut page = Vec::new();
    append_lengths(&lengths, &mut page);
    page.extend(values.concat());
    page
}

/// How a page is stored, and how it is taken.
#[derive(Debug, Clone)]
struct Way {
    encoding: PageEncoding,
    /// Of the pieces; none: the page is whole.
    pieces: Vec<usize>,
}

impl Way {
    fn page(&self, values: &[Vec<u8>]) -> Vec<u8> {
        if self.encoding == PageEncoding::Plain { page(values) } else { page_apart(values) }
    }

    fn take(&self, views: &mut ViewCollector, page: &[u8], count: usize) -> Result<()> {
        match self.pieces.is_empty() {
            true => views.page(PageBytes::Stored(page.to_vec().into()), self.encoding, count),
            false => views.pieces(pieces(page, &self.pieces), self.encoding, count),
        }
    }
}

fn ways() -> impl Strategy<Value = Way> {
    let encoding = prop::sample::select(vec![PageEncoding::Plain, PageEncoding::DeltaLengthByteArray]);
    let pieces = prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(1usize..700, 1..5),
        prop::collection::vec(2000usize..9000, 1..3)
    ];
    (encoding, pieces).prop_map(|(encoding, pieces)| Way { encoding, pieces })
}

/// The page, with other bytes between its pieces.
fn pieces(page: &[u8], lengths: &[usize]) -> PageSlices {
    let (mut bytes, mut places, mut at) = (vec![0xf4], Vec::new(), 0);
    for length in lengths.iter().cycle() {
        let end = page.len().min(at + length);
        places.push(bytes.len()..bytes.len() + end - at);
        bytes.extend_from_slice(&page[at..end]);
        bytes.extend_from_slice(&[0xf4, 0xff, 0xff]);
        at = end;
        if at == page.len() {
            break;
        }
    }
    PageSlices::from_ranges(PageBytes::Stored(bytes.into()), places)
}

#[derive(Debug, Clone)]
enum Step {
    Read(usize),
    Skip(usize),
    Keep(Vec<bool>),
}

impl Step {
    /// What it takes of these rows.
    fn kept(&self, row: usize) -> bool {
        match self {
            Self::Read(_) => true,
            Self::Skip(_) => false,
            Self::Keep(kept) => kept[row],
        }
    }

    fn rows(&self) -> usize {
        match self {
            Self::Read(rows) | Self::Skip(rows) => *rows,
            Self::Keep(kept) => kept.len(),
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kept = prop_oneof![
        prop::collection::vec(any::<bool>(), 0..300),
        prop::collection::vec(prop::sample::select(vec![true, false, false, false]), 0..300),
    ];
    let step =
        prop_oneof![(0usize..200).prop_map(Step::Read), (0usize..200).prop_map(Step::Skip), kept.prop_map(Step::Keep)];
    prop::collection::vec(step, 1..6)
}

fn run(views: &mut ViewCollector, steps: &[Step]) -> Result<ArrayRef> {
    let kept = |step: &Step| (0..step.rows()).filter(|row| step.kept(*row)).count();
    views.begin(steps.iter().map(kept).sum::<usize>() + 1);
    for step in steps {
        match step {
            Step::Read(rows) => views.read(*rows)?,
            Step::Skip(rows) => views.skip(*rows)?,
            Step::Keep(kept) => {
                let mut words = vec![0u64; kept.len().div_ceil(64)];
                kept.iter()
                    .enumerate()
                    .filter(|(_, kept)| **kept)
                    .for_each(|(row, _)| words[row / 64] |= 1 << (row % 64));
                views.read_kept(RowSelection::new(&words, 0..kept.len()))?;
            }
        }
    }
    views.finish(None)
}

fn values() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let text = prop_oneof!["[ -~]{0,40}", "[a-zé漢🦀]{0,16}", "[a-z]{50,90}", "[é漢]{0,3}"];
    prop::collection::vec(text.prop_map(String::into_bytes), 1..400)
}

proptest! {
    #[test]
    fn texts_are_those_of_the_page(
        values in values(), way in ways(), steps in steps(), is_text in any::<bool>(),
        more in steps(), damage in prop::option::of((any::<prop::sample::Index>(), any::<prop::sample::Index>())),
    ) {
        let mut values = values;
        let damaged = damage.map(|(row, at)| {
            let row = row.index(values.len());
            let at = at.index(values[row].len() + 1);
            // The first byte of a letter of two, with the other one missing.
            values[row].insert(at, 0xc3);
            row
        });
        let mut views = ViewCollector::new(is_text, MemoryPool::new());
        way.take(&mut views, &way.page(&values), values.len()).unwrap();
        let mut row = 0;
        // An array, and another one that begins within the page.
        for steps in [steps, more] {
            let mut wanted = Vec::new();
            let first = row;
            for step in &steps {
                wanted.extend((0..step.rows()).filter(|at| step.kept(*at)).map(|at| row + at));
                row += step.rows();
            }
            if row > values.len() {
                prop_assert_eq!(run(&mut views, &steps).unwrap_err().kind(), ErrorKind::Corrupt);
                return Ok(());
            }
            let array = run(&mut views, &steps);
            let is_wrong = |row: &usize| std::str::from_utf8(&values[*row]).is_err();
            if is_text && wanted.iter().any(is_wrong) {
                prop_assert!(damaged.is_some_and(|row| row >= first));
                prop_assert_eq!(array.unwrap_err().kind(), ErrorKind::Corrupt);
                return Ok(());
            }
            // Where views point into the page, rows that nobody wants may be checked, too.
            if let (Err(error), true) = (&array, is_text && way.pieces.is_empty()) {
                prop_assert!(damaged.is_some_and(|damaged| (first..row).contains(&damaged)));
                prop_assert_eq!(error.kind(), ErrorKind::Corrupt);
                return Ok(());
            }
            let array = array.unwrap();
            array.to_data().validate_full().unwrap();
            let wanted: Vec<&[u8]> = wanted.iter().map(|row| values[*row].as_slice()).collect();
            let found: Vec<&[u8]> = match is_text {
                true => array.as_any().downcast_ref::<StringViewArray>().unwrap().iter().map(|v| v.unwrap().as_bytes()).collect(),
                false => array.as_any().downcast_ref::<BinaryViewArray>().unwrap().iter().map(Option::unwrap).collect(),
            };
            prop_assert_eq!(found, wanted);
            // What is in memory is what the array has, unless the page is.
            let long: usize = wanted_long(&array);
            let held: usize = array.to_data().buffers()[1..].iter().map(|buffer| buffer.len()).sum();
            prop_assert!(held == long || (way.pieces.is_empty() && held > long), "{held} bytes for {long}");
        }
    }

    #[test]
    fn damaged_pages_are_errors(
        values in values(), way in ways(), steps in steps(),
        change in (any::<prop::sample::Index>(), any::<u8>()), cut in any::<prop::sample::Index>(),
    ) {
        let mut page = way.page(&values);
        let at = change.0.index(page.len());
        page[at] ^= change.1;
        page.truncate(cut.index(page.len()) + 1);
        let mut views = ViewCollector::new(true, MemoryPool::new());
        match way.take(&mut views, &page, values.len()).and_then(|()| run(&mut views, &steps)) {
            Ok(array) => array.to_data().validate_full().unwrap(),
            Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Corrupt),
        }
    }
}

/// Bytes of values that do not fit into a view.
fn wanted_long(array: &ArrayRef) -> usize {
    let views =
        array.to_data().buffers()[0].typed_data::<u128>().iter().map(|view| *view as u32 as usize).collect::<Vec<_>>();
    views.into_iter().filter(|length| *length > INLINE_BYTES).sum()
}

#[test]
fn a_letter_cut_by_two_texts_is_no_text() {
    let long = |end: &[u8]| [&[b'a'; 20][..], end].concat();
    let values = [long(&[0xc3]), [&[0xa9][..], &long(&[])].concat()];
    for encoding in [PageEncoding::Plain, PageEncoding::DeltaLengthByteArray] {
        for pieces in [vec![], vec![1000], vec![45]] {
            let way = Way { encoding, pieces };
            for steps in [vec![Step::Read(2)], vec![Step::Read(1)], vec![Step::Skip(1), Step::Keep(vec![true])]] {
                let mut views = ViewCollector::new(true, MemoryPool::new());
                way.take(&mut views, &way.page(&values), 2).unwrap();
                assert_eq!(run(&mut views, &steps).unwrap_err().kind(), ErrorKind::Corrupt, "{way:?} {steps:?}");
            }
        }
    }
}
