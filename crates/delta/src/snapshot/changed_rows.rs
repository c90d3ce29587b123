//! Files of which some rows have changed, as inputs of a reader.

use std::collections::HashMap;
use std::sync::Arc;

use delta_kernel::actions::deletion_vector::DeletionVectorDescriptor;
use lakerace_format::{DeletedRows, InputFile, TableSchema};
use lakerace_io::{Error, Result};
use roaring::RoaringTreemap;

use super::files::TableFile;
use super::row_counts;
use crate::deletion_vector;
use crate::table::Table;

/// Which rows of a file have changed.
#[derive(Debug, Clone)]
pub(crate) enum ChangedRows {
    /// All that its vector does not hide.
    Visible,
    /// The rows that the first vector hides and the second one does not.
    Between(Option<DeletionVectorDescriptor>, Option<DeletionVectorDescriptor>),
}

/// The files, restricted to their changed rows; `None` where a file has none. Each vector is read once.
pub(crate) fn inputs(
    table: &Table,
    columns: &Arc<TableSchema>,
    files: &[(&TableFile, &ChangedRows)],
) -> Result<Vec<Option<InputFile>>> {
    let vectors = ChangedVectors::load(table, columns, files)?;
    files.iter().enumerate().map(|(number, (file, rows))| vectors.input(number, file, rows)).collect()
}

/// The vectors that determine which rows of files have changed.
struct ChangedVectors {
    /// The rows that the vectors of files hide, of which all else is read.
    hidden: Vec<Option<Arc<DeletedRows>>>,
    /// The number of rows of files whose vector has changed.
    counts: HashMap<usize, u64>,
    /// The vectors of which one is taken from another.
    compared: HashMap<String, RoaringTreemap>,
}

impl ChangedVectors {
    fn load(table: &Table, columns: &Arc<TableSchema>, files: &[(&TableFile, &ChangedRows)]) -> Result<Self> {
        let mut whole = Vec::new();
        let mut between: Vec<(usize, &TableFile)> = Vec::new();
        let mut compared: HashMap<String, TableFile> = HashMap::new();
        for (number, (file, rows)) in files.iter().enumerate() {
            let ChangedRows::Between(hiding, showing) = rows else {
                whole.push((number, *file));
                continue;
            };
            between.push((number, file));
            for vector in [hiding, showing].into_iter().flatten() {
                let with_vector = || TableFile { vector: Some(vector.clone()), ..(*file).clone() };
                compared.entry(name_of(vector)).or_insert_with(with_vector);
            }
        }
        let loaded = deletion_vector::load(table, &whole.iter().map(|(_, file)| *file).collect::<Vec<_>>())?;
        let mut hidden = vec![None; files.len()];
        for ((number, _), rows) in whole.iter().zip(loaded) {
            hidden[*number] = rows;
        }
        let (names, with_vectors): (Vec<String>, Vec<TableFile>) = compared.into_iter().unzip();
        let vectors = deletion_vector::treemaps(table, &with_vectors.iter().collect::<Vec<_>>())?;
        let compared = names.into_iter().zip(vectors).filter_map(|(name, vector)| Some((name, vector?))).collect();
        let (numbers, between): (Vec<usize>, Vec<&TableFile>) = between.into_iter().unzip();
        let counts = row_counts::count_of(&between, columns, table.job())?;
        Ok(Self { hidden, counts: numbers.into_iter().zip(counts).collect(), compared })
    }

    fn input(&self, number: usize, file: &TableFile, rows: &ChangedRows) -> Result<Option<InputFile>> {
        let hidden = match rows {
            ChangedRows::Visible => self.hidden[number].clone(),
            ChangedRows::Between(hiding, showing) => {
                let rows = self.rows(hiding.as_ref()) - self.rows(showing.as_ref());
                if rows.is_empty() {
                    return Ok(None);
                }
                let count = self.counts.get(&number).copied().unwrap_or(0);
                let hidden = DeletedRows::all_but(rows.iter(), count).map_err(|e: Error| e.at(file.object.url()))?;
                Some(Arc::new(hidden))
            }
        };
        let (object, constants) = (file.object.clone(), file.constants.clone());
        Ok(Some(InputFile { object, constants, hidden, stated_rows: file.rows }))
    }

    fn rows(&self, vector: Option<&DeletionVectorDescriptor>) -> RoaringTreemap {
        vector.and_then(|vector| self.compared.get(&name_of(vector))).cloned().unwrap_or_default()
    }
}

/// The name of a vector among those of the table.
fn name_of(vector: &DeletionVectorDescriptor) -> String {
    format!("{} {} {:?}", vector.storage_type, vector.path_or_inline_dv, vector.offset)
}
