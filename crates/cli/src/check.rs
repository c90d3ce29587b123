//! `lakerace check`.

use std::io::Write;

use lakerace::{Error, LocationCheck, RegionSource, Result, RightOutcome};

use crate::args::CheckArgs;
use crate::session::{Session, storage_options};
use crate::stdout::PipeStdout;
use crate::{human, shown};

/// Returns the exit code: that of the first error if nothing is allowed.
pub(crate) fn run(args: &CheckArgs, session: &Session) -> Result<u8> {
    let check = lakerace::check(&args.location, &storage_options(&args.store), &session.job)?;
    match session.global.json {
        true => session.done_without_rows("checked", &check)?,
        false => print(&check)?,
    }
    Ok(check.failure().map_or(0, |error| error.kind().exit_code()))
}

fn print(check: &LocationCheck) -> Result<()> {
    let mut out = PipeStdout::lock();
    let mut line = |name: &str, value: &str| {
        writeln!(out, "{name:<15}{}", shown::text(value)).map_err(|e| Error::from(e).at("standard output"))
    };
    line("location", &check.location)?;
    line("store", &check.store)?;
    let region = check.region.as_ref().map(|region| match check.region_source {
        Some(RegionSource::Amazon) => format!("{region} (requested from Amazon)"),
        Some(RegionSource::Settings) | None => region.clone(),
    });
    let named = [("credentials", &check.credentials), ("region", &region), ("endpoint", &check.endpoint)];
    for (name, value) in named {
        if let Some(value) = value {
            line(name, value)?;
        }
    }
    if let Some(seconds) = check.clock_skew_seconds {
        line("clock", &format!("{seconds:+} s relative to the server"))?;
    }
    for right in &check.rights {
        let outcome = match right.outcome {
            RightOutcome::Allowed => "yes",
            RightOutcome::Denied => "denied",
            RightOutcome::Unsupported => "not supported",
            RightOutcome::Failed => "failed",
            RightOutcome::NotTried => "not tried",
        };
        let told = right.message.as_ref().map_or_else(|| outcome.to_owned(), |message| format!("{outcome}: {message}"));
        line(&right.right.replace('_', " "), &told)?;
    }
    if let Some(latency_ms) = check.latency_ms {
        line("latency", &format!("{latency_ms:.1} ms"))?;
    }
    for (name, rate) in [("writes", check.write_bytes_per_second), ("reads", check.read_bytes_per_second)] {
        if let Some(rate) = rate {
            line(name, &format!("{}/s (one request)", human::bytes(rate as u64)))?;
        }
    }
    for advice in &check.advice {
        line("advice", advice)?;
    }
    out.flush().map_err(|e| Error::from(e).at("standard output"))
}
