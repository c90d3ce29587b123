//! Credentials that Hadoop's providers hand out: Java is asked for them before each request.

use std::sync::OnceLock;

use jni::objects::{JByteArray, JClass, JValue};
use jni::refs::Global;
use jni::{Env, JavaVM, jni_sig, jni_str};
use lakerace::{Credential, CredentialSource, Credentials, Error, Result};

use crate::call::{UNIT, foreign, read_text};

/// The class `lakerace.spark.Native`. Threads of this library can't find it by name: the JVM's system class loader
/// lacks it.
static NATIVE: OnceLock<Global<JClass<'static>>> = OnceLock::new();

/// Keeps the class that is asked.
pub(crate) fn keep_class(env: &mut Env<'_>, class: &JClass<'_>) -> Result<()> {
    let class = env.new_global_ref(class).map_err(foreign)?;
    // A second call brings the same class.
    let _ = NATIVE.set(class);
    Ok(())
}

/// The credentials of Hadoop's providers for these settings of Hadoop's, records of the bucket and of names and values.
pub(crate) fn of_hadoop(settings: String) -> Credentials {
    Credentials::new(HadoopCredentials { settings })
}

struct HadoopCredentials {
    settings: String,
}

impl CredentialSource for HadoopCredentials {
    fn name(&self) -> &str {
        &self.settings
    }

    fn credential(&self) -> Result<Credential> {
        let class = NATIVE.get().ok_or_else(|| Error::internal("the JVM's class is not known"))?;
        // Attached for this call only: the JVM does not end before a permanently attached thread.
        let answer = JavaVM::singleton().map_err(foreign)?.attach_current_thread_for_scope(|env| {
            let settings = env.byte_array_from_slice(self.settings.as_bytes())?;
            let arguments = [JValue::Object(&settings)];
            let answer = env.call_static_method(class, jni_str!("credentials"), jni_sig!("([B)[B"), &arguments)?;
            let answer = JByteArray::cast_local(env, answer.l()?)?;
            Ok::<_, jni::errors::Error>(read_text(env, &answer))
        });
        parse(&answer.map_err(foreign)??)
    }
}

/// An answer: `keys`, a key's id, its secret and a token, which may be empty; or `error` and a message.
fn parse(answer: &str) -> Result<Credential> {
    match answer.split(UNIT).collect::<Vec<_>>()[..] {
        ["keys", key_id, secret_key, token] => Ok(Credential {
            key_id: key_id.to_owned(),
            secret_key: secret_key.to_owned(),
            token: (!token.is_empty()).then(|| token.to_owned()),
        }),
        ["error", message] => Err(Error::invalid(message)),
        _ => Err(Error::internal("the answer of Java contains no credentials")),
    }
}

#[cfg(test)]
mod tests;
