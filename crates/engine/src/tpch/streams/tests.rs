use lakerace_format::{Codec, Compression, PARQUET, TBL};

use super::*;

#[test]
fn names_are_those_of_dbgen_in_its_format_and_end_as_others_do_elsewhere() {
    let names = |format, codec: Option<Codec>| {
        let options = WriteOptions { compression: codec.map(Compression::new), ..WriteOptions::default() };
        StreamFile::ALL.map(|file| file.name(12, format, &options))
    };
    assert_eq!(names(Some(&TBL), None), ["orders.tbl.u12", "lineitem.tbl.u12", "delete.12"]);
    let gzip = Some(Codec::Gzip);
    assert_eq!(names(Some(&TBL), gzip), ["orders.tbl.u12.gz", "lineitem.tbl.u12.gz", "delete.12.gz"]);
    assert_eq!(names(Some(&PARQUET), None), ["orders.u12.parquet", "lineitem.u12.parquet", "delete.12.parquet"]);
    assert_eq!(names(None, None), ["orders.u12", "lineitem.u12", "delete.12"]);
}
