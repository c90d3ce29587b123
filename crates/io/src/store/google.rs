//! Google Cloud Storage.

use std::sync::Arc;

use object_store::client::HttpRequest;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};

use super::foreign_options::{ForeignOption, TranslatedOptions};
use super::kind::{BuiltStore, ConditionalParts, StoreAddress, StoreAdvice, StoreClient, StoreIdentity, StoreKind};
use super::settings::{SettingsDraft, StoreSettings, refused_setting};
use crate::error::Result;
use crate::meter::RequestKind;

/// Buckets of Google Cloud Storage, by its XML interface.
pub(crate) static GOOGLE: StoreKind = StoreKind {
    name: "Google Cloud Storage",
    schemes: &["gs", "gcs"],
    container_schemes: &[],
    example: "gs://bucket/key",
    can_list: true,
    can_write: true,
    is_billed: true,
    can_put_if_absent: true,
    // Its interface for parts does not support conditions:
    // https://cloud.google.com/storage/docs/multipart-uploads#caveats
    conditional_parts: ConditionalParts::OnCopy,
    has_encoded_names: false,
    container: "bucket",
    common_options: &[
        "google_service_account",
        "google_service_account_key",
        "google_application_credentials",
        "google_bearer_token",
        "google_base_url",
        "google_skip_signature",
        "google_allow_http",
    ],
    identity_settings: &[
        "google_service_account",
        "google_service_account_key",
        "google_application_credentials",
        "google_bearer_token",
        "google_skip_signature",
    ],
    addresses: &["google_base_url"],
    advice: StoreAdvice {
        no_credentials: "set GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT to a file of credentials, run `gcloud auth \
                         application-default login`, or set GOOGLE_SKIP_SIGNATURE=true for a public bucket",
        denied: "check the credentials (GOOGLE_APPLICATION_CREDENTIALS, GOOGLE_SERVICE_ACCOUNT), and their permissions \
                 on this bucket",
        no_container: "check the name of the bucket and the address of the store (GOOGLE_BASE_URL)",
        no_object: "check its name, which is case-sensitive, and the name of the bucket",
        no_store: "check GOOGLE_BASE_URL: the server there is not Google Cloud Storage",
    },
    is_variable: |name| name.starts_with("GOOGLE_") || name == "SERVICE_ACCOUNT",
    setting: |name| name.parse::<GoogleConfigKey>().ok().map(|key| key.as_ref().to_owned()),
    foreign_option,
    defaults,
    parse: |_, rest, shown| GOOGLE.bucket_and_key(rest, shown),
    bill,
    build,
};

/// Options of gcsfs and pyarrow.
fn foreign_option(name: &str) -> Option<ForeignOption> {
    use ForeignOption::{Alias, Converted, Unneeded};
    Some(match name {
        "anon" | "anonymous" => Alias("google_skip_signature"),
        "access_token" => Alias("google_bearer_token"),
        "endpoint_override" | "endpoint_url" => Alias("google_base_url"),
        "scheme" => {
            Converted("google_allow_http", |value| value.eq_ignore_ascii_case("http").then(|| "true".to_owned()))
        }
        "project" | "project_id" | "google_project" | "default_bucket_location" => {
            Unneeded("a bucket is found by its name alone".into())
        }
        "consistency" | "cache_timeout" => Unneeded("nothing is cached between jobs".into()),
        _ => return None,
    })
}

/// The emulator that the tools of Google go to, without credentials.
fn defaults(draft: &mut SettingsDraft, options: &TranslatedOptions) -> Result<()> {
    if options.options.keys().any(|name| draft.is_same(name, "google_base_url")) {
        return Ok(());
    }
    let Some(host) = draft.variable("STORAGE_EMULATOR_HOST")? else { return Ok(()) };
    let address = if host.contains("://") { host } else { format!("http://{host}") };
    if draft.value("google_base_url").is_none() {
        draft.set_default("google_allow_http", "true");
        if !GOOGLE.is_identity_given(options) {
            draft.set_default("google_skip_signature", "true");
        }
        draft.set("STORAGE_EMULATOR_HOST", "google_base_url", &address)?;
    }
    Ok(())
}

fn bill(request: &HttpRequest) -> Option<RequestKind> {
    let path = request.uri().path();
    if matches!(path, "/token" | "/") || path.starts_with("/computeMetadata/") {
        return None;
    }
    let query = request.uri().query().unwrap_or_default();
    Some(match request.method().as_str() {
        "GET" if query.contains("list-type=") => RequestKind::List,
        "GET" => RequestKind::Get,
        "HEAD" => RequestKind::Head,
        "PUT" | "POST" => RequestKind::Put,
        "DELETE" => RequestKind::Delete,
        _ => return None,
    })
}

fn builder(bucket: &str, client: StoreClient) -> GoogleCloudStorageBuilder {
    GoogleCloudStorageBuilder::new()
        .with_bucket_name(bucket)
        .with_client_options(client.options)
        .with_http_connector(client.connector)
        .with_retry(client.retry)
}

fn build(address: &StoreAddress, settings: &StoreSettings, client: StoreClient) -> Result<BuiltStore> {
    let endpoint = settings.endpoint("google_base_url", "google_allow_http")?;
    let again = client.again();
    let mut builder = builder(&address.container, client);
    for (name, value) in settings.all() {
        let Ok(key) = name.parse::<GoogleConfigKey>() else { continue };
        if key != GoogleConfigKey::Bucket {
            builder = builder.with_config(key, value);
        }
    }
    let store = builder.build().map_err(|error| {
        let is_refused = |name: &str, value: &str| {
            let Ok(key) = name.parse::<GoogleConfigKey>() else { return false };
            let plain = self::builder(&address.container, again.again()).with_bearer_token("any");
            plain.with_config(key, value).build().is_err()
        };
        refused_setting(&GOOGLE, settings, error, is_refused)
    })?;
    let identity = StoreIdentity {
        credentials: credentials(settings),
        region: None,
        endpoint: endpoint.map(|url| url.to_string()),
    };
    Ok(BuiltStore { store: Arc::new(store), identity })
}

/// The source of the credentials, in the order in which `object_store` looks for them.
fn credentials(settings: &StoreSettings) -> String {
    let given = |name: &str| settings.value(name).is_some();
    match () {
        () if settings.is_true("google_skip_signature") => {
            "none: requests are not signed (google_skip_signature)".to_owned()
        }
        () if given("google_bearer_token") => "the token google_bearer_token".to_owned(),
        () if given("google_service_account") => "the service account in the file google_service_account".to_owned(),
        () if given("google_service_account_key") => "the service account google_service_account_key".to_owned(),
        () if given("google_application_credentials") => "the file google_application_credentials".to_owned(),
        () if has_default_file() => "application default credentials, as stored by gcloud".to_owned(),
        () => "the metadata server of a Google Cloud machine".to_owned(),
    }
}

/// Returns true if gcloud has stored credentials for programs.
fn has_default_file() -> bool {
    std::env::home_dir().is_some_and(|home| home.join(".config/gcloud/application_default_credentials.json").is_file())
}
