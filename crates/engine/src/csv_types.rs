//! Text that is written to a Delta table: its columns are read in the table's types, unless an option names others.

use arrow::datatypes::{DataType, Field, Schema};
use lakerace_delta::{Evolve, Table, may_widen};
use lakerace_format::schema_text::print_schema;
use lakerace_format::{CsvOptions, FieldPositions};
use lakerace_io::{ErrorKind, Job, Result};

use crate::option_scope::PlaceKind;
use crate::{ReadOptions, Scan};

/// Opens a source whose rows are written to a table. In CSV, TBL and JSON lines, columns of the table without a given
/// type are read in the table's type, because a type that is inferred from the first rows is often not that of the
/// column.
///
/// Numbers keep their inferred type where they may widen the table's: in columns that belong neither to `key` nor to
/// the partitions.
pub(crate) fn open(
    source: &str,
    read: &ReadOptions,
    table: &Table,
    evolve: Evolve,
    key: &[String],
    job: &Job,
) -> Result<Scan> {
    let is_text = |scan: &Scan| PlaceKind::of_source(&scan.format()).is_text();
    let scan = Scan::open(source, read, job);
    let looks = match &scan {
        Ok(scan) if is_text(scan) => scan.source_schema(),
        // The filter may fit the table's types, and not the inferred ones.
        Err(_) if read.filter.is_some() => {
            let all = ReadOptions { filter: None, ..read.clone() };
            match Scan::open(source, &all, job) {
                Ok(all) if is_text(&all) => all.source_schema(),
                _ => return scan,
            }
        }
        _ => return scan,
    };
    let snapshot = match table.snapshot(None) {
        Ok(snapshot) => snapshot,
        // The table will be created from the source's rows.
        Err(error) if error.kind() == ErrorKind::NotFound => return scan,
        Err(error) => return Err(error),
    };
    let widens = |field: &Field, to: &DataType| evolve.widen && to.is_numeric() && may_widen(&snapshot, field, to, key);
    let positions = FieldPositions::new(looks.fields());
    let like = |field: &Field| positions.of_name(field.name()).map(|at| looks.field(at));
    let is_typed = |field: &&Field| {
        let like = like(field).is_some_and(|like| !widens(field, like.data_type()));
        like && !field.data_type().is_nested() && !field.data_type().is_binary()
    };
    let fields: Vec<Field> = snapshot.schema().fields().iter().map(AsRef::as_ref).filter(is_typed).cloned().collect();
    if fields.iter().all(|field| like(field).is_some_and(|like| like == field)) {
        return scan;
    }
    let csv = CsvOptions { types: Some(print_schema(&Schema::new(fields))), ..read.csv.clone() };
    Scan::open(source, &ReadOptions { csv, ..read.clone() }, job)
}
