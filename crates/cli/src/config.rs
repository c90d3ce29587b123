//! `lakerace config`.

use std::io::Write;

use lakerace::{Error, Result};
use lakerace_io::config::{self, ConfigFile};
use serde_json::json;

use crate::args::GlobalOptions;
use crate::defaults::{self, OptionDefault};
use crate::stdout::PipeStdout;
use crate::{shown, stderr, stdout};

/// Prints the configuration file, its connections without secrets, and the defaults that apply.
pub(crate) fn run(global: &GlobalOptions) -> Result<()> {
    let config = config::active()?;
    let defaults = defaults::all(config.as_deref())?;
    let mut warnings: Vec<String> = config.iter().filter_map(|config| config.warning()).collect();
    warnings.extend(defaults::warnings_of_variables());
    for warning in &warnings {
        stderr::line(&format!("warning: {}", shown::text(warning)));
    }
    match global.json {
        true => stdout::line(&shown::json(as_json(config.as_deref(), &defaults, &warnings)).to_string()),
        false => print(config.as_deref(), &defaults),
    }
}

fn as_json(config: Option<&ConfigFile>, defaults: &[OptionDefault], warnings: &[String]) -> serde_json::Value {
    let connections: Vec<_> = config
        .into_iter()
        .flat_map(|config| &config.connections)
        .map(|(name, entry)| {
            let options: serde_json::Map<_, _> =
                entry.shown_options().map(|(name, value)| (name.to_owned(), value.into())).collect();
            json!({ "name": name, "url": entry.shown_url(), "storage_options": options })
        })
        .collect();
    let defaults: Vec<_> = defaults
        .iter()
        .map(|default| json!({ "option": default.option.id, "value": default.value, "from": default.origin }))
        .collect();
    let file = config.map(|config| config.path.display().to_string());
    json!({ "file": file, "connections": connections, "defaults": defaults, "warnings": warnings })
}

fn print(config: Option<&ConfigFile>, defaults: &[OptionDefault]) -> Result<()> {
    let mut out = PipeStdout::lock();
    let mut line = |text: &str| writeln!(out, "{}", shown::text(text));
    let mut lines = || -> std::io::Result<()> {
        match config {
            Some(config) => line(&format!("file         {}", config.path.display()))?,
            None => line("file         none")?,
        }
        for (name, entry) in config.into_iter().flat_map(|config| &config.connections) {
            line(&format!("connection   @{name}  {}", entry.shown_url()))?;
            for (name, value) in entry.shown_options() {
                line(&format!("               {name} = {value}"))?;
            }
        }
        for default in defaults {
            let flag = default.option.id.replace('_', "-");
            line(&format!("default      {flag} = {}  ({})", default.value, default.origin))?;
        }
        Ok(())
    };
    lines().map_err(|e| Error::from(e).at("standard output"))?;
    out.flush().map_err(|e| Error::from(e).at("standard output"))
}
