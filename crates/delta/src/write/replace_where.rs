//! An overwrite of the partitions for which a filter is true.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use delta_kernel::transaction::{Transaction, UpdateTable, UpdateTableOperation};
use lakerace_format::{Constants, Expr, Predicate};
use lakerace_io::{Error, ErrorKind, Result, WriteMode};

use super::AddedFile;
use crate::commit::scan_rows::scan_rows;
use crate::commit::{CommitAction, selected};
use crate::snapshot::Snapshot;
use crate::snapshot::partitions::Partitions;

/// A condition by which an overwrite selects the rows to replace.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplaceCondition {
    /// The filter.
    pub filter: Expr,
    /// The filter as SQL, for the log: as delta-spark and delta-rs write it, without a list around it.
    pub text: String,
}

/// An entry that removes the files of the partitions for which a condition is true.
pub(crate) struct ReplacedWhere {
    condition: ReplaceCondition,
    has_files: bool,
}

impl ReplacedWhere {
    /// The partitions of a condition. Files that are added have to belong to them: [`Self::check_files`].
    ///
    /// # Errors
    /// Those of [`check_replaced`].
    pub fn new(snapshot: &Snapshot, condition: ReplaceCondition) -> Result<Self> {
        check_replaced(snapshot, &condition.filter)?;
        Ok(Self { condition, has_files: false })
    }

    /// Checks that the files to add belong to the partitions.
    ///
    /// # Errors
    /// `Invalid` for a file of another partition.
    pub fn check_files(&mut self, snapshot: &Snapshot, files: &[AddedFile]) -> Result<()> {
        let condition = PartitionCondition::new(snapshot, &self.condition.filter)?;
        let schema = snapshot.kernel().schema();
        let partitions = Partitions::new(snapshot.kernel(), &schema, snapshot.schema())?;
        for file in files {
            let values = Constants::new(partitions.of_file(&file.partition_values)?);
            if !condition.holds(&values)? {
                let folder = file.name.rsplit_once('/').map_or("", |(folder, _)| folder);
                return Err(Error::invalid(format!("a row for {folder} is not among the rows to replace"))
                    .at(snapshot.table().location())
                    .advice("write rows for which the condition of the overwrite is true"));
            }
        }
        self.has_files = !files.is_empty();
        Ok(())
    }
}

impl CommitAction for ReplacedWhere {
    fn operation(&self) -> (UpdateTableOperation, Vec<(&'static str, String)>) {
        let parameters = [("mode", "Overwrite".to_owned()), ("predicate", self.condition.text.clone())];
        (UpdateTableOperation::Write, parameters.to_vec())
    }

    fn check(&self, snapshot: &Snapshot) -> Result<()> {
        WriteMode::Overwrite.check(snapshot)
    }

    fn stage(&mut self, snapshot: &Snapshot, update: &mut Transaction<UpdateTable>) -> Result<bool> {
        let condition = PartitionCondition::new(snapshot, &self.condition.filter)?;
        let mut names = HashSet::new();
        // A condition without columns is as true of files of a table without partitions.
        let none = Constants::new([]);
        for file in &snapshot.files()?.files {
            if condition.holds(file.constants.as_deref().unwrap_or(&none))? {
                names.insert(file.path.as_str());
            }
        }
        for batch in scan_rows(snapshot)? {
            if let Some(files) = selected(&batch, &|name| names.contains(name))? {
                update.remove_files(files);
            }
        }
        Ok(self.has_files || !names.is_empty())
    }
}

/// Checks that a filter only depends on partition columns, before files are written that replace the rows that it
/// selects.
///
/// # Errors
/// `Unsupported` for a filter of other columns, `Invalid` for one that does not fit them.
pub fn check_replaced(snapshot: &Snapshot, filter: &Expr) -> Result<()> {
    PartitionCondition::new(snapshot, filter).map(drop)
}

/// A filter that only depends on partition columns.
struct PartitionCondition {
    predicate: Predicate,
    /// The names of its columns, in its order.
    columns: Vec<String>,
}

impl PartitionCondition {
    fn new(snapshot: &Snapshot, filter: &Expr) -> Result<Self> {
        let place = || snapshot.table().location().to_owned();
        let known = snapshot.partition_columns();
        let fields = known.iter().filter_map(|name| snapshot.schema().field_with_name(name).ok().cloned());
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let predicate = Predicate::bind(filter, &schema).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                let columns = if known.is_empty() { "it has none".to_owned() } else { known.join(", ") };
                let reason = match Predicate::bind(filter, snapshot.schema()) {
                    Ok(_) => "the condition has others".to_owned(),
                    Err(_) => error.to_string(),
                };
                Error::unsupported(format!(
                    "rows are selected for replacement by the table's partition columns ({columns}): {reason}"
                ))
                .at(place())
                .advice("delete the rows and append others")
            }
            _ => error.at(place()),
        })?;
        let columns = predicate.columns().iter().map(|at| schema.field(*at).name().clone()).collect();
        Ok(Self { predicate, columns })
    }

    /// Returns true if it is true of a partition with these values.
    fn holds(&self, values: &Constants) -> Result<bool> {
        let missing = || Error::internal("a partition without a value of its column");
        let array = |name: &String| values.array(name, 1)?.ok_or_else(missing);
        let arrays = self.columns.iter().map(array).collect::<Result<Vec<ArrayRef>>>()?;
        let field = |name: &String| values.get(name).map(|(field, _)| Arc::clone(field)).ok_or_else(missing);
        let fields = self.columns.iter().map(field).collect::<Result<Vec<_>>>()?;
        let one = RecordBatchOptions::new().with_row_count(Some(1));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &one);
        let is_true = self.predicate.evaluate(&batch.map_err(Error::unexpected)?)?;
        Ok(is_true.is_valid(0) && is_true.value(0))
    }
}
