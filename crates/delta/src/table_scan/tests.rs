#![allow(clippy::unwrap_used)]

use arrow::datatypes::{DataType, Field};
use proptest::prelude::*;

use super::*;

fn scan_of(sizes: &[u64], share: f64) -> TableScan {
    let file = |(number, size): (usize, &u64)| -> ScanFile {
        serde_json::from_value(serde_json::json!({"path": number.to_string(), "size_bytes": size, "rows": 1})).unwrap()
    };
    TableScan {
        version: ScannedVersion {
            version: 0,
            schema_text: String::new(),
            mapping: ColumnMappingMode::None,
            partition_columns: Vec::new(),
        },
        schema: Arc::new(Schema::empty()),
        all_files: sizes.len(),
        files: sizes.iter().enumerate().map(file).collect(),
        share,
        task: TableTask { request: ReadRequest::default(), with_ids: false, slices: Vec::new() },
    }
}

proptest! {
    #[test]
    fn each_byte_of_a_file_is_in_one_task(
        sizes in prop::collection::vec(0u64..1000, 0..20), bytes in 1u64..2000, share in 0.01f64..1.0,
    ) {
        let scan = scan_of(&sizes, share);
        let most = ((bytes as f64 / share) as u64).max(1);
        let tasks = scan.tasks(bytes);
        let mut next: Vec<u64> = vec![0; sizes.len()];
        for task in &tasks {
            let mut length = 0;
            for FileSlice { file, bytes } in &task.slices {
                let number: usize = file.path.parse().unwrap();
                prop_assert_eq!(next[number], bytes.start);
                next[number] = bytes.end;
                length += bytes.end.min(file.size_bytes) - bytes.start;
            }
            prop_assert!(length <= most, "{} bytes of {}", length, most);
            let mut names: Vec<&str> = task.slices.iter().map(|slice| slice.file.path.as_str()).collect();
            names.dedup();
            prop_assert_eq!(names.len(), task.slices.len());
        }
        prop_assert!(next.iter().all(|end| *end == u64::MAX));
    }
}

#[test]
fn the_share_of_columns_counts_those_of_the_filter_and_no_partition_columns() {
    let fields = [("p", DataType::Int32), ("a", DataType::Int64), ("t", DataType::Utf8View)];
    let table = Schema::new(fields.map(|(name, data_type)| Field::new(name, data_type, true)).to_vec());
    let constant = ["p".to_owned()];
    let request = ReadRequest::default();
    let read = table.project(&[0, 1]).unwrap();
    assert_eq!(share(&table, &table, &request, &constant).unwrap(), 1.0);
    assert_eq!(share(&table, &read, &request, &constant).unwrap(), 8.0 / 28.0);
    let filter = lakerace_format::Expr::IsNull(Box::new(lakerace_format::Expr::Column("t".into())));
    let request = ReadRequest { filter: Some(filter), ..request };
    assert_eq!(share(&table, &read, &request, &constant).unwrap(), 1.0);
}
