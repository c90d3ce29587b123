//! Settings of stores, as options name them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::credentials::Credentials;
pub use super::foreign_options::RETRY_TIME_OPTION;
use super::foreign_options::translate_common;
use crate::error::{Error, Result};
use crate::option::RETRY_TIME;

/// Settings of stores by name. They win over the variables of the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageOptions {
    /// Lower-case keys as `object_store` names them (`aws_access_key_id`, `google_base_url`, `azure_storage_account_name`, …).
    pub options: BTreeMap<String, String>,
    /// The provider of the store's credentials. Keys among the options are not used then.
    pub credentials: Option<Credentials>,
}

impl FromIterator<(String, String)> for StorageOptions {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(options: T) -> Self {
        Self { options: options.into_iter().collect(), credentials: None }
    }
}

impl StorageOptions {
    /// The time within which failed requests are repeated ([`RETRY_TIME_OPTION`]); `None` if no option gives it.
    ///
    /// # Errors
    /// `Usage` if it is not a time.
    pub fn retry_time(&self) -> Result<Option<Duration>> {
        let options = translate_common(&self.options)?.options;
        let found = options.iter().find(|(name, _)| name.eq_ignore_ascii_case(RETRY_TIME_OPTION));
        let wrong = |e| Error::usage(format!("{RETRY_TIME}: {e}")).advice("write a time such as 60s, 5m or 0s");
        found.map(|(_, text)| humantime::parse_duration(text).map_err(wrong)).transpose()
    }

    /// Returns true if a table's log may name files in other stores ([`ALLOW_FOREIGN_PATHS`]). An error of kind `Usage`
    /// if the value is neither true nor false.
    pub fn allows_foreign_paths(&self) -> Result<bool> {
        let found = self.options.iter().find(|(name, _)| name.eq_ignore_ascii_case(ALLOW_FOREIGN_PATHS));
        match found.map(|(_, value)| value.to_ascii_lowercase()).as_deref() {
            None | Some("false" | "0" | "no") => Ok(false),
            Some("true" | "1" | "yes") => Ok(true),
            Some(_) => Err(Error::usage(format!("{ALLOW_FOREIGN_PATHS} must be true or false"))),
        }
    }
}

/// The storage option by which a table's log may name files in other stores than the table's own: `true` or `false`.
pub const ALLOW_FOREIGN_PATHS: &str = "allow_foreign_paths";
