//! Azure Blob Storage and Data Lake Storage.

use std::sync::Arc;

use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::HttpRequest;
use object_store::path::Path;

use self::blobs::AzureBlobs;
pub(crate) use self::signer::AzureSigner;
use super::foreign_options::{ForeignOption, TranslatedOptions};
use super::kind::{
    BuiltStore, ConditionalParts, StoreAddress, StoreAdvice, StoreClient, StoreIdentity, StoreKind, container_and_key,
};
use super::settings::{SettingsDraft, StoreSettings, refused_setting};
use crate::error::{Error, Result};
use crate::meter::RequestKind;

mod blobs;
mod signer;

/// Containers of Azure, by the interface of blobs.
pub(crate) static AZURE: StoreKind = StoreKind {
    name: "Azure",
    schemes: &["az", "abfss", "abfs", "azure", "adl"],
    container_schemes: &["abfss", "abfs", "adl"],
    example: "az://container/key or abfss://container@account.dfs.core.windows.net/key",
    can_list: true,
    can_write: true,
    is_billed: true,
    can_put_if_absent: true,
    conditional_parts: ConditionalParts::OnCompletion,
    has_encoded_names: false,
    container: "container",
    common_options: &[
        "azure_storage_account_name",
        "azure_storage_account_key",
        "azure_storage_sas_token",
        "azure_storage_client_id",
        "azure_storage_client_secret",
        "azure_storage_tenant_id",
        "azure_storage_endpoint",
        "azure_use_azure_cli",
        "azure_skip_signature",
        "azure_allow_http",
        "connection_string",
    ],
    identity_settings: &[
        "azure_storage_account_key",
        "azure_storage_sas_key",
        "azure_storage_token",
        "azure_storage_client_secret",
        "azure_federated_token_file",
        "azure_use_azure_cli",
        "azure_skip_signature",
    ],
    addresses: &["azure_storage_endpoint", "azure_msi_endpoint", "azure_storage_authority_host"],
    advice: StoreAdvice {
        no_credentials: "set AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, set \
                         AZURE_USE_AZURE_CLI=true after `az login`, or set AZURE_SKIP_SIGNATURE=true for a public container",
        denied: "check AZURE_STORAGE_ACCOUNT_NAME and its key, token or principal, and their permissions on this \
                 container",
        no_container: "check the names of the account and of the container",
        no_object: "check its name, which is case-sensitive, and the name of the container",
        no_store: "check AZURE_STORAGE_ENDPOINT: the server there is not an Azure store",
    },
    is_variable: |name| name.starts_with("AZURE_") || matches!(name, "IDENTITY_ENDPOINT" | "MSI_ENDPOINT"),
    setting: |name| name.parse::<AzureConfigKey>().ok().map(|key| key.as_ref().to_owned()),
    foreign_option,
    defaults,
    parse,
    bill,
    build,
};

/// Options of adlfs and pyarrow.
fn foreign_option(name: &str) -> Option<ForeignOption> {
    use ForeignOption::{Alias, Connection, Converted, Unneeded};
    Some(match name {
        "anon" | "anonymous" => Alias("azure_skip_signature"),
        "blob_storage_endpoint" | "endpoint_url" | "account_host" => Alias("azure_storage_endpoint"),
        "connection_string" | "azure_storage_connection_string" => Connection,
        "blob_storage_scheme" => {
            Converted("azure_allow_http", |value| value.eq_ignore_ascii_case("http").then(|| "true".to_owned()))
        }
        "azure_storage_account" | "storage_account" => Alias("azure_storage_account_name"),
        "blob_cache_timeout" | "block_size" | "socket_timeout" | "max_concurrency" => {
            Unneeded("the requests of a read are planned, and nothing is cached between jobs".into())
        }
        _ => return None,
    })
}

