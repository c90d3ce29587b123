//! The texts of a read, parsed: its columns, its filter and its order. They become the plan of a scan.

use lakerace_format::{Expr, FieldPaths, ReadPlan, ReadRequest, Source};
use lakerace_io::option::{COLUMNS, FILE_NAME_COLUMN};
use lakerace_io::{Error, Job, Result};

use crate::column_item::ColumnItem;
use crate::column_nesting::NestedProjection;
use crate::computed_columns::{ColumnProjection, RequestedColumns};
use crate::database;
use crate::dataset::{self, OpenedLocation};
use crate::filter::{RunTime, parse_filter_at};
use crate::options::ReadOptions;
use crate::scan_order::{RequestedOrder, ScanOrder};

/// The columns, the filter and the order that the options of a read name, and the fields that the caller uses.
pub(crate) struct ScanTexts {
    /// The columns of the source that its own columns need; `None`: all.
    columns: Option<Vec<String>>,
    computed: Option<RequestedColumns>,
    pub filter: Option<Expr>,
    order: Option<RequestedOrder>,
    fields: FieldPaths,
}

/// The plan of reading, and the steps that follow it.
pub(crate) struct PlannedSteps {
    pub plan: ReadPlan,
    pub order: Option<ScanOrder>,
    pub projection: Option<ColumnProjection>,
    pub nested: Option<NestedProjection>,
}

impl ScanTexts {
    /// Parses the options of a read. Errors name the location.
    pub(crate) fn parse(location: &str, options: &ReadOptions) -> Result<Self> {
        let texts = Self::parsed(location, options);
        texts.map_err(|error| error.at(database::shown(location)))
    }

    fn parsed(location: &str, options: &ReadOptions) -> Result<Self> {
        let time = RunTime::now();
        let filter = options.filter.as_deref().map(|text| parse_filter_at(text, time)).transpose()?;
        let computed = RequestedColumns::from_options(location, options, time)?;
        let order = RequestedOrder::parse(options, time)?;
        let (columns, order) = match (&computed, order) {
            (Some(computed), Some(order)) => {
                let order = order.by_other_values(|value| computed.with_aliases(value))?;
                (Some(computed.source_columns()), Some(order))
            }
            (Some(computed), None) => (Some(computed.source_columns()), None),
            (None, order) => {
                let name = |item: &ColumnItem| item.text().to_owned();
                (options.columns.as_ref().map(|items| items.iter().map(name).collect()), order)
            }
        };
        let texts = Self { columns, computed, filter, order, fields: FieldPaths::new() };
        texts.check_file_name_column(options)?;
        Ok(texts)
    }

    /// Returns an error where the column of the files' names is requested, and neither returned nor used.
    fn check_file_name_column(&self, options: &ReadOptions) -> Result<()> {
        let (Some(name), Some(columns)) = (&options.file_name_column, &self.columns) else { return Ok(()) };
        let ordered = self.order.as_ref().and_then(|order| order.with_own_columns(Some(columns)));
        let mut is_used = ordered.as_ref().unwrap_or(columns).contains(name);
        if let Some(filter) = &self.filter {
            filter.visit_columns(&mut |column| is_used |= column == name);
        }
        if is_used {
            return Ok(());
        }
        Err(Error::usage(format!("{FILE_NAME_COLUMN}: {COLUMNS} leaves out the column {name:?}"))
            .advice(format!("add it to {COLUMNS}, or omit {FILE_NAME_COLUMN}")))
    }

    /// The same for a caller that only uses these fields of some columns.
    pub(crate) fn for_fields(self, fields: FieldPaths) -> Self {
        Self { fields, ..self }
    }

    /// Returns true if the read has a filter, an order or computed columns. In these, `now()` is the time of their parsing.
    pub(crate) fn has_expressions(&self) -> bool {
        self.filter.is_some() || self.order.is_some() || self.computed.is_some()
    }

    /// Opens the location for the columns that the read and its order need.
    pub(crate) fn open(&self, location: &str, options: &ReadOptions, job: &Job) -> Result<OpenedLocation> {
        let columns = match &self.order {
            Some(order) => order.with_own_columns(self.columns.as_deref()),
            None => self.columns.clone(),
        };
        dataset::open(location, options, (columns.as_deref(), self.filter.as_ref()), job)
    }

    /// The plan of reading an opened source, in batches of so many rows, and the steps that follow it.
    ///
    /// # Errors
    /// `NotFound` for a column that does not exist; `Invalid` for values that don't fit their columns; `Usage` for columns
    /// that would get the same name.
    pub(crate) fn plan(
        &self,
        source: &dyn Source,
        options: &ReadOptions,
        batch_rows: Option<usize>,
    ) -> Result<PlannedSteps> {
        let schema = source.schema();
        let computed = self.computed.as_ref();
        let computed = computed.map(|computed| computed.with_fields_as_columns(&options.nesting, &schema));
        let columns = match &computed {
            Some(computed) => Some(computed.request_columns(source)?),
            None => self.columns.clone(),
        };
        // A step that follows may need other fields of a column.
        let has_steps = self.order.is_some() || computed.is_some();
        let request = ReadRequest {
            columns,
            fields: if has_steps { FieldPaths::new() } else { self.fields.clone() },
            filter: self.filter.clone(),
            limit: options.limit,
            batch_rows,
            version: None,
        };
        let (plan, order) = match &self.order {
            None => (source.plan(&request)?, None),
            Some(order) => {
                let plan = order.plan(source, &request)?;
                let order = ScanOrder::new(order, &schema, (&request, &plan), options.memory_bytes)?;
                (plan, Some(order))
            }
        };
        let input = order.as_ref().map_or(&plan.schema, ScanOrder::schema);
        let projected = |computed| ColumnProjection::new(computed, &schema, request.columns.as_ref(), input);
        let projection = computed.as_ref().map(projected).transpose()?;
        let output = projection.as_ref().map_or(input, ColumnProjection::schema);
        let nested = NestedProjection::new(&options.nesting, output)?;
        Ok(PlannedSteps { plan, order, projection, nested })
    }
}

impl PlannedSteps {
    /// The steps of a plan that was made elsewhere, for a source that it fits.
    ///
    /// # Errors
    /// Those of [`ColumnProjection::new`] and [`NestedProjection::new`].
    pub(crate) fn from_plan(
        location: &str,
        plan: ReadPlan,
        source: &dyn Source,
        options: &ReadOptions,
    ) -> Result<Self> {
        let projected = |computed: RequestedColumns| {
            let schema = source.schema();
            let computed = computed.with_fields_as_columns(&options.nesting, &schema);
            ColumnProjection::new(&computed, &schema, plan.request.columns.as_ref(), &plan.schema)
        };
        let computed = RequestedColumns::from_options(location, options, RunTime::now())?;
        let projection = computed.map(projected).transpose()?;
        let output = projection.as_ref().map_or(&plan.schema, ColumnProjection::schema);
        let nested = NestedProjection::new(&options.nesting, output)?;
        Ok(Self { plan, order: None, projection, nested })
    }
}

#[cfg(test)]
mod tests;
