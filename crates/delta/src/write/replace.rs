//! The rows that the files of other processes replace: nothing, the whole table, or the rows of some partitions.

use std::collections::{HashMap, HashSet};

use arrow::array::{Array, AsArray, MapArray, RecordBatch};
use delta_kernel::schema::{DataType, PrimitiveType};
use delta_kernel::transaction::{Transaction, UpdateTable, UpdateTableOperation};
use lakerace_io::{Error, Result, WriteMode};

use super::AddedFile;
use super::replace_where::ReplaceCondition;
use crate::commit::CommitAction;
use crate::commit::scan_rows::{chosen, scan_rows};
use crate::kernel::error::from_kernel;
use crate::snapshot::Snapshot;

/// The rows that new files take the place of.
#[derive(Debug, Clone, PartialEq)]
pub enum Replaced {
    /// None: the files are added.
    Nothing,
    /// The rows of the partitions that the files belong to. Of a table without partitions, all of them.
    Partitions,
    /// The rows of the partitions for which a filter of partition columns is true, to which the files have to belong.
    Where(ReplaceCondition),
    /// All of them.
    Table,
}

/// The values of a partition, as text that is the same for the same values, however the log writes them.
type Partition = Vec<String>;

/// An entry that removes the files of some partitions.
pub(crate) struct ReplacedPartitions {
    columns: LoggedPartitionColumns,
    partitions: HashSet<Partition>,
}

/// The partition columns, by the names that the log has for them.
struct LoggedPartitionColumns(Vec<(String, PrimitiveType)>);

impl ReplacedPartitions {
    /// The partitions that these files belong to.
    pub fn from_files(snapshot: &Snapshot, files: &[AddedFile]) -> Result<Self> {
        let columns = LoggedPartitionColumns::from_snapshot(snapshot)?;
        let values = |file: &AddedFile| columns.partition(|name| file.partition_values.get(name)?.clone());
        let partitions = files.iter().map(values).collect::<Result<_>>()?;
        Ok(Self { columns, partitions })
    }
}

impl LoggedPartitionColumns {
    fn from_snapshot(snapshot: &Snapshot) -> Result<Self> {
        let schema = snapshot.kernel().schema();
        let column = |name: String| {
            let stored = snapshot.columns().stored_path(std::slice::from_ref(&name));
            let stored = stored.and_then(|path| path.first().map(|name| (*name).to_owned()));
            match schema.field(&name).map(|field| field.data_type()) {
                Some(DataType::Primitive(primitive)) => Ok((stored.unwrap_or(name), primitive.clone())),
                _ => Err(Error::corrupt(format!("the partition column {name:?} is not in the schema, or nested"))),
            }
        };
        Ok(Self(snapshot.partition_columns().into_iter().map(column).collect::<Result<_>>()?))
    }

    /// A partition by its values as the log has them.
    fn partition(&self, value: impl Fn(&str) -> Option<String>) -> Result<Partition> {
        let same = |(name, primitive): &(String, PrimitiveType)| match value(name) {
            // The log has null as either.
            None => Ok(String::new()),
            Some(text) if text.is_empty() => Ok(text),
            Some(text) => Ok(format!("{:?}", primitive.parse_scalar(&text).map_err(from_kernel)?)),
        };
        self.0.iter().map(same).collect()
    }
}

impl CommitAction for ReplacedPartitions {
    fn operation(&self) -> (UpdateTableOperation, Vec<(&'static str, String)>) {
        let parameters = [("mode", "Overwrite"), ("isDynamicPartitionOverwrite", "true")];
        (UpdateTableOperation::Write, parameters.map(|(name, value)| (name, value.to_owned())).to_vec())
    }

    fn check(&self, snapshot: &Snapshot) -> Result<()> {
        WriteMode::Overwrite.check(snapshot)
    }

    fn stage(&mut self, snapshot: &Snapshot, update: &mut Transaction<UpdateTable>) -> Result<bool> {
        for batch in scan_rows(snapshot)? {
            let selection = self.of_partitions(&batch).map_err(|error| error.at(snapshot.table().location()))?;
            if let Some(files) = chosen(&batch, selection)? {
                update.remove_files(files);
            }
        }
        // Without files there is nothing to replace.
        Ok(!self.partitions.is_empty())
    }
}

impl ReplacedPartitions {
    /// Which rows of a batch are files of the partitions.
    fn of_partitions(&self, batch: &RecordBatch) -> Result<Vec<bool>> {
        let constants = batch.column_by_name("fileConstantValues").and_then(|column| column.as_struct_opt());
        let values = constants.and_then(|constants| constants.column_by_name("partitionValues"));
        let values = values.and_then(|values| values.as_map_opt());
        let values = values.ok_or_else(|| Error::internal("the kernel returned no partition values"))?;
        let is_one = |row: usize| {
            let known = texts(values, row)?;
            Ok(self.partitions.contains(&self.columns.partition(|name| known.get(name).cloned())?))
        };
        (0..batch.num_rows()).map(is_one).collect()
    }
}

/// The values of a row that are not null.
fn texts(values: &MapArray, row: usize) -> Result<HashMap<String, String>> {
    if values.is_null(row) {
        return Ok(HashMap::new());
    }
    let entries = values.value(row);
    let text = |at: usize| {
        entries
            .column(at)
            .as_string_opt::<i32>()
            .ok_or_else(|| Error::internal("partition values that are not strings"))
    };
    let (names, values) = (text(0)?, text(1)?);
    let known = (0..entries.len()).filter(|at| values.is_valid(*at));
    Ok(known.map(|at| (names.value(at).to_owned(), values.value(at).to_owned())).collect())
}
