//! Random tables, and what must be true of files made from them.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::*;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::{ReadOptionsBuilder, SerializedFileReader};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

/// Values of one column: how many different ones, how they are ordered, how many are null.
struct Shape {
    distinct: u64,
    sorted: bool,
    null_percent: u32,
}

fn numbers(random: &mut StdRng, rows: usize, shape: &Shape) -> Vec<Option<u64>> {
    let mut values: Vec<u64> = (0..rows).map(|_| random.next_u64() % shape.distinct).collect();
    if shape.sorted {
        values.sort_unstable();
    }
    // Spread over the whole width, so that signs and high bytes take part.
    let spread = |v: u64| if shape.distinct > 1000 { v.wrapping_mul(0x9e37_79b9_7f4a_7c15) } else { v.wrapping_sub(3) };
    values.into_iter().map(|v| (random.random_range(0..100) >= shape.null_percent).then(|| spread(v))).collect()
}

fn text(n: u64) -> String {
    // Lengths from 0, letters of one to four bytes; some are longer than bounds may be.
    const LETTERS: [&str; 8] = ["a", "Z", "7", " ", "é", "ß", "漢", "🦀"];
    let length = if n.is_multiple_of(97) { 120 } else { n % 23 };
    (0..length).map(|i| LETTERS[(n.rotate_left(i as u32 * 5) % 8) as usize]).collect()
}

type Maker = fn(&[Option<u64>]) -> ArrayRef;

fn primitive<T: ArrowPrimitiveType>(
    numbers: &[Option<u64>],
    data_type: DataType,
    to: impl Fn(u64) -> T::Native,
) -> ArrayRef {
    let array: PrimitiveArray<T> = numbers.iter().map(|n| n.map(&to)).collect();
    Arc::new(array.with_data_type(data_type))
}

macro_rules! maker {
    ($type:ty, $data_type:expr, $to:expr) => {
        |n: &[Option<u64>]| primitive::<$type>(n, $data_type, $to)
    };
}

fn decimal(precision: u8) -> impl Fn(u64) -> i128 {
    move |n| {
        (i128::from(n >> 1) * i128::from(n >> 1) * if n % 2 == 0 { 1 } else { -1 }) % 10i128.pow(u32::from(precision))
    }
}

