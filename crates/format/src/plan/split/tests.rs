#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::datatypes::Schema;
use lakerace_io::RequestPlan;
use proptest::prelude::*;

use crate::{FilePlan, ReadPlan, ReadRequest, UnitPlan};

fn plan(files: &[Vec<Option<u64>>]) -> ReadPlan {
    let unit = |(index, bytes): (usize, &Option<u64>)| UnitPlan {
        index,
        rows: Some(1),
        wanted_bytes: bytes.unwrap_or(0),
        pruned: bytes.is_none().then(|| "statistics".to_owned()),
        ..UnitPlan::default()
    };
    let file = |(number, units): (usize, &Vec<Option<u64>>)| FilePlan {
        url: format!("{number}.parquet"),
        size_bytes: 1,
        e_tag: None,
        units: units.iter().enumerate().map(unit).collect(),
    };
    let files = files.iter().enumerate().map(file).collect();
    ReadPlan {
        request: ReadRequest::default(),
        schema: Arc::new(Schema::empty()),
        files,
        requests: RequestPlan::none(),
    }
}

fn kept(plan: &ReadPlan) -> Vec<(String, usize, u64)> {
    let units = plan.files.iter().flat_map(|f| f.units.iter().map(move |u| (f, u)));
    units.filter(|(_, u)| u.pruned.is_none()).map(|(f, u)| (f.url.clone(), u.index, u.wanted_bytes)).collect()
}

#[test]
fn parts_are_balanced_by_bytes() {
    let whole = plan(&[vec![Some(10), Some(10), None, Some(10)], vec![Some(30)], vec![None]]);
    let parts = whole.split(2);
    let bytes: Vec<u64> = parts.iter().map(|part| kept(part).iter().map(|unit| unit.2).sum()).collect();
    assert_eq!(bytes, [30, 30]);
    assert_eq!(parts[1].files.len(), 1);
    assert_eq!(parts[1].files[0].url, "1.parquet");
}

#[test]
fn a_limit_is_not_split() {
    let mut whole = plan(&[vec![Some(1), Some(1)]]);
    whole.request.limit = Some(5);
    assert_eq!(whole.split(2).len(), 1);
}

proptest! {
    #[test]
    fn parts_join_to_the_plan(files in prop::collection::vec(prop::collection::vec(prop::option::of(0u64..100), 0..6), 0..6), n in 0usize..9) {
        let whole = plan(&files);
        let parts = whole.split(n);
        let units = kept(&whole);
        prop_assert_eq!(parts.len(), n.clamp(1, units.len().max(1)));
        prop_assert!(parts.len() == 1 || parts.iter().all(|part| !kept(part).is_empty()));
        let joined: Vec<_> = parts.iter().flat_map(kept).collect();
        prop_assert_eq!(joined, units);
    }
}
