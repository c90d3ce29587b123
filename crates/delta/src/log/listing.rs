//! Listing a table's log.

use lakerace_io::{ObjectInfo, Result};

use super::files::{LogFile, parse};
use crate::paths::LOG;
use crate::table::Table;

/// The folder, in that of the log, with parts of checkpoints.
const SIDECARS: &str = "_sidecars";
impl Table {
    /// The files of the log, in the order of their names. One LIST for each thousand of them.
    pub(crate) fn list_log(&self) -> Result<Vec<LogFile>> {
        self.list_log_and_sidecars().map(|(files, _)| files)
    }

    /// Lists the log as [`Self::list_log`] does, with the parts of checkpoints that are in files of their own.
    pub(crate) fn list_log_and_sidecars(&self) -> Result<(Vec<LogFile>, Vec<ObjectInfo>)> {
        let folder = self.root().clone().join(LOG);
        let (depth, parts) = (folder.parts().count() + 1, folder.clone().join(SIDECARS));
        let found = self.store().list(&folder).map_err(|error| error.at(self.location()))?;
        let (in_folder, below): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|info| info.path.parts().count() == depth);
        let sidecars = below.into_iter().filter(|info| info.path.prefix_matches(&parts)).collect();
        Ok((in_folder.into_iter().filter_map(parse).collect(), sidecars))
    }
}