/// Every flat type that Parquet can hold, by name.
fn flat_makers() -> Vec<(&'static str, Maker)> {
    use TimeUnit::*;
    vec![
        ("null", |n| Arc::new(NullArray::new(n.len()))),
        ("boolean", |n| Arc::new(n.iter().map(|n| n.map(|n| n % 3 == 0)).collect::<BooleanArray>())),
        ("int8", maker!(Int8Type, DataType::Int8, |n| n as i8)),
        ("int16", maker!(Int16Type, DataType::Int16, |n| n as i16)),
        ("int32", maker!(Int32Type, DataType::Int32, |n| n as i32)),
        ("int64", maker!(Int64Type, DataType::Int64, |n| n as i64)),
        ("uint8", maker!(UInt8Type, DataType::UInt8, |n| n as u8)),
        ("uint16", maker!(UInt16Type, DataType::UInt16, |n| n as u16)),
        ("uint32", maker!(UInt32Type, DataType::UInt32, |n| n as u32)),
        ("uint64", maker!(UInt64Type, DataType::UInt64, |n| n)),
        (
            "float16",
            maker!(Float16Type, DataType::Float16, |n| {
                <Float16Type as ArrowPrimitiveType>::Native::from_bits(n as u16)
            }),
        ),
        ("float32", maker!(Float32Type, DataType::Float32, |n| f32::from_bits(n as u32))),
        ("float64", maker!(Float64Type, DataType::Float64, f64::from_bits)),
        ("date32", maker!(Date32Type, DataType::Date32, |n| n as i32)),
        ("date64", maker!(Date64Type, DataType::Date64, |n| i64::from(n as i32) * 86_400_000)),
        ("time32s", maker!(Time32SecondType, DataType::Time32(Second), |n| (n % 86_400) as i32)),
        ("time32ms", maker!(Time32MillisecondType, DataType::Time32(Millisecond), |n| (n % 86_400_000) as i32)),
        ("time64us", maker!(Time64MicrosecondType, DataType::Time64(Microsecond), |n| (n % 86_400_000_000) as i64)),
        ("time64ns", maker!(Time64NanosecondType, DataType::Time64(Nanosecond), |n| (n % 86_400_000_000_000) as i64)),
        ("timestamp_s", maker!(TimestampSecondType, DataType::Timestamp(Second, None), |n| i64::from(n as i32))),
        ("timestamp_ms", maker!(TimestampMillisecondType, DataType::Timestamp(Millisecond, None), |n| n as i64)),
        (
            "timestamp_us",
            maker!(TimestampMicrosecondType, DataType::Timestamp(Microsecond, Some("UTC".into())), |n| n as i64),
        ),
        (
            "timestamp_ns",
            maker!(TimestampNanosecondType, DataType::Timestamp(Nanosecond, Some("+02:00".into())), |n| n as i64),
        ),
        ("duration", maker!(DurationMillisecondType, DataType::Duration(Millisecond), |n| n as i64)),
        ("months", maker!(IntervalYearMonthType, DataType::Interval(IntervalUnit::YearMonth), |n| n as i32 & i32::MAX)),
        (
            "days",
            // Parquet's intervals have no sign.
            maker!(IntervalDayTimeType, DataType::Interval(IntervalUnit::DayTime), |n| {
                IntervalDayTime::new(n as i32 & i32::MAX, (n >> 32) as i32 & i32::MAX)
            }),
        ),
        ("decimal32", maker!(Decimal32Type, DataType::Decimal32(9, 3), |n| decimal(9)(n) as i32)),
        ("decimal64", maker!(Decimal64Type, DataType::Decimal64(18, 3), |n| decimal(18)(n) as i64)),
        ("decimal9", maker!(Decimal128Type, DataType::Decimal128(9, 2), decimal(9))),
        ("decimal18", maker!(Decimal128Type, DataType::Decimal128(18, 2), decimal(18))),
        ("decimal38", maker!(Decimal128Type, DataType::Decimal128(38, 10), decimal(38))),
        ("decimal20", maker!(Decimal128Type, DataType::Decimal128(20, 0), decimal(20))),
        (
            "decimal76",
            maker!(Decimal256Type, DataType::Decimal256(76, 5), |n| {
                i256::from_i128(decimal(38)(n)).wrapping_mul(i256::from_i128(n.into()))
            }),
        ),
        ("decimal256_12", maker!(Decimal256Type, DataType::Decimal256(12, 5), |n| i256::from_i128(decimal(12)(n)))),
        ("utf8", |n| Arc::new(n.iter().map(|n| n.map(text)).collect::<StringArray>())),
        ("large_utf8", |n| Arc::new(n.iter().map(|n| n.map(text)).collect::<LargeStringArray>())),
        ("utf8view", |n| Arc::new(n.iter().map(|n| n.map(text)).collect::<StringViewArray>())),
        ("binary", |n| {
            Arc::new(
                n.iter()
                    .map(|n| n.map(|n| [n.to_le_bytes(); 9].concat()[..(n % 70) as usize].to_vec()))
                    .collect::<BinaryArray>(),
            )
        }),
        ("large_binary", |n| Arc::new(n.iter().map(|n| n.map(|n| n.to_be_bytes())).collect::<LargeBinaryArray>())),
        ("binary_view", |n| Arc::new(n.iter().map(|n| n.map(|n| text(n).into_bytes())).collect::<BinaryViewArray>())),
        ("fixed", |n| {
            let mut builder = FixedSizeBinaryBuilder::new(5);
            n.iter().for_each(|n| match n {
                Some(n) => builder.append_value(&n.to_be_bytes()[3..]).unwrap(),
                None => builder.append_null(),
            });
            Arc::new(builder.finish())
        }),
    ]
}

