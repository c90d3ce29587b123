//! Which files are rewritten together.

use std::collections::{HashMap, HashSet};

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use lakerace_format::{Constants, Predicate};
use lakerace_io::option::{SORT_BY, WHERE, ZORDER};
use lakerace_io::{Error, Result};

use super::{CompactOptions, Layout};
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;

/// Files of one partition that are rewritten together.
#[derive(Debug)]
pub(super) struct FileBin {
    pub files: Vec<TableFile>,
}

impl FileBin {
    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size_bytes).sum()
    }

    /// Notes how many rows are visible in each of its files, where the log does not say.
    pub fn set_visible(&mut self, visible: impl Iterator<Item = u64>) {
        for (file, visible) in self.files.iter_mut().zip(visible) {
            let rows = visible + hidden(file);
            file.rows.get_or_insert(rows);
        }
    }

    /// Their hidden rows.
    pub fn hidden(&self) -> u64 {
        self.files.iter().map(hidden).sum()
    }
}

/// The rules for files that are rewritten.
pub(super) struct BinRules<'a> {
    options: &'a CompactOptions,
    condition: Option<Predicate>,
    schema: SchemaRef,
}

impl<'a> BinRules<'a> {
    /// For the files of a version. A condition on columns that don't divide it is an error.
    pub fn new(snapshot: &Snapshot, options: &'a CompactOptions) -> Result<Self> {
        let schema = SchemaRef::clone(snapshot.schema());
        let partitions = snapshot.partition_columns();
        let bind = |expr| Predicate::bind(expr, &schema);
        let condition = options.condition.as_ref().map(bind).transpose()?;
        let names = condition.iter().flat_map(Predicate::columns).map(|at| schema.field(*at).name());
        if let Some(name) = names.into_iter().find(|name| !partitions.contains(name)) {
            let known = match partitions.as_slice() {
                [] => "the table has no partitions".to_owned(),
                _ => format!("the table is partitioned by {}", partitions.join(", ")),
            };
            return Err(Error::usage(format!("{WHERE}: {name:?} is not a partition column"))
                .advice(format!("{known}; without {WHERE}, the whole table is compacted")));
        }
        if let Layout::SortBy(names) | Layout::ZOrder(names) = &options.layout {
            if names.is_empty() {
                return Err(Error::usage("no column is given to sort by")
                    .advice(format!("name some with {SORT_BY} or {ZORDER}")));
            }
            if let Some(name) = names.iter().find(|name| partitions.contains(name)) {
                return Err(Error::usage(format!("{name:?} is the same in all rows of a partition"))
                    .advice(format!("name other columns with {SORT_BY} or {ZORDER}")));
            }
            super::SortColumns::new(names, &schema)?;
        }
        Ok(Self { options, condition, schema })
    }

    /// The groups of files to be rewritten, of one partition each: of a version's files those that may be.
    pub fn bins(&self, files: &[TableFile], may_be: impl Fn(&TableFile) -> bool) -> Vec<FileBin> {
        let files: Vec<&TableFile> = files.iter().filter(|file| self.is_meant(file)).collect();
        let holey = self.holey(&files);
        let files: Vec<&TableFile> = files.into_iter().filter(|file| may_be(file)).collect();
        let has_many = files.iter().filter(|file| self.is_small(file)).count() >= self.options.min_files;
        let mut partitions: Vec<Vec<&TableFile>> = Vec::new();
        let mut numbers: HashMap<String, usize> = HashMap::new();
        for file in files.into_iter().filter(|file| self.is_candidate(file, has_many, &holey)) {
            let number = *numbers.entry(format!("{:?}", file.constants)).or_insert_with(|| {
                partitions.push(Vec::new());
                partitions.len() - 1
            });
            partitions[number].push(file);
        }
        match self.options.layout {
            Layout::AsIs => partitions.iter().flat_map(|files| self.pack(files, &holey)).collect(),
            _ => partitions.into_iter().map(|files| FileBin { files: files.into_iter().cloned().collect() }).collect(),
        }
    }

    /// Returns true if a file is in the partitions that are compacted.
    pub fn is_meant(&self, file: &TableFile) -> bool {
        let Some(condition) = &self.condition else { return true };
        let Some(constants) = &file.constants else { return true };
        // A condition that can't be evaluated excludes nothing.
        self.row(constants)
            .and_then(|row| condition.evaluate(&row))
            .map_or(true, |is_true| is_true.is_valid(0) && is_true.value(0))
    }