/// Reads the connection string of the option or of the variable that Azure's own tools read.
fn defaults(draft: &mut SettingsDraft, options: &TranslatedOptions) -> Result<()> {
    if let Some(account) = draft.variable("AZURE_STORAGE_ACCOUNT")? {
        draft.set_default("azure_storage_account_name", &account);
    }
    let (given, says) = match &options.connection {
        Some(text) => (text.clone(), "the storage option connection_string"),
        None => match draft.variable("AZURE_STORAGE_CONNECTION_STRING")? {
            Some(text) => (text, "AZURE_STORAGE_CONNECTION_STRING"),
            None => return Ok(()),
        },
    };
    let (mut endpoint, mut suffix) = (None, None);
    for part in given.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or_else(|| {
            Error::usage(format!("{says} has a part without a value"))
                .advice("copy it whole, as the Azure portal shows it: AccountName=…;AccountKey=…;…")
        })?;
        match name.trim().to_ascii_lowercase().as_str() {
            "accountname" => draft.set(says, "azure_storage_account_name", value)?,
            "accountkey" => draft.set(says, "azure_storage_account_key", value)?,
            "sharedaccesssignature" => draft.set(says, "azure_storage_sas_key", value)?,
            "blobendpoint" => endpoint = Some(value.to_owned()),
            "endpointsuffix" => suffix = Some(value),
            "usedevelopmentstorage" if value.eq_ignore_ascii_case("true") => {
                draft.set(says, "azure_storage_use_emulator", "true")?;
            }
            // Endpoints of queues and tables, and the scheme.
            _ => {}
        }
    }
    if let (None, Some(suffix), Some(account)) = (&endpoint, suffix, draft.value("azure_storage_account_name"))
        && suffix != PUBLIC_SUFFIX
    {
        endpoint = Some(format!("https://{account}.blob.{suffix}"));
    }
    if let Some(endpoint) = endpoint {
        if endpoint.starts_with("http://") {
            draft.set_default("azure_allow_http", "true");
        }
        draft.set(says, "azure_storage_endpoint", &endpoint)?;
    }
    Ok(())
}

/// `az://container/key`, or `abfss://container@account.dfs.core.windows.net/key`. Keys are taken as they stand.
fn parse(scheme: &str, rest: &str, shown: &str) -> Result<(StoreAddress, Path)> {
    let (front, key) = rest.split_once('/').unwrap_or((rest, ""));
    let is_file_system = AZURE.container_schemes.contains(&scheme);
    let (container, host) = match front.split_once('@') {
        Some((container, host)) if is_file_system && !container.contains(':') => (container, Some(host)),
        _ => (front, None),
    };
    let (container, path) = container_and_key(&AZURE, &format!("{container}/{key}"), shown)?;
    let Some(host) = host else {
        let url_prefix = format!("az://{container}/");
        let (account, account_endpoint) = (None, None);
        return Ok((
            StoreAddress { kind: &AZURE, url_prefix, container, account, account_endpoint, query: None },
            path,
        ));
    };
    let Some((account, suffix)) = account_and_suffix(host) else {
        return Err(Error::usage(format!("{host:?} is not an account in an Azure cloud"))
            .at(shown)
            .advice("write abfss://container@account.dfs.core.windows.net/key, or az://container/key and AZURE_STORAGE_ENDPOINT"));
    };
    let url_prefix = format!("{scheme}://{container}@{host}/");
    let account_endpoint = (suffix != PUBLIC_SUFFIX).then(|| format!("https://{account}.blob.{suffix}"));
    let account = Some(account.to_owned());
    Ok((StoreAddress { kind: &AZURE, url_prefix, container, account, account_endpoint, query: None }, path))
}

/// The suffix after the account and `blob.` in the names of hosts of Azure's public cloud.
const PUBLIC_SUFFIX: &str = "core.windows.net";

/// The suffixes of all clouds: public, of China, of the government of the United States, and of Fabric. Credentials go to no other host
/// that a URL names.
const SUFFIXES: [&str; 4] = [PUBLIC_SUFFIX, "core.chinacloudapi.cn", "core.usgovcloudapi.net", "fabric.microsoft.com"];

/// The account and the cloud of a host such as `account.dfs.core.windows.net`.
fn account_and_suffix(host: &str) -> Option<(&str, &str)> {
    let (account, rest) = host.split_once('.').filter(|(account, _)| !account.is_empty())?;
    let suffix = rest.strip_prefix("dfs.").or_else(|| rest.strip_prefix("blob."))?;
    SUFFIXES.contains(&suffix).then_some((account, suffix))
}