fn nested(random: &mut StdRng, rows: usize) -> Vec<(&'static str, ArrayRef)> {
    let nulls = |random: &mut StdRng, n: usize| {
        Some(NullBuffer::from((0..n).map(|_| random.random_range(0..5) > 0).collect::<Vec<_>>()))
    };
    let lengths = |random: &mut StdRng| (0..rows).map(|_| random.random_range(0..4usize)).collect::<Vec<_>>();
    let strings = |random: &mut StdRng, n: usize| {
        let shape = Shape { distinct: 50, sorted: false, null_percent: 20 };
        Arc::new(numbers(random, n, &shape).iter().map(|n| n.map(text)).collect::<StringArray>()) as ArrayRef
    };
    let list_lengths = lengths(random);
    let items = strings(random, list_lengths.iter().sum());
    let item = Arc::new(Field::new("item", DataType::Utf8, true));
    let list = ListArray::new(item, OffsetBuffer::from_lengths(list_lengths), items, nulls(random, rows));

    let seconds: TimestampSecondArray = (0..rows).map(|i| (i % 7 > 0).then_some(i as i64)).collect();
    let inner = StructArray::new(
        vec![
            Field::new("at", DataType::Timestamp(TimeUnit::Second, None), true),
            Field::new("s", DataType::Utf8, true),
        ]
        .into(),
        vec![Arc::new(seconds), strings(random, rows)],
        nulls(random, rows),
    );
    let map_lengths = lengths(random);
    let entries = map_lengths.iter().sum();
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(0..entries as i64));
    let entry_fields: Fields =
        vec![Field::new("keys", DataType::Int64, false), Field::new("values", DataType::Utf8, true)].into();
    let map = MapArray::new(
        Arc::new(Field::new("entries", DataType::Struct(entry_fields.clone()), false)),
        OffsetBuffer::from_lengths(map_lengths),
        StructArray::new(entry_fields, vec![keys, strings(random, entries)], None),
        nulls(random, rows),
        false,
    );
    let triple = FixedSizeListArray::new(
        Arc::new(Field::new("item", DataType::Utf8, true)),
        3,
        strings(random, rows * 3),
        nulls(random, rows),
    );
    let view = StringViewArray::from_iter(strings(random, rows * 2).as_string::<i32>().iter());
    let twice = ListViewArray::new(
        Arc::new(Field::new("item", DataType::Utf8View, true)),
        ScalarBuffer::from((0..rows as i32).map(|i| (rows as i32 - 1 - i) * 2).collect::<Vec<_>>()),
        ScalarBuffer::from(vec![2; rows]),
        Arc::new(view),
        None,
    );
    vec![
        ("list", Arc::new(list)),
        ("struct", Arc::new(inner)),
        ("map", Arc::new(map)),
        ("fixed_list", Arc::new(triple)),
        ("list_view", Arc::new(twice)),
    ]
}

/// A table with a column of every type, in several shapes; sliced, so that offsets are not zero.
pub fn every_type(seed: u64, rows: usize) -> RecordBatch {
    let mut random = StdRng::seed_from_u64(seed);
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    let extra = 3;
    for (name, maker) in flat_makers() {
        let shape = match random.random_range(0..5) {
            0 => Shape { distinct: 1, sorted: false, null_percent: 0 },
            1 => Shape { distinct: 12, sorted: false, null_percent: 10 },
            2 => Shape { distinct: u64::MAX, sorted: true, null_percent: 0 },
            3 => Shape { distinct: 3000, sorted: true, null_percent: 90 },
            _ => Shape { distinct: u64::MAX, sorted: false, null_percent: 50 },
        };
        let array = maker(&numbers(&mut random, rows + extra, &shape));
        let nullable = shape.null_percent > 0 || name == "null" || random.random_bool(0.5);
        fields.push(Field::new(name, array.data_type().clone(), nullable));
        columns.push(array);
    }
    let few = numbers(&mut random, rows + extra, &Shape { distinct: 5, sorted: false, null_percent: 30 });
    let int64_few = primitive::<Int64Type>(&few, DataType::Int64, |n| n as i64);
    let words: ArrayRef = Arc::new(few.iter().map(|n| n.map(text)).collect::<StringArray>());
    let dictionary = |value: &ArrayRef, to: DataType| {
        cast(value, &DataType::Dictionary(Box::new(DataType::Int32), Box::new(to))).unwrap()
    };
    let runs: RunArray<Int32Type> = words.as_string::<i32>().iter().collect();
    let special: Vec<(&str, ArrayRef)> = vec![
        ("dictionary_utf8", dictionary(&words, DataType::Utf8)),
        ("dictionary_int64", dictionary(&int64_few, DataType::Int64)),
        ("run_end", Arc::new(runs)),
        ("int64_few", int64_few),
    ];
    for (name, array) in special.into_iter().chain(nested(&mut random, rows + extra)) {
        fields.push(Field::new(name, array.data_type().clone(), true));
        columns.push(array);
    }
    let table = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    table.slice(extra - 1, rows)
}

