//! Signatures of requests that were changed after `object_store` had signed them.

use std::fmt;

use http::header::AUTHORIZATION;
use object_store::azure::{AzureAccessKey, AzureAuthorizer, AzureCredential};
use object_store::client::HttpRequest;

use crate::error::{Error, Result};

/// The key of an account. It signs conditions, which tokens do not.
pub(crate) struct AzureSigner {
    account: String,
    credential: AzureCredential,
}

impl AzureSigner {
    pub(super) fn new(account: &str, key: &str) -> Result<Self> {
        let key = AzureAccessKey::try_new(key).map_err(|_| {
            Error::usage("the value of azure_storage_account_key is not a key: it is not base64")
                .advice("copy the key whole, as the Azure portal shows it")
        })?;
        Ok(Self { account: account.to_owned(), credential: AzureCredential::AccessKey(key) })
    }

    /// Signs a request again, where a key signs it.
    pub(crate) fn sign_again(&self, request: &mut HttpRequest) -> object_store::Result<()> {
        let is_shared_key = |value: &http::HeaderValue| value.as_bytes().starts_with(b"SharedKey ");
        if !request.headers().get(AUTHORIZATION).is_some_and(is_shared_key) {
            return Ok(());
        }
        request.headers_mut().remove(AUTHORIZATION);
        AzureAuthorizer::new(&self.credential, &self.account).try_authorize(request)
    }
}

impl fmt::Debug for AzureSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AzureSigner")
    }
}
