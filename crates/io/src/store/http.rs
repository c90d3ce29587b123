//! Files of HTTP servers: read only, by ranges where the server has them.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use object_store::ClientConfigKey;
use object_store::client::{HttpConnector, HttpRequest};
use object_store::path::Path;
use url::Url;

use self::files::HttpFiles;
pub(crate) use self::spooling::SpoolingStore;
use super::foreign_options::ForeignOption;
use super::kind::{BuiltStore, ConditionalParts, StoreAddress, StoreAdvice, StoreClient, StoreIdentity, StoreKind};
use super::settings::{StoreSettings, refused_setting};
use crate::error::{Error, Result};
use crate::meter::RequestKind;

mod answer;
mod files;
mod spooling;

/// Servers that speak HTTP.
pub(crate) static HTTP: StoreKind = StoreKind {
    name: "HTTP",
    schemes: &["https", "http"],
    container_schemes: &[],
    example: "https://host/folder/file.parquet",
    can_list: false,
    can_write: false,
    is_billed: false,
    can_put_if_absent: false,
    conditional_parts: ConditionalParts::OnCompletion,
    has_encoded_names: true,
    container: "host",
    common_options: &[
        BEARER_TOKEN,
        USER,
        PASSWORD,
        "allow_invalid_certificates",
        "connect_timeout",
        "proxy_url",
        "user_agent",
    ],
    identity_settings: &[],
    addresses: &["proxy_url"],
    advice: StoreAdvice {
        no_credentials: "pass the storage option http_bearer_token, or http_user and http_password",
        denied: "check the URL, and pass the storage option http_bearer_token, or http_user and http_password, if the \
                 server requires them",
        no_container: "check the URL",
        no_object: "check the URL",
        no_store: "check the URL: the server there serves no files",
    },
    is_variable: |_| false,
    setting: |name| match [BEARER_TOKEN, USER, PASSWORD].contains(&name) {
        true => Some(name.to_owned()),
        false => name.parse::<ClientConfigKey>().ok().map(|key| key.as_ref().to_owned()),
    },
    foreign_option,
    defaults: |_, _| Ok(()),
    parse,
    bill,
    build,
};

/// The token that requests to the URL's own host carry.
const BEARER_TOKEN: &str = "http_bearer_token";
/// The name that requests to the URL's own host carry.
const USER: &str = "http_user";
/// The password to [`USER`].
const PASSWORD: &str = "http_password";

/// Options of fsspec.
fn foreign_option(name: &str) -> Option<ForeignOption> {
    use ForeignOption::Unneeded;
    Some(match name {
        "simple_links" | "same_scheme" | "cache_type" | "cache_options" | "block_size" => {
            Unneeded("only files are read, by ranges that are planned".into())
        }
        _ => return None,
    })
}

/// A file by its URL: names are percent-encoded, and a query is sent unchanged.
fn parse(scheme: &str, rest: &str, shown: &str) -> Result<(StoreAddress, Path)> {
    let wrong = |text: String| Error::usage(text).at(shown).advice(format!("write {}", HTTP.example));
    let url = Url::parse(&format!("{scheme}://{rest}")).map_err(|e| wrong(format!("not a valid URL: {e}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::usage("credentials in a URL are not accepted, because they would end up in logs")
            .at(shown)
            .advice("pass the storage options http_user and http_password"));
    }
    if url.fragment().is_some() {
        return Err(Error::usage("a URL can't contain #, because what follows it would not be sent")
            .at(shown)
            .advice("write %23 for # in a name"));
    }
    let host =
        url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| wrong("the URL names no host".to_owned()))?;
    let path = Path::from_url_path(url.path()).map_err(|e| wrong(format!("not a valid path: {e}")))?;
    let address = StoreAddress {
        kind: &HTTP,
        url_prefix: format!("{}/", url.origin().ascii_serialization()),
        container: host.to_owned(),
        account: None,
        account_endpoint: None,
        query: url.query().map(str::to_owned),
    };
    Ok((address, path))
}

fn bill(request: &HttpRequest) -> Option<RequestKind> {
    match request.method().as_str() {
        "GET" => Some(RequestKind::Get),
        "HEAD" => Some(RequestKind::Head),
        _ => None,
    }
}

fn build(address: &StoreAddress, settings: &StoreSettings, client: StoreClient) -> Result<BuiltStore> {
    let again = client.again();
    let with = |mut client: StoreClient, name: &str, value: &str| {
        if let Ok(key) = name.parse::<ClientConfigKey>() {
            client.options = client.options.with_config(key, value);
        }
        client
    };
    let client = settings.all().fold(client, |client, (name, value)| with(client, name, value));
    // The scheme of the URL decides if http is plain.
    let options = client.options.with_allow_http(true);
    let connected = client.connector.connect(&options).map_err(|error| {
        let is_refused = |name: &str, value: &str| {
            let tried = with(again.again(), name, value);
            tried.connector.connect(&tried.options).is_err()
        };
        refused_setting(&HTTP, settings, error, is_refused)
    })?;
    let mut root = Url::parse(&address.url_prefix).map_err(Error::unexpected)?;
    root.set_query(address.query.as_deref());
    let identity = StoreIdentity {
        credentials: match authorization(settings)? {
            Some(_) if settings.value(BEARER_TOKEN).is_some() => format!("the token {BEARER_TOKEN}"),
            Some(_) => format!("the name {USER}"),
            None => "none".to_owned(),
        },
        region: None,
        endpoint: Some(address.url_prefix.clone()),
    };
    let store = HttpFiles::new(connected, root, authorization(settings)?);
    Ok(BuiltStore { store: Arc::new(store), identity })
}

/// The authorization of requests to the URL's own host.
fn authorization(settings: &StoreSettings) -> Result<Option<http::HeaderValue>> {
    let text = match (settings.value(BEARER_TOKEN), settings.value(USER), settings.value(PASSWORD)) {
        (Some(_), Some(_), _) => {
            return Err(Error::usage(format!("both {BEARER_TOKEN} and {USER} are given")).advice("give one of them"));
        }
        (Some(token), None, _) => format!("Bearer {token}"),
        (None, Some(user), password) => {
            format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{}", password.unwrap_or_default())))
        }
        (None, None, Some(_)) => {
            return Err(Error::usage(format!("{PASSWORD} is given without {USER}")).advice(format!("give {USER}")));
        }
        (None, None, None) => return Ok(None),
    };
    let mut value = http::HeaderValue::from_str(&text).map_err(Error::unexpected)?;
    value.set_sensitive(true);
    Ok(Some(value))
}