/// Every value lies within the bounds of its row group and page, and null counts are right.
pub fn check_bounds(metadata: &ParquetMetaData, table: &RecordBatch) {
    let schema = metadata.file_metadata().schema_descr();
    for (at, field) in table.schema().fields().iter().enumerate() {
        let values = table.column(at);
        let comparable = field.data_type().is_primitive()
            && !matches!(field.data_type(), DataType::Interval(_) | DataType::Float16 | DataType::Duration(_))
            || matches!(field.data_type(), DataType::Utf8 | DataType::Binary | DataType::FixedSizeBinary(_));
        let Ok(converter) = StatisticsConverter::try_new(field.name(), table.schema_ref(), schema) else { continue };
        if !comparable || converter.parquet_column_index().is_none() {
            continue;
        }
        let groups = metadata.row_groups();
        let mins = converter.row_group_mins(groups).unwrap();
        let maxes = converter.row_group_maxes(groups).unwrap();
        let nulls = converter.row_group_null_counts(groups).unwrap();
        let mut first = 0;
        for (number, group) in groups.iter().enumerate() {
            let rows = values.slice(first, group.num_rows() as usize);
            within(&rows, &mins.slice(number, 1), &maxes.slice(number, 1), field);
            assert_eq!(nulls.value(number), rows.null_count() as u64, "{}", field.name());
            let leaf = converter.parquet_column_index().unwrap();
            let index = metadata.page_index_for_row_group(number);
            let pages = index.page_locations(leaf).unwrap();
            let Some(bounds) = index.column_index(leaf) else {
                assert!(field.data_type().is_floating(), "{} has no column index", field.name());
                first += group.num_rows() as usize;
                continue;
            };
            assert_eq!(pages.len() as u64, bounds.num_pages());
            for (page, location) in pages.iter().enumerate() {
                let from = location.first_row_index as usize;
                let to = pages.get(page + 1).map_or(rows.len(), |next| next.first_row_index as usize);
                let in_page = rows.slice(from, to - from);
                assert_eq!(bounds.null_count(page), Some(in_page.null_count() as i64), "{}", field.name());
                assert_eq!(bounds.is_null_page(page), in_page.null_count() == in_page.len());
            }
            first += group.num_rows() as usize;
        }
        assert_eq!(first, values.len());
    }
}

fn within(values: &ArrayRef, min: &ArrayRef, max: &ArrayRef, field: &Field) {
    use arrow::compute::kernels::cmp::{gt_eq, lt_eq};
    if min.is_null(0) || max.is_null(0) {
        // Where there is a NaN or nothing but nulls, or a maximum that can't be rounded up.
        let texts = matches!(field.data_type(), DataType::Utf8 | DataType::Binary);
        let has_nan = (0..values.len()).any(|at| values.is_valid(at) && is_nan(values, at));
        assert!(texts || has_nan || values.null_count() == values.len(), "{} has no bounds", field.name());
        return;
    }
    let floats = field.data_type().is_floating();
    let holds = |ok: BooleanArray| (0..ok.len()).all(|i| ok.is_null(i) || ok.value(i) || floats && is_nan(values, i));
    assert!(holds(gt_eq(values, &Scalar::new(min)).unwrap()), "{}: a value is below {min:?}", field.name());
    assert!(holds(lt_eq(values, &Scalar::new(max)).unwrap()), "{}: a value is above {max:?}", field.name());
}

fn is_nan(values: &ArrayRef, at: usize) -> bool {
    match values.data_type() {
        DataType::Float16 => values.as_primitive::<Float16Type>().value(at).is_nan(),
        DataType::Float32 => values.as_primitive::<Float32Type>().value(at).is_nan(),
        DataType::Float64 => values.as_primitive::<Float64Type>().value(at).is_nan(),
        _ => false,
    }
}

/// Every value of a column with a bloom filter is in it; the columns without have none.
pub fn check_bloom_filters(path: &Path) {
    let options = ReadOptionsBuilder::new()
        .with_reader_properties(
            parquet::file::properties::ReaderProperties::builder().set_read_bloom_filter(true).build(),
        )
        .build();
    let reader = SerializedFileReader::new_with_options(File::open(path).unwrap(), options).unwrap();
    let mut with = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).unwrap();
        for column in 0..group.num_columns() {
            let name = group.metadata().column(column).column_path().string();
            let Some(filter) = group.get_column_bloom_filter(column) else { continue };
            with.push(name.clone());
            let rows = group.get_row_iter(None).unwrap();
            let mut values = 0;
            for row in rows {
                let row = row.unwrap();
                for (field, value) in row.get_column_iter() {
                    use parquet::record::Field as Value;
                    if *field != name {
                        continue;
                    }
                    let found = match value {
                        Value::Long(v) => filter.check(v),
                        Value::Double(v) => filter.check(v),
                        Value::Str(v) => filter.check(v.as_str()),
                        _ => continue,
                    };
                    assert!(found, "{name}: {value} is not in its filter");
                    values += 1;
                }
            }
            assert!(values > 0 || name.starts_with("list") || name.starts_with("decimal"), "{name}");
        }
    }
    with.sort();
    let element = "list.list.element";
    assert_eq!(with, ["decimal38", "float64", "int64", "int64_few", element, "utf8", "utf8view"]);
}