    /// The partition columns of a file, as a row.
    fn row(&self, constants: &Constants) -> Result<RecordBatch> {
        let fields = self.schema.fields().iter().filter(|field| constants.get(field.name()).is_some());
        let fields: Vec<_> = fields.map(|field| field.as_ref().clone().with_nullable(true)).collect();
        let columns = fields.iter().filter_map(|field| constants.array(field.name(), 1).transpose());
        let columns = columns.collect::<Result<Vec<_>>>()?;
        RecordBatch::try_new(SchemaRef::new(Schema::new(fields)), columns).map_err(Error::unexpected)
    }

    /// Returns true if a file is considered; `has_many`: there are many small files.
    fn is_candidate(&self, file: &TableFile, has_many: bool, holey: &Holey) -> bool {
        match self.options.layout {
            Layout::AsIs if has_many => self.is_small(file) || holey.contains(file.path.as_str()),
            // A tiny one with hidden rows waits until there are many, or each tiny upsert would write it again.
            Layout::AsIs => !self.is_tiny(file) && holey.contains(file.path.as_str()),
            Layout::SortBy(_) | Layout::ZOrder(_) => has_many,
        }
    }

    fn is_small(&self, file: &TableFile) -> bool {
        file.size_bytes < self.options.target_bytes / 4 * 3
    }

    /// Returns true if it is so small that its hidden rows cost readers almost nothing.
    fn is_tiny(&self, file: &TableFile) -> bool {
        file.size_bytes < self.options.target_bytes / 8
    }

    /// The files that are rewritten only for their hidden rows.
    fn holey<'f>(&self, files: &[&'f TableFile]) -> Holey<'f> {
        let mut holey: Holey<'f> =
            files.iter().filter(|file| self.is_holey(file)).map(|file| file.path.as_str()).collect();
        let Some(most) = self.options.max_hidden_per_visible else { return holey };
        let counted = files.iter().filter(|file| !self.is_tiny(file) && file.rows.is_some());
        let visible: u64 = counted.clone().filter_map(|file| file.visible_rows()).sum();
        let mut others: Vec<&&TableFile> = counted.filter(|file| !holey.contains(file.path.as_str())).collect();
        // Files with the fewest rows to rewrite for each hidden row come first.
        others.sort_by(|a, b| hidden_share(b).total_cmp(&hidden_share(a)));
        let mut left: u64 = others.iter().map(|file| hidden(file)).sum();
        for file in others {
            if left as f64 <= visible as f64 * most {
                break;
            }
            left -= hidden(file);
            holey.insert(file.path.as_str());
        }
        holey
    }

    /// Returns true if so many of its rows are hidden that it is rewritten independently of the other files.
    fn is_holey(&self, file: &TableFile) -> bool {
        let hidden = hidden(file);
        match file.rows {
            Some(rows) => hidden as f64 > rows as f64 * self.options.max_hidden_share,
            None => hidden > 0,
        }
    }

    /// Files one after the other, until they would make more than one file of the target size.
    fn pack(&self, files: &[&TableFile], holey: &Holey) -> Vec<FileBin> {
        let mut bins: Vec<Vec<&TableFile>> = Vec::new();
        let mut bytes = 0;
        for file in files {
            let more = bytes_left(file);
            match bins.last_mut() {
                Some(last) if bytes + more <= self.options.target_bytes => last.push(file),
                _ => {
                    bins.push(vec![file]);
                    bytes = 0;
                }
            }
            bytes += more;
        }
        let is_worth_it =
            |files: &Vec<&TableFile>| files.len() > 1 || files.iter().any(|file| holey.contains(file.path.as_str()));
        let bin = |files: Vec<&TableFile>| FileBin { files: files.into_iter().cloned().collect() };
        bins.into_iter().filter(is_worth_it).map(bin).collect()
    }
}

/// The paths of files that are rewritten for their hidden rows.
type Holey<'f> = HashSet<&'f str>;

/// The share of hidden rows of a file that says how many it has.
fn hidden_share(file: &TableFile) -> f64 {
    hidden(file) as f64 / file.rows.unwrap_or(0).max(1) as f64
}

fn hidden(file: &TableFile) -> u64 {
    file.vector.as_ref().map_or(0, |vector| vector.cardinality.max(0) as u64)
}

/// The approximate bytes of a file's visible rows.
fn bytes_left(file: &TableFile) -> u64 {
    match (file.rows, file.visible_rows()) {
        (Some(rows), Some(visible)) if rows > 0 => (file.size_bytes as f64 * visible as f64 / rows as f64) as u64,
        _ => file.size_bytes,
    }
}
