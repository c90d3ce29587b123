//! The way in which a job has written its files, and warnings for its user.

use crate::file_io::FileIo;
use crate::job::Job;
use crate::option::ON_BAD_ROW;

impl Job {
    /// The way in which this job's files on this machine are written: the requested one, or its replacement. `None`
    /// until it writes one.
    pub fn file_io(&self) -> Option<FileIo> {
        self.file_io_seen().lock().effective
    }

    /// Bytes of this job that were written past the page cache.
    pub fn bytes_past_cache(&self) -> u64 {
        self.page_cache().bytes_past()
    }

    /// Warnings without a failure: that the job uses another way than the requested one, and the reason; and that rows
    /// of a source did not fit.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.file_io_seen().lock().warnings.clone();
        warnings.extend(bad_rows_warning(self.meter().counts().bad_rows));
        warnings
    }

    /// The warnings that no call of this function has returned, so that each is reported once, however many calls share
    /// the job. Rows that did not fit are none of them: the caller chose what becomes of them, and the report counts
    /// them.
    pub fn take_warnings(&self) -> Vec<String> {
        let mut seen = self.file_io_seen().lock();
        let known = seen.reported;
        seen.reported = seen.warnings.len();
        seen.warnings[known..].to_vec()
    }

    /// The way to write a new file. For the first one, `probe` asks the kernel which part of the requested way works
    /// here, and the reason for any difference.
    pub(crate) fn begin_file(&self, probe: impl FnOnce(FileIo) -> (FileIo, Option<String>)) -> FileIo {
        let mut seen = self.file_io_seen().lock();
        if let Some(effective) = seen.effective {
            return effective;
        }
        let (effective, warning) = match self.options().file_io {
            io @ (FileIo::Auto | FileIo::Sync) => (io, None),
            wanted => probe(wanted),
        };
        seen.effective = Some(effective);
        warning.iter().for_each(|warning| log(warning));
        seen.warnings.extend(warning);
        effective
    }

    /// From here on, files are written this way; the user gets one warning.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "io_uring alone falls back"))]
    pub(crate) fn fall_back(&self, to: FileIo, warning: String) {
        let mut seen = self.file_io_seen().lock();
        if seen.effective != Some(to) {
            seen.effective = Some(to);
            log(&warning);
            seen.warnings.push(warning);
        }
    }

    /// Tells the user something, once.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "io_uring alone falls back"))]
    pub fn warn(&self, warning: &str) {
        let mut seen = self.file_io_seen().lock();
        if seen.warnings.iter().all(|known| known != warning) {
            log(warning);
            seen.warnings.push(warning.to_owned());
        }
    }
}

fn log(warning: &str) {
    tracing::warn!(target: "lakerace_io::warnings", "{warning}");
}

/// That rows did not fit, in words; `None` where all did.
fn bad_rows_warning(rows: u64) -> Option<String> {
    let what = match rows {
        0 => return None,
        1 => "1 row does not fit its columns and is".to_owned(),
        rows => format!("{rows} rows do not fit their columns and are"),
    };
    Some(format!("{what} skipped, or kept with nulls and without surplus fields, as {ON_BAD_ROW} specifies"))
}

#[cfg(test)]
mod tests;
