//! Random tables of every type that can be written, and their rows as text.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::*;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

/// How the values of a table are drawn.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub rows: usize,
    /// Different values of a column.
    pub distinct: u64,
    pub sorted: bool,
    pub null_percent: u32,
}

fn numbers(random: &mut StdRng, shape: &Shape, rows: usize) -> Vec<Option<u64>> {
    let mut values: Vec<u64> = (0..rows).map(|_| random.next_u64() % shape.distinct).collect();
    if shape.sorted {
        values.sort_unstable();
    }
    let spread = |n: u64| if shape.distinct > 1000 { n.wrapping_mul(0x9e37_79b9_7f4a_7c15) } else { n.wrapping_sub(3) };
    values.into_iter().map(|n| (random.random_range(0..100) >= shape.null_percent).then(|| spread(n))).collect()
}

fn text(n: u64) -> String {
    const LETTERS: [&str; 8] = ["a", "Z", "7", " ", "é", "ß", "漢", "🦀"];
    // A few are longer than statistics hold.
    let length = if n.is_multiple_of(1009) { 1500 } else { n % 23 };
    (0..length).map(|i| LETTERS[(n.rotate_left(i as u32 * 5) % 8) as usize]).collect()
}

fn primitive<T: ArrowPrimitiveType>(
    numbers: &[Option<u64>],
    data_type: DataType,
    to: impl Fn(u64) -> T::Native,
) -> ArrayRef {
    let array: PrimitiveArray<T> = numbers.iter().map(|n| n.map(&to)).collect();
    Arc::new(array.with_data_type(data_type))
}

fn decimal(precision: u32) -> impl Fn(u64) -> i128 {
    move |n| {
        let sign = if n.is_multiple_of(2) { 1 } else { -1 };
        i128::from(n >> 1) * i128::from(n >> 1) % 10i128.pow(precision) * sign
    }
}

/// Ticks within the range that nanoseconds have, and not within the second before 1970.
fn ticks(per_second: i64) -> impl Fn(u64) -> i64 {
    move |n| {
        let all = 9_000_000_000 * i128::from(per_second);
        let ticks = (i128::from(n as i64) % all) as i64;
        if (-per_second..0).contains(&ticks) { ticks - per_second } else { ticks }
    }
}

/// Columns of flat types by name.
fn flat(random: &mut StdRng, shape: &Shape, rows: usize) -> Vec<(&'static str, ArrayRef)> {
    use TimeUnit::*;
    let mut draw = || numbers(random, shape, rows);
    let strings = |n: Vec<Option<u64>>| n.into_iter().map(|n| n.map(text)).collect::<StringArray>();
    let bytes = |n: u64| [n.to_le_bytes(); 9].concat()[..(n % 70) as usize].to_vec();
    let keyed = |array: &dyn Array, to| cast(array, &DataType::Dictionary(Box::new(DataType::UInt32), to)).unwrap();
    let mut columns: Vec<(&'static str, ArrayRef)> = vec![
        ("boolean", Arc::new(draw().into_iter().map(|n| n.map(|n| n % 3 == 0)).collect::<BooleanArray>())),
        ("int8", primitive::<Int8Type>(&draw(), DataType::Int8, |n| n as i8)),
        ("int16", primitive::<Int16Type>(&draw(), DataType::Int16, |n| n as i16)),
        ("int32", primitive::<Int32Type>(&draw(), DataType::Int32, |n| n as i32)),
        ("int64", primitive::<Int64Type>(&draw(), DataType::Int64, |n| n as i64)),
        ("uint8", primitive::<UInt8Type>(&draw(), DataType::UInt8, |n| n as u8)),
        ("uint16", primitive::<UInt16Type>(&draw(), DataType::UInt16, |n| n as u16)),
        ("uint32", primitive::<UInt32Type>(&draw(), DataType::UInt32, |n| n as u32)),
        ("float32", primitive::<Float32Type>(&draw(), DataType::Float32, |n| f32::from_bits(n as u32))),
        ("float64", primitive::<Float64Type>(&draw(), DataType::Float64, f64::from_bits)),
        ("date32", primitive::<Date32Type>(&draw(), DataType::Date32, |n| (n as i32) % 1_000_000)),
        ("seconds", primitive::<TimestampSecondType>(&draw(), DataType::Timestamp(Second, None), ticks(1))),
        ("millis", primitive::<TimestampMillisecondType>(&draw(), DataType::Timestamp(Millisecond, None), ticks(1000))),
        (
            "micros",
            primitive::<TimestampMicrosecondType>(
                &draw(),
                DataType::Timestamp(Microsecond, Some("UTC".into())),
                ticks(1_000_000),
            ),
        ),
        (
            "nanos",
            primitive::<TimestampNanosecondType>(&draw(), DataType::Timestamp(Nanosecond, None), ticks(1_000_000_000)),
        ),
        ("decimal32", primitive::<Decimal32Type>(&draw(), DataType::Decimal32(9, 3), |n| decimal(9)(n) as i32)),
        ("decimal64", primitive::<Decimal64Type>(&draw(), DataType::Decimal64(18, 3), |n| decimal(18)(n) as i64)),
        ("decimal9", primitive::<Decimal128Type>(&draw(), DataType::Decimal128(9, 2), decimal(9))),
        ("decimal18", primitive::<Decimal128Type>(&draw(), DataType::Decimal128(18, 0), decimal(18))),
        ("decimal38", primitive::<Decimal128Type>(&draw(), DataType::Decimal128(38, 10), decimal(38))),
        ("utf8", Arc::new(strings(draw()))),
        ("large_utf8", cast(&strings(draw()), &DataType::LargeUtf8).unwrap()),
        ("utf8view", cast(&strings(draw()), &DataType::Utf8View).unwrap()),
        ("keyed", keyed(&strings(draw()), Box::new(DataType::Utf8))),
        ("keyed_view", keyed(&strings(draw()), Box::new(DataType::Utf8View))),
        (
            "keyed_int",
            keyed(&primitive::<Int64Type>(&draw(), DataType::Int64, |n| n as i64), Box::new(DataType::Int64)),
        ),
        ("binary", Arc::new(draw().into_iter().map(|n| n.map(bytes)).collect::<BinaryArray>())),
        ("large_binary", Arc::new(draw().into_iter().map(|n| n.map(bytes)).collect::<LargeBinaryArray>())),
        ("binary_view", Arc::new(draw().into_iter().map(|n| n.map(bytes)).collect::<BinaryViewArray>())),
    ];
    let mut fixed = FixedSizeBinaryBuilder::new(5);
    for n in draw() {
        match n {
            Some(n) => fixed.append_value(&n.to_be_bytes()[3..]).unwrap(),
            None => fixed.append_null(),
        }
    }
    columns.push(("fixed", Arc::new(fixed.finish())));
    columns
}

