//! Errors by the action that they require of the caller. No message has credentials or values of rows.

use lakerace_io::option::{MODE, RESUME};
use lakerace_io::{Error, ErrorKind};
use mongodb::error::ErrorKind as Mongo;

/// Codes of a server that can't take the request now, but soon: not primary, shutting down, overloaded, time-outs between servers.
const TRANSIENT: [i32; 17] = [6, 7, 24, 64, 89, 91, 134, 189, 262, 317, 462, 9001, 10107, 11600, 11602, 13435, 13436];

/// Returns true if the same request may succeed soon. A write may have been applied nevertheless.
pub(super) fn is_transient(error: &mongodb::error::Error) -> bool {
    match error.kind.as_ref() {
        Mongo::Io(_) | Mongo::ConnectionPoolCleared { .. } => true,
        Mongo::ServerSelection { message, .. } => !is_tls(message) && !is_authentication(message),
        Mongo::Command(command) => is_transient_code(command.code),
        _ => ["RetryableWriteError", "RetryableError", "SystemOverloadedError"]
            .into_iter()
            .any(|label| error.contains_label(label)),
    }
}

/// See [`TRANSIENT`].
pub(super) fn is_transient_code(code: i32) -> bool {
    TRANSIENT.contains(&code)
}

fn is_tls(message: &str) -> bool {
    let lower = message.to_ascii_lowercase();
    ["certificate", "tls", "handshake", "invalidcontenttype"].iter().any(|word| lower.contains(word))
}

fn is_authentication(message: &str) -> bool {
    message.contains("SCRAM") || message.contains("uthentication fail")
}

/// An error of the driver as one of ours.
pub(super) fn error(error: &mongodb::error::Error) -> Error {
    match error.kind.as_ref() {
        Mongo::Authentication { .. } => refused(),
        Mongo::ServerSelection { message, .. } if is_authentication(message) => refused(),
        Mongo::Command(command) => of_code(command.code, &command.code_name),
        Mongo::InvalidArgument { message, .. } => {
            Error::usage(format!("the driver rejects an option: {}", first_line(message)))
        }
        Mongo::InvalidTlsConfig { .. } => Error::usage("the certificate or key files can't be used")
            .advice("check tlsCAFile and tlsCertificateKeyFile"),
        Mongo::DnsResolve { .. } => Error::unavailable("the host name of the server can't be resolved")
            .advice("check the host; mongodb+srv: needs SRV and TXT records"),
        Mongo::ServerSelection { message, .. } if is_tls(message) => tls(),
        Mongo::ServerSelection { message, .. } => unusable(message),
        Mongo::Io(error) if is_tls(&error.to_string()) => tls(),
        Mongo::Io(error) => Error::unavailable(format!("the connection broke: {}", error.kind())),
        Mongo::ConnectionPoolCleared { .. } => Error::unavailable("the connection broke"),
        Mongo::IncompatibleServer { .. } => {
            Error::unsupported("the server's version is not supported").advice("use MongoDB 4.4 or later")
        }
        Mongo::InvalidResponse { message, .. } => invalid_response(message),
        Mongo::Bson(_) => Error::corrupt("the response is not a MongoDB response"),
        _ => Error::unavailable("the server failed"),
    }
}

/// The error if no server can be used. `message` lists the servers, with the driver's errors.
fn unusable(message: &str) -> Error {
    const KINDS: [&str; 2] = ["Command failed: ", "The server returned an invalid reply to a database operation: "];
    let answer = message.split_once("Error: Kind: ").and_then(|(_, rest)| {
        let text = rest.split(", labels: ").next().unwrap_or(rest);
        KINDS.into_iter().find_map(|kind| text.strip_prefix(kind))
    });
    match answer {
        // The first request of a connection has no values of rows, so its answer has none.
        Some(answer) => Error::unavailable(format!("the server refuses connections: {}", first_line(answer)))
            .advice("check that the host and the port are those of MongoDB 4.4 or later"),
        None => Error::unavailable("no server answers").advice(
            "check the host and the port, whether the server runs, and whether it requires TLS, that is tls=true",
        ),
    }
}

/// The error of a response that the driver can't read. The driver keeps nothing of it but its own `message`.
fn invalid_response(message: &str) -> Error {
    if message.starts_with("error deserializing command error") {
        return Error::invalid("the server rejects the command, without the code of an error")
            .advice("look for the error in the server's log; a server other than MongoDB may not support the command");
    }
    if message.starts_with("missing 'ok'") {
        return Error::corrupt("the response has no status, unlike those of MongoDB")
            .advice("check that the host and the port are those of MongoDB 4.4 or later");
    }
    Error::corrupt("the response is not a MongoDB response")
}

fn tls() -> Error {
    Error::new(
        ErrorKind::Invalid,
        "TLS with the server failed: its certificate is not trusted, or it does not support TLS",
    )
    .advice("set its authority with tlsCAFile=FILE, or omit tls=true if the server has no TLS")
}

fn refused() -> Error {
    Error::invalid("the server rejects the user or the password")
        .advice("check them and the authentication database: authSource, by default admin")
}

fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

/// The error of a command that a server answered with.
pub(super) fn of_code(code: i32, name: &str) -> Error {
    match code {
        8000 | 11 | 18 | 334 => refused(),
        13 => Error::invalid("the user is not allowed to do this").advice("grant readWrite on the database"),
        26 => Error::not_found("the collection does not exist"),
        27 => Error::not_found("the index does not exist"),
        48 => Error::conflict("the collection already exists").advice(format!(
            "use {}, {} or {}",
            MODE.to("append"),
            MODE.to("overwrite"),
            MODE.to("upsert")
        )),
        40324 | 168 | 17287 => Error::invalid("the pipeline has a stage that the server does not know"),
        73 => Error::invalid("the server rejects the name of the database or collection"),
        14031 => Error::unavailable("the server's disk is full")
            .advice(format!("free some space, then continue with {RESUME}")),
        _ if is_transient_code(code) => {
            Error::unavailable(format!("the server can't take requests now ({})", named(code, name)))
        }
        _ => Error::invalid(format!("the server rejects the command ({})", named(code, name))),
    }
}

/// A code with its name, which older servers do not give.
fn named(code: i32, name: &str) -> String {
    if name.is_empty() { format!("code {code}") } else { format!("{name}, code {code}") }
}

/// The reason for which a server rejects one document, without its values.
pub(super) fn reason(code: i32) -> String {
    match code {
        11000 | 11001 => "a document with this key already exists".to_owned(),
        121 => "the document fails the collection's validation".to_owned(),
        2 => "the server rejects one of its values".to_owned(),
        17280 | 17282 => "an index key is too long".to_owned(),
        10334 | 17419 | 17420 => "the document is too large".to_owned(),
        16755 => "a geographic value can't be indexed".to_owned(),
        52 | 56 | 57 => "a field name has dots or dollar signs that the server rejects".to_owned(),
        code => format!("the server rejects the document (code {code})"),
    }
}
