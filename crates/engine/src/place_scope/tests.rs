#![allow(clippy::unwrap_used)]
use lakerace_io::{ErrorKind, MinSeekSize};

use super::*;

/// A location of each medium.
const LOCATIONS: [&str; 12] = [
    "orders.parquet",
    "orders.csv",
    "memory://one/orders.parquet",
    "delta:lake/orders",
    "s3://lake/orders.parquet",
    "gs://lake/orders",
    "az://lake/orders",
    "https://host/orders.parquet",
    "-",
    "mongodb://host/db/orders",
    "sqlite:orders.db#orders",
    "tpch:orders?sf=1",
];

fn storage(name: &str, value: &str) -> StorageOptions {
    StorageOptions::from_iter([(name.to_owned(), value.to_owned())])
}

fn ranges(ranges: RangeOptions) -> JobOptions {
    JobOptions { ranges, ..JobOptions::default() }
}

/// An option by its name, with the locations that take it where they are read, and where they are written.
type OptionCase = (&'static str, StorageOptions, JobOptions, Vec<&'static str>, Vec<&'static str>);

/// One set of options for each option.
fn options() -> Vec<OptionCase> {
    let (none, plain) = (StorageOptions::default(), JobOptions::default());
    let of = |names: &[&'static str]| names.to_vec();
    let remote =
        of(&["s3://lake/orders.parquet", "gs://lake/orders", "az://lake/orders", "https://host/orders.parquet"]);
    let tables = of(&[
        "memory://one/orders.parquet",
        "delta:lake/orders",
        "s3://lake/orders.parquet",
        "gs://lake/orders",
        "az://lake/orders",
    ]);
    let files = LOCATIONS[..8].to_vec();
    let written = LOCATIONS[..4].to_vec();
    let durable = [written.clone(), of(&["sqlite:orders.db#orders"])].concat();
    let s3 = of(&["s3://lake/orders.parquet"]);
    let range = |ranges_given: RangeOptions| ranges(ranges_given);
    let default = RangeOptions::default;
    vec![
        ("retry_time", storage("retry_time", "5s"), plain.clone(), remote.clone(), remote.clone()),
        ("retry_timeout", storage("retry_timeout", "5s"), plain.clone(), remote.clone(), remote.clone()),
        ("timeout", storage("timeout", "5s"), plain.clone(), remote.clone(), remote.clone()),
        ("allow_foreign_paths", storage("allow_foreign_paths", "true"), plain.clone(), tables.clone(), tables),
        ("aws_region", storage("aws_region", "x"), plain.clone(), s3.clone(), s3),
        (
            "google_base_url",
            storage("google_base_url", "x"),
            plain.clone(),
            of(&["gs://lake/orders"]),
            of(&["gs://lake/orders"]),
        ),
        (
            "azure_storage_account_name",
            storage("azure_storage_account_name", "x"),
            plain.clone(),
            of(&["az://lake/orders"]),
            of(&["az://lake/orders"]),
        ),
        (
            "http_user",
            storage("http_user", "x"),
            plain.clone(),
            of(&["https://host/orders.parquet"]),
            of(&["https://host/orders.parquet"]),
        ),
        (
            "min_seek_size",
            none.clone(),
            range(RangeOptions { min_seek_size: MinSeekSize::Bytes(1), ..default() }),
            files.clone(),
            vec![],
        ),
        (
            "max_request_size",
            none.clone(),
            range(RangeOptions { max_request_bytes: Some(1), ..default() }),
            files.clone(),
            vec![],
        ),
        (
            "max_requests_in_flight",
            none.clone(),
            range(RangeOptions { max_requests_in_flight: Some(1), ..default() }),
            files.clone(),
            vec![],
        ),
        (
            "extra_bytes_tolerance",
            none.clone(),
            range(RangeOptions { extra_bytes_tolerance: 0.5, ..default() }),
            files.clone(),
            vec![],
        ),
        ("prefetch_size", none.clone(), range(RangeOptions { prefetch_bytes: 1, ..default() }), files, vec![]),
        ("io", none.clone(), JobOptions { file_io: FileIo::Sync, ..plain.clone() }, vec![], written.clone()),
        ("durability", none, JobOptions { durability: DurabilityLevel::Normal, ..plain }, vec![], durable),
    ]
}

#[test]
fn each_option_is_taken_by_the_places_it_applies_to() {
    let (mut taken, mut refused) = (0, 0);
    for (name, storage, job, read, written) in options() {
        for location in LOCATIONS {
            let uses = [
                (JobPlaces::default().reads(location), &read),
                (JobPlaces::default().writes(location), &written),
                // One place that takes it is enough.
                (JobPlaces::default().reads("tpch:orders?sf=1").writes(location), &written),
            ];
            for (places, takers) in uses {
                let outcome = places.check(&storage, &job);
                assert_eq!(outcome.is_ok(), takers.contains(&location), "{name} of {location}: {outcome:?}");
                match outcome {
                    Ok(()) => taken += 1,
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Usage, "{name} of {location}");
                        let told = error.to_string();
                        assert!(told.contains("does not apply"), "{told}");
                        assert!(told.contains(location.trim_start_matches("sqlite:")), "{told}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert_eq!((taken, refused), (TAKEN, options().len() * LOCATIONS.len() * 3 - TAKEN));
}

/// Cells of the matrix in which an option applies.
const TAKEN: usize = 121;

#[test]
fn nothing_is_refused_that_is_not_given() {
    for location in LOCATIONS {
        for defaults in [RangeOptions::default(), RangeOptions::for_copy()] {
            JobPlaces::default().reads(location).check(&StorageOptions::default(), &ranges(defaults)).unwrap();
        }
    }
}

#[test]
fn a_table_that_may_name_files_elsewhere_takes_the_settings_of_every_store() {
    let options = [("allow_foreign_paths", "true"), ("aws_region", "x"), ("retry_time", "5s")];
    let both = StorageOptions::from_iter(options.map(|(name, value)| (name.to_owned(), value.to_owned())));
    JobPlaces::default().changes_table("lake/orders").check(&both, &JobOptions::default()).unwrap();
    JobPlaces::default().reads("delta:lake/orders").check(&both, &JobOptions::default()).unwrap();
    JobPlaces::default().reads("orders.csv").check(&both, &JobOptions::default()).unwrap_err();
}

#[test]
fn a_store_of_small_files_takes_what_its_medium_does() {
    let durable = JobOptions { durability: DurabilityLevel::Normal, ..JobOptions::default() };
    let none = StorageOptions::default();
    for (store, takes) in [("pack.db", true), ("dir:files", true), ("packs:files", true), ("s3://lake/files", false)] {
        assert_eq!(JobPlaces::default().small_files(store, true).check(&none, &durable).is_ok(), takes, "{store}");
        assert!(JobPlaces::default().small_files(store, false).check(&none, &durable).is_err(), "{store}");
    }
    let region = storage("aws_region", "x");
    JobPlaces::default().small_files("s3://lake/files", false).check(&region, &JobOptions::default()).unwrap();
    JobPlaces::default().small_files("pack.db", true).check(&region, &JobOptions::default()).unwrap_err();
}

#[test]
fn a_location_that_is_none_is_for_the_job_to_refuse() {
    let region = storage("aws_region", "x");
    JobPlaces::default().reads("nonsense://x").check(&region, &JobOptions::default()).unwrap();
}
