//! Rules for every store and every wrapper, as functions that can be run on any store.
//!
//! Each takes the store and an empty folder in it, removes the objects that it makes, and returns the violation as an
//! `Err`. [`check_all`] runs them all.

use std::fmt::Display;

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};

/// The problem that was found.
pub type Outcome = Result<(), String>;

/// The minimum size of S3's parts, except for the last: 5 MiB.
const PART_BYTES: usize = 5 << 20;

macro_rules! check {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            return Err(format!($($text)+));
        }
    };
}

fn say<E: Display>(what: &str) -> impl Fn(E) -> String {
    move |error| format!("{what}: {error}")
}

/// Runs every check in a separate folder below `folder`.
pub async fn check_all(store: &dyn ObjectStore, folder: &Path) -> Outcome {
    let named = |name: &'static str| (folder.clone().join(name), move |e| format!("{store}, {name}: {e}"));
    let (at, wrong) = named("put_get_delete");
    put_get_delete(store, &at).await.map_err(wrong)?;
    let (at, wrong) = named("ranges");
    ranges(store, &at).await.map_err(wrong)?;
    let (at, wrong) = named("empty_objects");
    empty_objects(store, &at).await.map_err(wrong)?;
    let (at, wrong) = named("missing_objects");
    missing_objects(store, &at).await.map_err(wrong)?;
    let (at, wrong) = named("conditions");
    conditions(store, &at).await.map_err(wrong)?;
    let (at, wrong) = named("create_only");
    create_only(store, &at).await.map_err(wrong)?;
    let (at, wrong) = named("listings");
    listings(store, &at).await.map_err(wrong)?;
    let (at, wrong) = named("odd_names");
    odd_names(store, &at).await.map_err(wrong)?;
    let (at, wrong) = named("uploads");
    uploads(store, &at).await.map_err(wrong)?;
    let (at, wrong) = named("copies");
    copies(store, &at).await.map_err(wrong)
}

fn pattern(len: usize) -> Bytes {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect::<Vec<u8>>().into()
}

async fn put(store: &dyn ObjectStore, path: &Path, bytes: Bytes) -> Outcome {
    store.put(path, bytes.into()).await.map(drop).map_err(say("put"))
}

async fn get(store: &dyn ObjectStore, path: &Path, range: Option<GetRange>) -> Result<Bytes, String> {
    let options = GetOptions { range, ..GetOptions::default() };
    let result = store.get_opts(path, options).await.map_err(say("get"))?;
    let announced = result.range.end - result.range.start;
    let bytes = result.bytes().await.map_err(say("body"))?;
    check!(bytes.len() as u64 == announced, "{announced} bytes were announced, but {} arrived", bytes.len());
    Ok(bytes)
}

async fn names(store: &dyn ObjectStore, folder: &Path) -> Result<Vec<String>, String> {
    let found: Vec<_> = store.list(Some(folder)).try_collect().await.map_err(say("list"))?;
    let mut names: Vec<String> = found.iter().map(|meta| meta.location.to_string()).collect();
    names.sort();
    Ok(names)
}

/// Checks that an object is put, read, replaced and removed whole; sizes and tags are those of the newest.
pub async fn put_get_delete(store: &dyn ObjectStore, folder: &Path) -> Outcome {
    let path = folder.clone().join("x");
    for len in [1, 1000, 3_000_000] {
        let bytes = pattern(len);
        put(store, &path, bytes.clone()).await?;
        check!(get(store, &path, None).await? == bytes, "a read of {len} bytes returned other bytes");
        let meta = store.head(&path).await.map_err(say("head"))?;
        check!(meta.size == len as u64, "head says {} bytes, not {len}", meta.size);
        check!(meta.e_tag.is_some(), "the object has no tag");
    }
    store.delete(&path).await.map_err(say("delete"))?;
    check!(names(store, folder).await?.is_empty(), "the object is still listed");
    Ok(())
}

