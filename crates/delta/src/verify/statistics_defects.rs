//! Statistics in the log that no reader understands, or that contradict themselves. No value is read for it.

use lakerace_io::Result;

use crate::snapshot::Snapshot;
use crate::snapshot::files::{StatisticsDefect, TableFiles, list_checked};
use crate::snapshot::statistics::FileStatistics;

/// Lists the files of a version, and their statistics that are not valid, or contradict themselves.
pub(super) fn list(snapshot: &Snapshot) -> Result<(TableFiles, Vec<StatisticsDefect>)> {
    let (listed, mut defects) = list_checked(snapshot)?;
    let reversed = listed.files.iter().filter_map(|file| {
        let column = FileStatistics { file, columns: snapshot.columns() }.reversed_column()?;
        let reason = format!("have a minimum of {column} that is above its maximum");
        Some(StatisticsDefect { path: file.path.clone(), reason })
    });
    defects.extend(reversed);
    Ok((listed, defects))
}
