//! Credentials of a store that another system provides, again for each request.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use object_store::aws::AwsCredential;

use crate::error::{Error, Result};

/// A credential that signs a request to S3.
#[derive(Clone)]
pub struct Credential {
    /// The access key's id.
    pub key_id: String,
    /// The access key's secret.
    pub secret_key: String,
    /// The session's token, where the key is for a while only.
    pub token: Option<String>,
}

impl Credential {
    /// Refuses a key and a token that no header of a request can hold.
    pub(crate) fn check(self) -> Result<Self> {
        let fits = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        match fits(&self.key_id) && self.token.as_deref().is_none_or(fits) {
            true => Ok(self),
            false => Err(Error::invalid(
                "the key or the token that was received has characters that an HTTP header can't hold",
            )),
        }
    }
}

/// A role that is assumed by other credentials.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RoleRequest {
    /// The role's Amazon Resource Name.
    pub arn: String,
    /// The setting that names it, for messages: `the profile work`.
    pub origin: String,
    /// The name of the session; by default, one of this program.
    pub session_name: Option<String>,
    /// The id that the role's owner may ask for.
    pub external_id: Option<String>,
    /// The time for which its credentials are valid; by default, the service's own.
    pub duration_seconds: Option<u32>,
}

impl fmt::Display for RoleRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the role {} of {}", self.arn, self.origin)
    }
}

/// A system that provides credentials, such as Hadoop's providers.
pub trait CredentialSource: Send + Sync {
    /// The name of the credentials: equal names give those of the same principal. It may be a secret.
    fn name(&self) -> &str;

    /// The credentials of now. It is asked before each request, on a thread that may wait.
    fn credential(&self) -> Result<Credential>;
}

/// A [`CredentialSource`] in a store's settings; equality is by its name.
#[derive(Clone)]
pub struct Credentials(Arc<dyn CredentialSource>);

impl Credentials {
    /// Credentials of this source.
    pub fn new(source: impl CredentialSource + 'static) -> Self {
        Self(Arc::new(source))
    }
}

impl PartialEq for Credentials {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for Credentials {}

impl Hash for Credentials {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name().hash(state);
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

#[async_trait::async_trait]
impl object_store::CredentialProvider for Credentials {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let source = Arc::clone(&self.0);
        let asked = tokio::task::spawn_blocking(move || source.credential()?.check()).await?;
        let Credential { key_id, secret_key, token } =
            asked.map_err(|error| object_store::Error::Generic { store: "S3", source: Box::new(error) })?;
        Ok(Arc::new(AwsCredential { key_id, secret_key, token }))
    }
}

#[cfg(test)]
mod tests;