/// Ranges within an object, up to its end and beyond it, and suffixes longer than it.
pub async fn ranges(store: &dyn ObjectStore, folder: &Path) -> Outcome {
    let path = folder.clone().join("x");
    let bytes = pattern(100_000);
    put(store, &path, bytes.clone()).await?;
    let cases = [
        (GetRange::Bounded(0..1), 0..1),
        (GetRange::Bounded(500..70_000), 500..70_000),
        (GetRange::Bounded(99_999..100_000), 99_999..100_000),
        (GetRange::Bounded(99_000..200_000), 99_000..100_000),
        (GetRange::Offset(99_990), 99_990..100_000),
        (GetRange::Suffix(10), 99_990..100_000),
        (GetRange::Suffix(1_000_000), 0..100_000),
    ];
    for (range, expected) in cases {
        let got = get(store, &path, Some(range.clone())).await.map_err(say(&format!("range {range}")))?;
        check!(got == bytes[expected], "range {range} returned other bytes");
    }
    let behind = get(store, &path, Some(GetRange::Bounded(200_000..200_001))).await;
    check!(behind.is_err(), "a range after the end returned bytes");
    let several = store.get_ranges(&path, &[5..10, 90_000..90_010]).await.map_err(say("get_ranges"))?;
    check!(several == [bytes.slice(5..10), bytes.slice(90_000..90_010)], "get_ranges returned other bytes");
    store.delete(&path).await.map_err(say("delete"))
}

/// An object of no bytes is one.
pub async fn empty_objects(store: &dyn ObjectStore, folder: &Path) -> Outcome {
    let path = folder.clone().join("x");
    put(store, &path, Bytes::new()).await?;
    check!(get(store, &path, None).await?.is_empty(), "an empty object returned bytes");
    check!(names(store, folder).await?.len() == 1, "an empty object is not listed");
    store.delete(&path).await.map_err(say("delete"))
}

/// Reading a missing object is `NotFound`; listing it gives nothing.
pub async fn missing_objects(store: &dyn ObjectStore, folder: &Path) -> Outcome {
    let path = folder.clone().join("missing");
    for outcome in [store.get(&path).await.map(drop), store.head(&path).await.map(drop)] {
        check!(matches!(outcome, Err(Error::NotFound { .. })), "a missing object returned {outcome:?}");
    }
    let suffix = GetOptions { range: Some(GetRange::Suffix(8)), ..GetOptions::default() };
    let outcome = store.get_opts(&path, suffix).await.map(drop);
    check!(matches!(outcome, Err(Error::NotFound { .. })), "a suffix of a missing object returned {outcome:?}");
    check!(names(store, &path).await?.is_empty(), "a missing folder has entries in its listing");
    Ok(())
}

/// A read that demands a tag gets that version or `Precondition`.
pub async fn conditions(store: &dyn ObjectStore, folder: &Path) -> Outcome {
    let path = folder.clone().join("x");
    put(store, &path, pattern(1000)).await?;
    let first = store.head(&path).await.map_err(say("head"))?;
    let demand =
        || GetOptions { range: Some(GetRange::Bounded(0..10)), if_match: first.e_tag.clone(), ..GetOptions::default() };
    let same = store.get_opts(&path, demand()).await.map_err(say("the same tag"))?;
    check!(same.meta.e_tag == first.e_tag, "a read returns another tag than head");
    drop(same);
    put(store, &path, pattern(2000).slice(1..)).await?;
    let outcome = store.get_opts(&path, demand()).await.map(drop);
    check!(matches!(outcome, Err(Error::Precondition { .. })), "a replaced object returned {outcome:?}");
    store.delete(&path).await.map_err(say("delete"))
}

/// `PutMode::Create` does not replace.
pub async fn create_only(store: &dyn ObjectStore, folder: &Path) -> Outcome {
    let path = folder.clone().join("x");
    let create = |bytes: &'static str| store.put_opts(&path, bytes.into(), PutOptions::from(PutMode::Create));
    create("first").await.map_err(say("the first"))?;
    let second = create("second").await.map(drop);
    check!(matches!(second, Err(Error::AlreadyExists { .. })), "the second writer got {second:?}");
    check!(get(store, &path, None).await? == "first", "the second writer replaced the object of the first");
    store.delete(&path).await.map_err(say("delete"))
}