fn nulls(random: &mut StdRng, shape: &Shape, rows: usize) -> Option<NullBuffer> {
    let valid = |_| random.random_range(0..100) >= shape.null_percent;
    (shape.null_percent > 0).then(|| (0..rows).map(valid).collect::<Vec<_>>().into())
}

/// Some lengths; lists that are null have items all the same, which no reader may see.
fn offsets(random: &mut StdRng, rows: usize) -> OffsetBuffer<i32> {
    OffsetBuffer::from_lengths((0..rows).map(|_| [0, 1, 2, 5][random.random_range(0..4)]).collect::<Vec<_>>())
}

fn nested(random: &mut StdRng, shape: &Shape) -> Vec<(&'static str, ArrayRef)> {
    let rows = shape.rows;
    let field = |name: &str, array: &ArrayRef| Arc::new(Field::new(name, array.data_type().clone(), true));
    let pick = |columns: Vec<(&'static str, ArrayRef)>, name: &str| {
        columns.into_iter().find(|(n, _)| *n == name).map(|(_, array)| array).unwrap()
    };
    let list = |random: &mut StdRng, name: &str| -> ArrayRef {
        let ends = offsets(random, rows);
        let items = pick(flat(random, shape, ends.last().as_usize()), name);
        Arc::new(ListArray::new(field("item", &items), ends, items, nulls(random, shape, rows)))
    };
    let ints = list(random, "int64");
    let texts = list(random, "utf8view");
    let large = cast(&texts, &DataType::LargeList(Arc::new(Field::new("item", DataType::Utf8View, true)))).unwrap();
    let pairs = pick(flat(random, shape, rows * 2), "decimal9");
    let fixed = FixedSizeListArray::new(field("item", &pairs), 2, pairs, nulls(random, shape, rows));
    let members = [("a", ints.clone()), ("b", texts.clone())];
    let fields: Fields = members.iter().map(|(name, array)| field(name, array)).collect();
    let arrays = members.into_iter().map(|(_, array)| array).collect();
    let records: ArrayRef = Arc::new(StructArray::new(fields, arrays, nulls(random, shape, rows)));
    let inner: Fields = [field("r", &records)].into_iter().collect();
    let outer: ArrayRef = Arc::new(StructArray::new(inner, vec![records], nulls(random, shape, rows)));
    let ends = offsets(random, rows);
    let entries = ends.last().as_usize();
    let keys = pick(flat(random, &Shape { null_percent: 0, ..*shape }, entries), "utf8");
    let values = pick(flat(random, shape, entries), "float64");
    let pair = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", values.data_type().clone(), true),
    ]);
    let entries = StructArray::new(pair, vec![keys, values], None);
    let entry = Arc::new(Field::new("entries", entries.data_type().clone(), false));
    let map = MapArray::new(entry, ends, entries, nulls(random, shape, rows), false);
    vec![
        ("list", ints),
        ("large_list", large),
        ("fixed_list", Arc::new(fixed)),
        ("struct", outer),
        ("map", Arc::new(map)),
    ]
}

/// A table with a column of every type.
pub fn table(seed: u64, shape: &Shape) -> RecordBatch {
    let random = &mut StdRng::seed_from_u64(seed);
    let mut columns = flat(random, shape, shape.rows);
    columns.extend(nested(random, shape));
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

/// Every column as text, a line for each row.
pub fn rows_as_text(batches: &[RecordBatch]) -> Vec<(String, Vec<String>)> {
    let Some(first) = batches.first() else { return Vec::new() };
    let all = concat_batches(&first.schema(), batches).unwrap();
    let options = FormatOptions::default().with_null("null");
    let lines = |array: &ArrayRef| {
        // Zones have no names here.
        let array = match array.data_type() {
            DataType::Timestamp(unit, Some(_)) => cast(array, &DataType::Timestamp(*unit, None)).unwrap(),
            _ => array.clone(),
        };
        let formatter = ArrayFormatter::try_new(&array, &options).unwrap();
        (0..array.len()).map(|row| formatter.value(row).to_string()).collect()
    };
    all.schema().fields().iter().zip(all.columns()).map(|(field, array)| (field.name().clone(), lines(array))).collect()
}
