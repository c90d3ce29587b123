//! Answers of AWS's Security Token Service (STS), in XML.

use std::collections::BTreeMap;
use std::time::SystemTime;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

use super::expiring::FetchedCredential;
use super::process::time;
use crate::error::{Error, ErrorKind, Result};
use crate::store::credentials::Credential;
use crate::store::error::one_line;

/// The credentials of an answer.
///
/// # Errors
/// `Unavailable` for an answer that is not one of the service, and `Invalid` for credentials that have expired.
pub(super) fn credentials(body: &[u8]) -> Result<FetchedCredential> {
    let no_answer = || {
        Error::unavailable("STS answered with something other than credentials").advice(format!(
            "a proxy or another server may answer in place of STS: check the network and {ENDPOINT}, then run it again"
        ))
    };
    let mut texts = child_texts(body, "Credentials").ok_or_else(no_answer)?;
    let mut text = |name: &str| texts.remove(name).filter(|text| !text.is_empty()).ok_or_else(no_answer);
    let (key_id, secret_key) = (text("AccessKeyId")?, text("SecretAccessKey")?);
    let expires = time(&text("Expiration")?).map_err(|_| no_answer())?;
    // A server other than Amazon's may give keys without a token.
    let token = text("SessionToken").ok();
    if expires < SystemTime::now() {
        return Err(Error::invalid("STS answered with expired credentials").advice("set this machine's clock"));
    }
    Ok((Credential { key_id, secret_key, token }.check()?, Some(expires)))
}

/// The variable with the service's address.
pub(super) const ENDPOINT: &str = "AWS_ENDPOINT_URL_STS";

/// The error of an answer with this status. It shows no text with one of these secrets.
pub(super) fn refusal(status: u16, body: &[u8], secrets: &[&str]) -> Error {
    let texts = child_texts(body, "Error").unwrap_or_default();
    let code = texts.get("Code").map(|code| one_line(code)).filter(|code| !code.is_empty());
    let is_passing = status >= 500 || matches!(status, 408 | 429);
    let is_busy = |code: &str| ["Throttling", "ThrottlingException", "RequestLimitExceeded"].contains(&code);
    let kind = match is_passing || code.as_deref().is_some_and(is_busy) {
        true => ErrorKind::Unavailable,
        false => ErrorKind::Invalid,
    };
    let another = format!("the server may not be STS: check {ENDPOINT} and the endpoint of the profile");
    let advice = match (&code, kind) {
        (_, ErrorKind::Unavailable) => format!("run it again later; {another}"),
        (Some(code), _) => advice(code).to_owned(),
        (None, _) => another,
    };
    let Some(code) = code else {
        return Error::new(kind, format!("STS answered with status {status}")).advice(advice);
    };
    // The message about a signature may quote the signed request, with its token.
    let is_shown = |text: &&String| {
        code != "SignatureDoesNotMatch" && !secrets.iter().any(|secret| !secret.is_empty() && text.contains(secret))
    };
    let message =
        texts.get("Message").filter(is_shown).map_or_else(String::new, |text| format!(": {}", one_line(text)));
    Error::new(kind, format!("STS answered {code}{message}")).advice(advice)
}

/// The advice for the code of an error.
fn advice(code: &str) -> &'static str {
    match code {
        "AccessDenied" | "AccessDeniedException" => {
            "the role must trust the credentials that assume it, and may ask for an external_id"
        }
        "SignatureDoesNotMatch" => {
            "check the secret key of the credentials that assume the role, and this machine's clock"
        }
        "ExpiredToken" | "ExpiredTokenException" => "renew the credentials that assume the role: log in again",
        "InvalidClientTokenId" | "UnrecognizedClientException" | "InvalidAccessKeyId" => {
            "check the keys of the credentials that assume the role"
        }
        "RequestExpired" | "RequestTimeTooSkewed" => "set this machine's clock",
        "RegionDisabledException" => "activate STS in the region, or choose another one with AWS_REGION",
        "ValidationError" => "check role_arn, role_session_name, external_id and duration_seconds",
        _ => "check the role and the credentials that assume it",
    }
}

/// The texts of the children of the first element of this name; `None` if there is none, or if the body is not XML.
fn child_texts(body: &[u8], parent: &str) -> Option<BTreeMap<String, String>> {
    let mut reader = Reader::from_str(std::str::from_utf8(body).ok()?);
    let (mut path, mut texts) = (Vec::<String>::new(), None::<BTreeMap<String, String>>);
    loop {
        let event = reader.read_event().ok()?;
        let is_child = path.len() > 1 && path[path.len() - 2] == parent;
        let mut add = |part: &str| {
            if let (true, Some(texts), Some(name)) = (is_child, texts.as_mut(), path.last()) {
                texts.entry(name.clone()).or_default().push_str(part);
            }
        };
        match event {
            Event::Text(part) => add(&part.xml10_content()),
            Event::CData(part) => add(&part.xml10_content()),
            Event::GeneralRef(name) => match name.resolve_char_ref().ok()? {
                Some(character) => add(character.encode_utf8(&mut [0; 4])),
                None => add(resolve_predefined_entity(&name.xml10_content())?),
            },
            Event::Start(tag) => {
                path.push(tag.local_name().as_ref().to_owned());
                if path.last().is_some_and(|name| name == parent) {
                    texts.get_or_insert_default();
                }
            }
            Event::End(_) => drop(path.pop()),
            Event::Eof => return texts.filter(|_| path.is_empty()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