/// The listing of a folder has everything below it and nothing next to it, hidden names included, with the tags that
/// reads return.
pub async fn listings(store: &dyn ObjectStore, folder: &Path) -> Outcome {
    let below = ["a/b/1", "a/b/2", "a/3", "a/.hidden", "a/_log/4"];
    let beside = ["ab/5", "a.6"];
    let path = |name: &&str| name.split('/').fold(folder.clone(), |path, part| path.join(part));
    for name in below.iter().chain(&beside) {
        put(store, &path(name), Bytes::from(name.len().to_string())).await?;
    }
    let mut expected: Vec<String> = below.iter().map(|name| path(name).to_string()).collect();
    expected.sort();
    let found = names(store, &folder.clone().join("a")).await?;
    check!(found == expected, "the listing returned {found:?}");
    let listed: Vec<_> = store.list(Some(&folder.clone().join("a"))).try_collect().await.map_err(say("list"))?;
    for meta in listed {
        let head = store.head(&meta.location).await.map_err(say("head"))?;
        check!(head.e_tag == meta.e_tag, "the listing returns the tag {:?}, but head {:?}", meta.e_tag, head.e_tag);
    }
    let one = store.list_with_delimiter(Some(&folder.clone().join("a"))).await.map_err(say("one level"))?;
    check!(one.objects.len() == 2 && one.common_prefixes.len() == 2, "one level has {one:?}");
    for name in below.iter().chain(&beside) {
        store.delete(&path(name)).await.map_err(say("delete"))?;
    }
    Ok(())
}

/// Names with spaces, signs that URLs give a meaning to, and letters beyond ASCII.
pub async fn odd_names(store: &dyn ObjectStore, folder: &Path) -> Outcome {
    let names_ = ["a b", "100%", "%41", "k=v", "ä€😀", "a+b&c", "tail~", "q'uote", "semi;colon"];
    for name in names_ {
        let path = Path::parse(format!("{folder}/{name}")).map_err(say("path"))?;
        put(store, &path, Bytes::from(name)).await.map_err(say(name))?;
        check!(get(store, &path, None).await? == name, "{name:?} returned other bytes");
    }
    let mut expected: Vec<String> = names_.iter().map(|name| format!("{folder}/{name}")).collect();
    expected.sort();
    let found = names(store, folder).await?;
    check!(found == expected, "the listing returned {found:?}");
    for name in found {
        store.delete(&Path::parse(&name).map_err(say("path"))?).await.map_err(say("delete"))?;
    }
    Ok(())
}

/// Parts become one object at the end; an upload given up leaves none.
pub async fn uploads(store: &dyn ObjectStore, folder: &Path) -> Outcome {
    let path = folder.clone().join("x");
    let bytes = pattern(2 * PART_BYTES + 1000);
    let mut upload = store.put_multipart(&path).await.map_err(say("begin"))?;
    let parts: Vec<_> = (0..3)
        .map(|i| bytes.slice(i * PART_BYTES..bytes.len().min((i + 1) * PART_BYTES)))
        .map(PutPayload::from)
        .collect();
    let parts: Vec<_> = parts.into_iter().map(|part| upload.put_part(part)).collect();
    futures::future::try_join_all(parts).await.map_err(say("part"))?;
    check!(names(store, folder).await?.is_empty(), "an upload is visible before it is complete");
    upload.complete().await.map_err(say("complete"))?;
    check!(get(store, &path, None).await? == bytes, "the parts returned other bytes");
    store.delete(&path).await.map_err(say("delete"))?;
    let mut upload = store.put_multipart(&path).await.map_err(say("begin"))?;
    upload.put_part(bytes.into()).await.map_err(say("part"))?;
    upload.abort().await.map_err(say("abort"))?;
    check!(names(store, folder).await?.is_empty(), "an aborted upload left something");
    Ok(())
}

/// Copying keeps the source, renaming does not.
pub async fn copies(store: &dyn ObjectStore, folder: &Path) -> Outcome {
    let (one, two, three) = (folder.clone().join("one"), folder.clone().join("two"), folder.clone().join("three"));
    put(store, &one, pattern(1000)).await?;
    store.copy(&one, &two).await.map_err(say("copy"))?;
    store.rename(&two, &three).await.map_err(say("rename"))?;
    check!(names(store, folder).await? == [one.to_string(), three.to_string()], "other names remain");
    check!(get(store, &three, None).await? == pattern(1000), "the copy has other bytes");
    for path in [&one, &three] {
        store.delete(path).await.map_err(say("delete"))?;
    }
    Ok(())
}
