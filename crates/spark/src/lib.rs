//! The native half of the Spark connector: the functions that the Java class `lakerace.spark.Native` declares, without
//! further logic.
//!
//! Texts cross the boundary as UTF-8 bytes, and handles as addresses. The documentation of each function names the call
//! that releases its handle, exactly once. Errors and panics become a `lakerace.spark.NativeException`.

mod arrow_type;
mod call;
mod commit;
mod counters;
mod credentials;
mod extremes;
mod feed;
mod fit;
mod open_versions;
mod plan;
mod plan_parts;
mod planned;
mod reader;
mod rows;
mod settings;
mod spark_type;
mod statements;
mod stream;
mod table_plan;
mod writer;

use jni::EnvUnowned;
use jni::objects::{JByteArray, JClass, JLongArray};
use jni::sys::{jint, jlong};

use crate::call::{call, call_at, foreign, read_text, text};
use crate::reader::TaskReader;
use crate::writer::TaskWriter;

#[global_allocator]
static ALLOCATOR: counters::NativeAllocator = counters::NativeAllocator;

/// Keeps the class, whose method `credentials` the engine asks.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_attach<'local>(mut env: EnvUnowned<'local>, native: JClass<'local>) {
    call(&mut env, |env| credentials::keep_class(env, &native));
}

/// Plans a read and its tasks, as the records of the module `plan`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_plan<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    location: JByteArray<'local>,
    options: JByteArray<'local>,
) -> JByteArray<'local> {
    call_at(&mut env, (&location, &options), |env, location, options| text(env, &plan::plan(location, options)?))
}

/// Starts to read a task. Returns a handle, which `close` takes back. Sends no request.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_open<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    location: JByteArray<'local>,
    options: JByteArray<'local>,
    task: JByteArray<'local>,
) -> jlong {
    call_at(&mut env, (&location, &options), |env, location, options| {
        TaskReader::open(location.to_owned(), options, &read_text(env, &task)?).map(TaskReader::into_handle)
    })
}

/// The address of a reader's `ArrowSchema`, which lives as long as the reader.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_schema<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    reader: jlong,
) -> jlong {
    // SAFETY: Java calls with an open reader's handle, from the one thread that owns it.
    call(&mut env, |_| Ok(unsafe { TaskReader::from_handle(reader) }.schema()))
}

/// The address of the next batch's `ArrowArray`, to be released; 0 if none arrives within so many milliseconds, and -1
/// at the end.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_next<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    reader: jlong,
    millis: jlong,
) -> jlong {
    // SAFETY: as in `schema`.
    call(&mut env, |_| unsafe { TaskReader::from_handle(reader) }.next(millis))
}

/// A number of a reader's job: 0 requests, 1 bytes received, 2 rows.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_count<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    reader: jlong,
    what: jint,
) -> jlong {
    // SAFETY: as in `schema`.
    call(&mut env, |_| Ok(unsafe { TaskReader::from_handle(reader) }.count(what)))
}

/// Frees a batch.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_release<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    batch: jlong,
) {
    // SAFETY: `next` gave the address, and Java forgets it by this call.
    call(&mut env, |_| {
        unsafe { reader::release(batch) };
        Ok(())
    });
}

/// Cancels pending work and frees the reader. Batches that it has returned stay valid until they are released.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_close<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    reader: jlong,
) {
    // SAFETY: `open` gave the handle, and Java forgets it by this call.
    call(&mut env, |_| {
        unsafe { TaskReader::close(reader) };
        Ok(())
    });
}

/// A count of live objects: 0 readers, 1 reading threads, 2 batches, 3 allocations, 4 their bytes, 5 writers. Only
/// debug builds count allocations; others return 0.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_live<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    what: jint,
) -> jlong {
    call(&mut env, |_| Ok(counters::live(what)))
}

/// Describes the target at a location, by the records of the module `commit`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_target<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    location: JByteArray<'local>,
    options: JByteArray<'local>,
) -> JByteArray<'local> {
    call_at(&mut env, (&location, &options), |env, location, options| text(env, &commit::target(location, options)?))
}