fn bill(request: &HttpRequest) -> Option<RequestKind> {
    // Every request to the store says the version of its interface; those for tokens do not.
    if !request.headers().contains_key("x-ms-version") {
        return None;
    }
    let query = request.uri().query().unwrap_or_default();
    Some(match request.method().as_str() {
        "GET" if query.contains("comp=list") => RequestKind::List,
        "GET" => RequestKind::Get,
        "HEAD" => RequestKind::Head,
        "POST" if query.contains("comp=batch") => RequestKind::Delete,
        "PUT" | "POST" => RequestKind::Put,
        "DELETE" => RequestKind::Delete,
        _ => return None,
    })
}

/// Account and key of every emulator, which Microsoft has published:
/// <https://learn.microsoft.com/azure/storage/common/storage-connect-azurite>.
const EMULATOR_ACCOUNT: &str = "devstoreaccount1";
const EMULATOR_KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

fn builder(container: &str, client: StoreClient) -> MicrosoftAzureBuilder {
    MicrosoftAzureBuilder::new()
        .with_client_options(client.options)
        .with_http_connector(client.connector)
        .with_retry(client.retry)
        .with_container_name(container)
}

fn build(address: &StoreAddress, settings: &StoreSettings, mut client: StoreClient) -> Result<BuiltStore> {
    let endpoint = settings.endpoint("azure_storage_endpoint", "azure_allow_http")?;
    let is_emulator = settings.is_true("azure_storage_use_emulator");
    let account = address.account.as_deref().or_else(|| settings.value("azure_storage_account_name"));
    if account.is_none() && !is_emulator {
        return Err(Error::invalid("no Azure account is given")
            .advice("set AZURE_STORAGE_ACCOUNT_NAME, or write abfss://container@account.dfs.core.windows.net/key"));
    }
    let key = settings.value("azure_storage_account_key").or(is_emulator.then_some(EMULATOR_KEY));
    if let (Some(account), Some(key)) = (account.or(is_emulator.then_some(EMULATOR_ACCOUNT)), key) {
        client.connector.set_signer(AzureSigner::new(account, key)?);
    }
    let again = client.again();
    let mut builder = builder(&address.container, client);
    for (name, value) in settings.all() {
        let Ok(key) = name.parse::<AzureConfigKey>() else { continue };
        if !matches!(key, AzureConfigKey::ContainerName | AzureConfigKey::AccountName) {
            builder = builder.with_config(key, value);
        }
    }
    if let Some(account) = account {
        builder = builder.with_account(account);
    }
    let of_account = address.account_endpoint.as_ref().filter(|_| endpoint.is_none());
    if let Some(of_account) = of_account {
        builder = builder.with_endpoint(of_account.clone());
    }
    let store = builder.build().map_err(|error| {
        let is_refused = |name: &str, value: &str| {
            let Ok(key) = name.parse::<AzureConfigKey>() else { return false };
            let plain = self::builder(&address.container, again.again()).with_account("any");
            plain.with_config(key, value).build().is_err()
        };
        refused_setting(&AZURE, settings, error, is_refused)
    })?;
    let identity = StoreIdentity {
        credentials: credentials(settings, is_emulator),
        region: None,
        endpoint: endpoint.map(|url| url.to_string()).or(of_account.cloned()),
    };
    Ok(BuiltStore { store: Arc::new(AzureBlobs::new(Arc::new(store))), identity })
}

/// The source of the credentials, in the order in which `object_store` looks for them.
fn credentials(settings: &StoreSettings, is_emulator: bool) -> String {
    let given = |names: &[&str]| names.iter().all(|name| settings.value(name).is_some());
    let principal = ["azure_storage_client_id", "azure_storage_tenant_id"];
    let has = |more: &str| given(&principal) && given(&[more]);
    match () {
        () if settings.is_true("azure_skip_signature") => {
            "none: requests are not signed (azure_skip_signature)".to_owned()
        }
        () if given(&["azure_storage_token"]) => "the token azure_storage_token".to_owned(),
        () if given(&["azure_storage_account_key"]) => "the key of the account (azure_storage_account_key)".to_owned(),
        () if has("azure_federated_token_file") => "workload identity (azure_federated_token_file)".to_owned(),
        () if has("azure_storage_client_secret") => "a service principal (azure_storage_client_id)".to_owned(),
        () if given(&["azure_storage_sas_key"]) => "a shared access signature (azure_storage_sas_token)".to_owned(),
        () if settings.is_true("azure_use_azure_cli") => "the login of the Azure command line".to_owned(),
        () if is_emulator => "the emulator's own key".to_owned(),
        () => "the managed identity of an Azure machine".to_owned(),
    }
}
