//! Shell integration: completions and manual pages.

use std::fs;
use std::io::Write;
use std::path::Path;

use lakerace::{Error, Result};

use crate::args::{CompletionsArgs, GlobalOptions, ManArgs, command_line};
use crate::stdout::PipeStdout;

/// Prints the script that a shell completes by.
pub(crate) fn completions(args: &CompletionsArgs, global: &GlobalOptions) -> Result<()> {
    if global.json {
        return Err(Error::usage("--json does not apply to completions").advice("omit it"));
    }
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command_line(), "lakerace", &mut script);
    let mut out = PipeStdout::lock();
    out.write_all(&script)?;
    Ok(out.flush()?)
}

/// Writes the manual pages.
pub(crate) fn man(args: &ManArgs, global: &GlobalOptions) -> Result<()> {
    let folder = &args.folder;
    fs::create_dir_all(folder).map_err(|e| Error::from(e).at(folder.display()))?;
    let mut command = command_line();
    // Sets the full name of each subcommand, such as `lakerace-files-put`.
    command.build();
    let mut files = Vec::new();
    write_pages(command, folder, &mut files)?;
    let mut out = PipeStdout::lock();
    if global.json {
        writeln!(out, "{}", serde_json::json!({ "files": files }))?;
    } else if !global.quiet {
        writeln!(out, "wrote {} pages", files.len())?;
    }
    Ok(out.flush()?)
}

/// Writes the page of a command, and those of its subcommands; adds their paths to `files`.
fn write_pages(command: clap::Command, folder: &Path, files: &mut Vec<String>) -> Result<()> {
    for subcommand in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        write_pages(subcommand.clone(), folder, files)?;
    }
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let path = folder.join(format!("{name}.1"));
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    fs::write(&path, page).map_err(|e| Error::from(e).at(path.display()))?;
    files.push(path.display().to_string());
    Ok(())
}
