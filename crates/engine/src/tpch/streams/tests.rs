use super::*;

#[test]
fn names_are_those_of_dbgen_in_its_format_and_end_as_others_do_elsewhere() {
    let names = |ending| StreamFile::ALL.map(|file| file.name(12, ending));
    assert_eq!(names("tbl"), ["orders.tbl.u12", "lineitem.tbl.u12", "delete.12"]);
    assert_eq!(names("tbl.gz"), ["orders.tbl.u12.gz", "lineitem.tbl.u12.gz", "delete.12.gz"]);
    assert_eq!(names("parquet"), ["orders.u12.parquet", "lineitem.u12.parquet", "delete.12.parquet"]);
    assert_eq!(names(""), ["orders.u12", "lineitem.u12", "delete.12"]);
}
