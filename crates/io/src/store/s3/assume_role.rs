//! Roles that credentials assume: the keys of a role are requested, and renewed before they expire.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use object_store::CredentialProvider;
use object_store::aws::{AwsCredential, AwsCredentialProvider};

use super::StoreClient;
use super::expiring::{ExpiringCredential, FetchedCredential};
use super::sts::StsClient;
use crate::error::{Error, Result};
use crate::store::credentials::{Credential, RoleRequest};
use crate::store::error::store_error;
use crate::store::settings::StoreSettings;

/// The credentials of a role.
struct AssumedRole {
    role: RoleRequest,
    session_name: String,
    /// The credentials that assume the role.
    source: AwsCredentialProvider,
    sts: Arc<StsClient>,
    last: ExpiringCredential,
}

/// The credentials of the last role. Each role is assumed by those of the one before, and the first one by `source`.
pub(super) fn assume_roles(
    source: &AwsCredentialProvider,
    roles: &[RoleRequest],
    settings: &StoreSettings,
    client: &StoreClient,
) -> Result<AwsCredentialProvider> {
    let sts = Arc::new(StsClient::new(settings, client)?);
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Ok(roles.iter().fold(Arc::clone(source), |source, role| {
        let session_name = role.session_name.clone().unwrap_or_else(|| format!("lakerace-{seconds}"));
        let (role, sts) = (role.clone(), Arc::clone(&sts));
        Arc::new(AssumedRole { role, session_name, source, sts, last: ExpiringCredential::default() })
    }))
}

impl AssumedRole {
    async fn fetch(&self) -> Result<FetchedCredential> {
        let place = format!("{} (STS at {})", self.role, self.sts.host());
        let source = self.source.get_credential().await.map_err(|error| store_error(error, &place))?;
        self.assume(&source).await.map_err(|error| error.at(place))
    }

    async fn assume(&self, source: &AwsCredential) -> Result<FetchedCredential> {
        let AwsCredential { key_id, secret_key, token } = source;
        Credential { key_id: key_id.clone(), secret_key: secret_key.clone(), token: token.clone() }.check()?;
        let duration = self.role.duration_seconds.map(|seconds| seconds.to_string());
        let mut parameters = vec![("RoleArn", self.role.arn.as_str()), ("RoleSessionName", &self.session_name)];
        parameters.extend(duration.as_deref().map(|seconds| ("DurationSeconds", seconds)));
        parameters.extend(self.role.external_id.as_deref().map(|id| ("ExternalId", id)));
        self.sts.assume_role(&parameters, source).await
    }
}

#[async_trait]
impl CredentialProvider for AssumedRole {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let found = self.last.get_later(|| self.fetch()).await;
        let failed = |error: Error| object_store::Error::Generic { store: "S3", source: Box::new(error) };
        let Credential { key_id, secret_key, token } = found.map_err(failed)?;
        Ok(Arc::new(AwsCredential { key_id, secret_key, token }))
    }
}

/// The role alone.
impl fmt::Debug for AssumedRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AssumedRole").field("role", &self.role.arn).finish_non_exhaustive()
    }
}
