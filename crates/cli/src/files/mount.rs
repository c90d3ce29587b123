//! `lakerace files mount`.

use lakerace::{Error, Result};

use crate::args::MountArgs;

/// Says that this build does not mount.
pub(super) fn mount(args: &MountArgs) -> Result<()> {
    Err(Error::unsupported("this build of lakerace does not mount stores")
        .at(args.directory.display())
        .advice("write the files to a directory: lakerace files export"))
}
