//! Calls from Java: their texts, and their errors as exceptions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jni::errors::LogErrorAndDefault;
use jni::objects::JByteArray;
use jni::strings::JNIString;
use jni::{Env, EnvUnowned, jni_str};
use lakerace::option::Door;
use lakerace::{Error, Result, panicked};

/// Separates the parts of a text that crosses the boundary: no name, number or JSON contains it.
pub(crate) const UNIT: char = '\u{1f}';
/// Separates records of such parts.
pub(crate) const RECORD: char = '\u{1e}';
/// Separates names of columns, which may contain commas.
pub(crate) const UNIT_OF_NAMES: char = '\u{1d}';
/// Between the names that lead to a field of a column.
pub(crate) const STEP: char = '\u{1c}';

/// Does the work of a native method. An error or a panic is thrown, and the method returns nothing that Java sees.
pub(crate) fn call<'local, T: Default>(
    env: &mut EnvUnowned<'local>,
    work: impl FnOnce(&mut Env<'local>) -> Result<T>,
) -> T {
    let outcome = env.with_env(|env| -> jni::errors::Result<T> {
        let done = catch_unwind(AssertUnwindSafe(|| work(env))).unwrap_or_else(|panic| Err(panicked(&*panic)));
        done.or_else(|error| {
            throw(env, &error);
            Ok(T::default())
        })
    });
    outcome.resolve::<LogErrorAndDefault>()
}

/// Does the work of a native method on the texts of a location and of options.
pub(crate) fn call_at<'local, T: Default>(
    env: &mut EnvUnowned<'local>,
    (location, options): (&JByteArray<'local>, &JByteArray<'local>),
    work: impl FnOnce(&mut Env<'local>, &str, &str) -> Result<T>,
) -> T {
    call(env, |env| {
        let (location, options) = (read_text(env, location)?, read_text(env, options)?);
        work(env, &location, &options)
    })
}

/// Throws an error with its kind, message, place and advice as the parts of the exception's text.
fn throw(env: &mut Env<'_>, error: &Error) {
    if env.exception_check() {
        return;
    }
    let text = error.text(Door::Spark);
    let (place, advice) = (text.place.unwrap_or_default(), text.advice.unwrap_or_default());
    let parts = [error.kind().name(), &text.message, &place, &advice];
    let message = JNIString::from(parts.join(&UNIT.to_string()).replace('\0', " "));
    // The call returns an error to say that it has thrown.
    let _ = env.throw_new(jni_str!("lakerace/spark/NativeException"), message);
}

/// A text of Java's.
pub(crate) fn read_text(env: &Env<'_>, bytes: &JByteArray<'_>) -> Result<String> {
    let bytes = env.convert_byte_array(bytes).map_err(foreign)?;
    String::from_utf8(bytes).map_err(|_| Error::usage("a string that is not valid UTF-8"))
}

/// A text for Java.
pub(crate) fn text<'local>(env: &mut Env<'local>, text: &str) -> Result<JByteArray<'local>> {
    env.byte_array_from_slice(text.as_bytes()).map_err(foreign)
}

/// Makes the error of a refusal of the JVM.
pub(crate) fn foreign(error: jni::errors::Error) -> Error {
    Error::internal("a call into the JVM failed").because(error)
}