/// Prepares a write of rows of a Spark schema; returns options for its tasks.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_prepare<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    location: JByteArray<'local>,
    options: JByteArray<'local>,
    schema: JByteArray<'local>,
) -> JByteArray<'local> {
    call_at(&mut env, (&location, &options), |env, location, options| {
        let schema = read_text(env, &schema)?;
        text(env, &commit::prepare(location, options, &schema)?)
    })
}

/// Starts to write the rows of a task. Returns a handle, which `finish` or `abort` takes back.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_begin<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    location: JByteArray<'local>,
    options: JByteArray<'local>,
    schema: JByteArray<'local>,
) -> jlong {
    call_at(&mut env, (&location, &options), |env, location, options| {
        TaskWriter::begin(location, options, &read_text(env, &schema)?).map(TaskWriter::into_handle)
    })
}

/// Writes rows: columns in the form of the module `rows`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_write<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    writer: jlong,
    rows: jint,
    words: JLongArray<'local>,
) {
    call(&mut env, |env| {
        let mut read = vec![0; words.len(env).map_err(foreign)?];
        words.get_region(env, 0, &mut read).map_err(foreign)?;
        let rows = usize::try_from(rows).unwrap_or(0);
        // SAFETY: Java calls with an open writer's handle, from the one thread that owns it. The words describe columns
        // of Java's, whose memory it changes only after the call.
        unsafe { TaskWriter::from_handle(writer).write(rows, &read) }
    });
}

/// Ends a write; returns the task's message for the commit.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_finish<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    writer: jlong,
) -> JByteArray<'local> {
    call(&mut env, |env| {
        // SAFETY: `begin` returned the handle, and Java drops it with this call.
        let message = unsafe { TaskWriter::take(writer) }.finish()?;
        text(env, &message)
    })
}

/// Ends a write without a file.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_abort<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    writer: jlong,
) {
    call(&mut env, |_| {
        // SAFETY: as in `finish`.
        drop(unsafe { TaskWriter::take(writer) });
        Ok(())
    });
}

/// Commits the files of tasks; returns a description of the commit.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_commit<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    location: JByteArray<'local>,
    options: JByteArray<'local>,
    schema: JByteArray<'local>,
    messages: JByteArray<'local>,
) -> JByteArray<'local> {
    call_at(&mut env, (&location, &options), |env, location, options| {
        let (schema, messages) = (read_text(env, &schema)?, read_text(env, &messages)?);
        text(env, &commit::commit(location, options, &schema, &messages)?)
    })
}

/// Removes the files of tasks when there is no commit.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_discard<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    location: JByteArray<'local>,
    options: JByteArray<'local>,
    messages: JByteArray<'local>,
) {
    call_at(&mut env, (&location, &options), |env, location, options| {
        commit::discard(location, options, &read_text(env, &messages)?)
    });
}

/// Changes the columns, comments and properties of a table; returns the version that it has made.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_alter<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    location: JByteArray<'local>,
    options: JByteArray<'local>,
    changes: JByteArray<'local>,
) -> JByteArray<'local> {
    call_at(&mut env, (&location, &options), |env, location, options| {
        text(env, &statements::alter(location, options, &read_text(env, &changes)?)?)
    })
}

/// Removes a table with its files: 1 where there was one, else 0.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_drop<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    location: JByteArray<'local>,
    options: JByteArray<'local>,
) -> jint {
    call_at(&mut env, (&location, &options), |_, location, options| {
        statements::drop_table(location, options).map(jint::from)
    })
}

/// Positions and tasks of a table that is read as a stream, as the module `stream` says.
#[unsafe(no_mangle)]
pub extern "system" fn Java_lakerace_spark_Native_stream<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    location: JByteArray<'local>,
    options: JByteArray<'local>,
) -> JByteArray<'local> {
    call_at(&mut env, (&location, &options), |env, location, options| text(env, &stream::answer(location, options)?))
}
