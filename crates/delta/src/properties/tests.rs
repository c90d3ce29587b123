#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use arrow::datatypes::{DataType, Field, Schema};
use lakerace_io::ErrorKind;

use super::{check_properties, check_property};

#[test]
fn names_and_values_are_checked() {
    let fine = [
        ("delta.appendOnly", "true"),
        ("delta.checkpointInterval", "1"),
        ("delta.dataSkippingNumIndexedCols", "-1"),
        ("delta.logRetentionDuration", "interval 30 days"),
        ("delta.deletedFileRetentionDuration", "interval 0 seconds"),
        ("delta.checkpointPolicy", "v2"),
        ("delta.parquet.format.version", "2.12.0"),
        ("delta.feature.deletionVectors", "supported"),
        ("delta.dataSkippingStatsColumns", "a,b.c"),
        ("lakerace.deletionVectors", "onDemand"),
        ("owner", "anyone at all"),
        ("deltas", "3"),
    ];
    fine.iter().for_each(|(name, value)| check_property(name, value).unwrap());
    let wrong = [
        ("lakerace.primarykey", "id", ErrorKind::Usage, "did you mean lakerace.primaryKey?"),
        ("LakeRace.primaryKey", "id", ErrorKind::Usage, "did you mean lakerace.primaryKey?"),
        ("delta.enableDeletionVector", "true", ErrorKind::Usage, "did you mean delta.enableDeletionVectors?"),
        ("delta.whatever", "1", ErrorKind::Usage, "this property does not exist"),
        ("delta.appendOnly", "yes", ErrorKind::Usage, "neither true nor false"),
        ("delta.appendOnly", "True", ErrorKind::Usage, "neither true nor false"),
        ("delta.checkpointInterval", "0", ErrorKind::Usage, "not an integer of 1 or more"),
        ("delta.dataSkippingNumIndexedCols", "many", ErrorKind::Usage, "not an integer of -1 or more"),
        ("delta.logRetentionDuration", "30 days", ErrorKind::Usage, "interval 7 days"),
        ("delta.logRetentionDuration", "interval 1 month", ErrorKind::Usage, "interval 7 days"),
        ("delta.logRetentionDuration", "interval -1 days", ErrorKind::Usage, "interval 7 days"),
        ("delta.logRetentionDuration", "interval 9223372036854775807 weeks", ErrorKind::Usage, "interval 7 days"),
        ("delta.columnMapping.mode", "Name", ErrorKind::Usage, "none of none, name, id"),
        ("delta.parquet.format.version", "two", ErrorKind::Usage, "not a version"),
        ("delta.dataSkippingStatsColumns", "a,,b", ErrorKind::Usage, "not a list of columns"),
        ("delta.feature.deletionVectors", "enabled", ErrorKind::Usage, "\"supported\""),
        ("delta.feature.timeTravel", "supported", ErrorKind::Usage, "no feature \"timeTravel\""),
        ("delta.constraints.positive", "id > 0", ErrorKind::Unsupported, "a constraint is checked"),
        ("delta.isolationLevel", "Serializable", ErrorKind::Unsupported, "can't set"),
    ];
    for (name, value, kind, says) in wrong {
        let error = check_property(name, value).unwrap_err();
        assert_eq!(error.kind(), kind, "{name}={value}: {error}");
        assert!(error.to_string().contains(says), "{name}={value}: {error}");
    }
}

#[test]
fn columns_that_properties_name_are_looked_up() {
    let below = DataType::Struct(vec![Field::new("b", DataType::Int32, true)].into());
    let fields = [("id", DataType::Int64), ("ratio", DataType::Float64), ("a", below)];
    let schema = Schema::new(fields.map(|(name, data_type)| Field::new(name, data_type, true)).to_vec());
    let outcome = |name: &str, value: &str| {
        check_properties(&BTreeMap::from([(name.to_owned(), value.to_owned())]), &schema).map_err(|error| {
            assert!(error.to_string().starts_with(&format!("`table_property={name}={value}`")), "{error}");
            error.kind()
        })
    };
    let key = "lakerace.primaryKey";
    assert_eq!(outcome(key, "id"), Ok(()));
    for (value, kind) in [
        ("ID", ErrorKind::NotFound),
        ("nothing", ErrorKind::NotFound),
        ("id,", ErrorKind::NotFound),
        ("", ErrorKind::NotFound),
        ("id,id", ErrorKind::Usage),
        ("ratio", ErrorKind::Unsupported),
        ("a", ErrorKind::Unsupported),
    ] {
        assert_eq!(outcome(key, value), Err(kind), "{value}");
    }
    let statistics = "delta.dataSkippingStatsColumns";
    assert_eq!(outcome(statistics, "id,a.b"), Ok(()));
    assert_eq!(outcome(statistics, "a.c"), Err(ErrorKind::NotFound));
    assert_eq!(outcome(statistics, "id.b"), Err(ErrorKind::NotFound));
    assert_eq!(outcome("owner", "x"), Ok(()));
}
