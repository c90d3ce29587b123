#![allow(clippy::unwrap_used)]

use delta_kernel::KernelError;
use delta_kernel::parquet::errors::ParquetError;
use lakerace_io::{Error, ErrorKind, object_store};

use super::{from_kernel, plain, to_kernel};

#[test]
fn a_store_that_does_not_answer_while_a_checkpoint_is_read_is_no_damage() {
    let unanswered = || object_store::Error::Generic { store: "S3", source: "connection refused".into() };
    let read = from_kernel(KernelError::Parquet(ParquetError::External(Box::new(unanswered()))));
    let listed = from_kernel(KernelError::ObjectStore(unanswered()));
    assert_eq!((read.kind(), read.to_string()), (listed.kind(), listed.to_string()));
    assert_eq!(read.kind(), ErrorKind::Unavailable);
    let damaged = from_kernel(KernelError::Parquet(ParquetError::EOF("the footer ends".to_owned())));
    assert_eq!(damaged.kind(), ErrorKind::Corrupt);
}

#[test]
fn our_own_errors_come_through_the_kernel_unchanged() {
    let own = Error::unsupported("this").at("there").advice("do that");
    let (kind, text) = (own.kind(), own.to_string());
    let back = from_kernel(to_kernel(own));
    assert_eq!((back.kind(), back.to_string()), (kind, text));
}

#[test]
fn names_of_types_stay_inside() {
    for (text, expected) in [
        ("Generic delta kernel error: Parquet error: External: it ends\n   0: backtrace::trace", "it ends"),
        ("Arrow error: EOF: file size of 3 is less than footer", "file size of 3 is less than footer"),
        ("Internal error it is gone. This is a kernel bug, please report.", "it is gone"),
        (
            "Json error: whilst decoding field 'add': Encountered unmasked nulls in non-nullable StructArray child: Field { \"path\": Utf8 }",
            "whilst decoding field 'add': its field \"path\" is missing or null",
        ),
        (
            "but Unknown(\"true\") is not (readerFeatures=[Unknown(\"true\")])",
            "but \"true\" is not (readerFeatures=[\"true\"])",
        ),
        ("Generic error: ", "the log can't be parsed"),
        ("No protocol found in delta log.", "No protocol found in delta log"),
    ] {
        assert_eq!(plain(text), expected);
    }
}
