//! Credentials of single sign-on: the token that `aws sso login` has stored buys keys of a role.
//!
//! <https://docs.aws.amazon.com/sdkref/latest/guide/feature-sso-credentials.html>

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use object_store::ClientOptions;
use object_store::client::{HttpConnector, HttpRequest, HttpRequestBody};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde::Deserialize;

use super::expiring::ExpiringCredential;
use super::process::time;
use crate::error::{Error, Result};
use crate::store::credentials::{Credential, CredentialSource};
use crate::store::wrap::NoRedirectConnector;

/// The settings of a profile for single sign-on.
#[derive(Debug, Clone)]
pub(super) struct SsoToken {
    /// The session's name, or the address of the portal: the stored token is named by its hash.
    pub cache_key: String,
    pub region: String,
    pub account: String,
    pub role: String,
}

/// Keys of a role, by a stored token.
pub(super) struct SsoSource {
    name: String,
    profile: String,
    token: SsoToken,
    last: ExpiringCredential,
}

/// A token as `aws sso login` stores it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredToken {
    access_token: String,
    expires_at: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleAnswer {
    role_credentials: RoleCredentials,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleCredentials {
    access_key_id: String,
    secret_access_key: String,
    session_token: String,
    /// Milliseconds since 1970.
    expiration: u64,
}

/// The address of the portal of another region or of a test, as Amazon's tools take it.
const ENDPOINT: &str = "AWS_ENDPOINT_URL_SSO";

impl SsoSource {
    pub(super) fn new(profile: &str, token: SsoToken) -> Self {
        let name = format!("sso {profile} {} {} {}", token.cache_key, token.account, token.role);
        Self { name, profile: profile.to_owned(), token, last: ExpiringCredential::default() }
    }

    fn fetch(&self) -> Result<(Credential, Option<SystemTime>)> {
        let login = format!("run: aws sso login --profile {}", self.profile);
        let at = |error: Error| error.at(format!("single sign-on of the profile {}", self.profile));
        let stored = self.stored_token().map_err(|error| at(error.advice(login.clone())))?;
        let answer = crate::runtime()?.block_on(self.ask(stored.access_token)).map_err(|error| {
            let error = if error.advice_text().is_some() { error } else { error.advice(login.clone()) };
            at(error)
        })?;
        let RoleCredentials { access_key_id, secret_access_key, session_token, expiration } = answer.role_credentials;
        let credential = Credential {
            key_id: access_key_id,
            secret_key: secret_access_key,
            token: Some(session_token).filter(|token| !token.is_empty()),
        };
        Ok((credential, Some(UNIX_EPOCH + Duration::from_millis(expiration))))
    }

    /// The stored token, which has not expired.
    fn stored_token(&self) -> Result<StoredToken> {
        let path = token_path(&self.token.cache_key)
            .ok_or_else(|| Error::not_found("there is no home folder, so there is no stored token"))?;
        let text = std::fs::read(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::not_found("there is no stored token, because no one has logged in"),
            _ => Error::from(error).at(path.display()),
        })?;
        let stored: StoredToken = serde_json::from_slice(&text)
            .map_err(|_| Error::invalid("the stored token can't be read").at(path.display()))?;
        match time(&stored.expires_at)? < SystemTime::now() {
            true => Err(Error::invalid(format!("the stored token has expired at {}", stored.expires_at))),
            false => Ok(stored),
        }
    }

    /// Asks the portal for keys of the role.
    async fn ask(&self, access_token: String) -> Result<RoleAnswer> {
        let given = std::env::var(ENDPOINT).ok().filter(|url| !url.is_empty());
        let allows_http = given.is_some();
        let endpoint = given.unwrap_or_else(|| format!("https://portal.sso.{}.amazonaws.com", self.token.region));
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let url = format!(
            "{}/federation/credentials?role_name={}&account_id={}",
            endpoint.trim_end_matches('/'),
            encoded(&self.token.role),
            encoded(&self.token.account)
        );
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() =
            url.parse().map_err(|e| Error::usage(format!("{ENDPOINT} is not an address")).because(e))?;
        let mut token = http::HeaderValue::from_str(&access_token)
            .map_err(|_| Error::invalid("the stored token has characters that an HTTP header can't hold"))?;
        token.set_sensitive(true);
        request.headers_mut().insert("x-amz-sso_bearer_token", token);
        let unavailable = |e: object_store::client::HttpError| {
            Error::unavailable("the portal does not answer").because(e).advice("check the network, then run it again")
        };
        let client = NoRedirectConnector::default().connect(&ClientOptions::new().with_allow_http(allows_http));
        let client = client.map_err(|e| Error::internal("the HTTP client could not be created").because(e))?;
        let answer = client.execute(request).await.map_err(unavailable)?;
        let status = answer.status();
        let body = answer.into_body().bytes().await.map_err(unavailable)?;
        match status.as_u16() {
            200 => serde_json::from_slice(&body)
                .map_err(|_| Error::unavailable("the portal answered with something other than keys")),
            401 => Err(Error::invalid("the portal no longer accepts the stored token")),
            403 | 404 => {
                Err(Error::invalid(format!("the portal denies the role {} (status {status})", self.token.role))
                    .advice("check sso_account_id and sso_role_name of the profile"))
            }
            _ => {
                Err(Error::unavailable(format!("the portal answered with status {status}"))
                    .advice("run it again later"))
            }
        }
    }
}

/// The file of a token: named by the SHA-1 of the session's name or of the portal's address.
fn token_path(cache_key: &str) -> Option<PathBuf> {
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, cache_key.as_bytes());
    let name: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(std::env::home_dir()?.join(".aws/sso/cache").join(format!("{name}.json")))
}

impl CredentialSource for SsoSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn credential(&self) -> Result<Credential> {
        self.last.get(|| self.fetch())
    }
}
