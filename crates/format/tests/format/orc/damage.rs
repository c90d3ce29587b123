//! Files whose footers lie about rows, and whose dictionaries are too small: errors that name the file.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use lakerace_format::ReadRequest;
use lakerace_io::{Error, ErrorKind, Result};
use lakerace_orc::Codec;
use lakerace_orc::proto;
use lakerace_orc::write::WriterOptions;
use prost::Message;

use super::{case, open, orc_bytes};
use crate::common::{self, filtered, greater, job};

/// Numbers, and texts in a dictionary, in row groups of 100.
fn table() -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..1000).map(|i| format!("text {}", i % 7))));
    RecordBatch::try_from_iter([("id", ids), ("text", texts)]).unwrap()
}

fn file() -> Vec<u8> {
    let options = WriterOptions { codec: Codec::None, row_index_stride: 100, stripe_size: 2000, ..Default::default() };
    orc_bytes(&table(), options)
}

/// The parts of an uncompressed file.
struct Parts {
    content: Vec<u8>,
    metadata: Vec<u8>,
    footer: proto::Footer,
    postscript: proto::PostScript,
}

impl Parts {
    fn parse(file: &[u8]) -> Self {
        let (&length, rest) = file.split_last().unwrap();
        let (rest, postscript) = rest.split_at(rest.len() - usize::from(length));
        let postscript = proto::PostScript::decode(postscript).unwrap();
        let (rest, footer) = rest.split_at(rest.len() - postscript.footer_length() as usize);
        let (content, metadata) = rest.split_at(rest.len() - postscript.metadata_length() as usize);
        let footer = proto::Footer::decode(footer).unwrap();
        Self { content: content.to_vec(), metadata: metadata.to_vec(), footer, postscript }
    }

    fn bytes(&self) -> Vec<u8> {
        let footer = self.footer.encode_to_vec();
        let postscript = proto::PostScript { footer_length: Some(footer.len() as u64), ..self.postscript.clone() };
        let postscript = postscript.encode_to_vec();
        [&self.content[..], &self.metadata, &footer, &postscript, &[postscript.len() as u8]].concat()
    }

    /// Changes the footer of the first stripe, whose length stays: it is written over the end of the stripe's data where it
    /// becomes longer.
    fn edit_stripe_footer(&mut self, edit: impl FnOnce(&mut proto::StripeFooter)) {
        let stripe = &mut self.footer.stripes[0];
        let end = (stripe.offset() + stripe.index_length() + stripe.data_length() + stripe.footer_length()) as usize;
        let start = end - stripe.footer_length() as usize;
        let mut footer = proto::StripeFooter::decode(&self.content[start..end]).unwrap();
        edit(&mut footer);
        let bytes = footer.encode_to_vec();
        let at = end - bytes.len();
        self.content[at..end].copy_from_slice(&bytes);
        let moved = start.abs_diff(at) as u64;
        let data = stripe.data_length();
        stripe.data_length = Some(if at < start { data - moved } else { data + moved });
        stripe.footer_length = Some(bytes.len() as u64);
    }
}

/// Reads all rows, and some by a filter.
fn read(path: &Path) -> [Result<usize>; 2] {
    [ReadRequest::default(), filtered(greater("id", 950))].map(|request| {
        let source = open(&[path], &job(2))?;
        common::read(&source, &request).map(|rows| rows.num_rows())
    })
}

fn assert_error(error: &Error, what: &str) {
    let kinds = [ErrorKind::Corrupt, ErrorKind::Unsupported];
    assert!(kinds.contains(&error.kind()), "{what}: {:?} {error}", error.kind());
    assert_eq!(error.to_string().matches("a.orc").count(), 1, "{what}: {error}");
}

#[test]
fn footers_that_lie_are_errors() {
    type Edit = fn(&mut Parts);
    let edits: [(&str, Edit); 16] = [
        ("rows of a stripe", |p| (p.footer.stripes[0].number_of_rows, p.footer.number_of_rows) = (Some(1 << 62), None)),
        ("rows of all stripes", |p| {
            p.footer.number_of_rows = None;
            p.footer.stripes.iter_mut().for_each(|stripe| stripe.number_of_rows = Some(u64::MAX / 2));
        }),
        ("rows of the file", |p| p.footer.number_of_rows = Some(u64::MAX)),
        ("a row more", |p| {
            p.footer.stripes[0].number_of_rows = Some(p.footer.stripes[0].number_of_rows() + 1);
            p.footer.number_of_rows = Some(1001);
        }),
        ("rows of a row group", |p| p.footer.row_index_stride = Some(1)),
        ("row groups without end", |p| {
            (p.footer.row_index_stride, p.footer.number_of_rows) = (Some(1), None);
            p.footer.stripes[0].number_of_rows = Some(1 << 50);
        }),
        ("bytes of a stripe", |p| p.footer.stripes[0].data_length = Some(u64::MAX)),
        ("bytes of an index", |p| p.footer.stripes[0].index_length = Some(1 << 60)),
        ("bytes of a stripe's footer", |p| p.footer.stripes[0].footer_length = Some(1 << 40)),
        ("where a stripe begins", |p| p.footer.stripes[0].offset = Some(u64::MAX - 10)),
        ("bytes of the statistics", |p| p.postscript.metadata_length = Some(u64::MAX - 100)),
        ("a column of itself", |p| p.footer.types[0].subtypes = vec![0, 0]),
        ("columns that are not there", |p| p.footer.types[0].subtypes = vec![1 << 31, u32::MAX]),
        ("more columns than the stripes have", |p| {
            let (first, many) = (p.footer.types[1].clone(), 100_000);
            p.footer.types.extend(std::iter::repeat_n(first, many as usize));
            p.footer.types[0].subtypes = (1..=2 + many).collect();
            p.footer.types[0].field_names.extend((0..many).map(|nth| format!("c{nth}")));
        }),
        ("stripes without end", |p| {
            let first = p.footer.stripes[0].clone();
            p.footer.stripes = vec![first; 100_000];
        }),
        ("bytes of a stream", |p| {
            p.edit_stripe_footer(|footer| footer.streams.last_mut().unwrap().length = Some(u64::MAX));
        }),
    ];
    let (_folder, path) = case();
    assert_eq!(Parts::parse(&file()).bytes(), file(), "nothing is changed where nothing is edited");
    for (what, edit) in edits {
        let mut parts = Parts::parse(&file());
        edit(&mut parts);
        std::fs::write(&path, parts.bytes()).unwrap();
        let outcomes = read(&path);
        let failed: Vec<&Error> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
        assert!(!failed.is_empty(), "{what}: {outcomes:?}");
        failed.iter().for_each(|error| assert_error(error, what));
    }
}

#[test]
fn dictionary_indexes_out_of_range_are_errors() {
    let (_folder, path) = case();
    let mut parts = Parts::parse(&file());
    let mut is_dictionary = false;
    parts.edit_stripe_footer(|footer| {
        is_dictionary = footer.columns[2].dictionary_size() == 7;
        footer.columns[2].dictionary_size = Some(6);
    });
    assert!(is_dictionary);
    std::fs::write(&path, parts.bytes()).unwrap();
    let source = open(&[&path], &job(1)).unwrap();
    let error = common::read(&source, &common::columns(&["text"])).unwrap_err();
    assert_error(&error, "an index beyond the dictionary");
    assert!(error.to_string().contains("\"text\"") && error.to_string().contains("dictionary"), "{error}");
    assert_eq!(common::read(&source, &common::columns(&["id"])).unwrap().num_rows(), 1000);
}
