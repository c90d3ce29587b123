//! The messages of the format, as `orc_proto.proto` of the ORC specification (version 1) defines them.
//!
//! Minimum and maximum of strings are bytes here: old writers cut them within a character, and one of them must not make the
//! whole footer unreadable. Statistics of a kind are boxed, since a file holds many messages that have one kind each.

// The names are those of the specification, which documents them.
#![allow(missing_docs)]

/// The codec of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum CompressionKind {
    None = 0,
    Zlib = 1,
    Snappy = 2,
    Lzo = 3,
    Lz4 = 4,
    Zstd = 5,
    Brotli = 6,
}

/// The content of a stream of a stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum StreamKind {
    /// Which rows have a value.
    Present = 0,
    /// Values, or the numbers of texts in a dictionary.
    Data = 1,
    /// Lengths of texts, byte strings, lists and maps.
    Length = 2,
    /// The texts of a dictionary.
    DictionaryData = 3,
    /// Not used by any writer.
    DictionaryCount = 4,
    /// Nanoseconds of timestamps, scales of decimals.
    Secondary = 5,
    /// Positions and statistics of row groups.
    RowIndex = 6,
    /// Bloom filters that hash texts in the encoding of the writer's machine.
    BloomFilter = 7,
    /// Bloom filters that hash texts in UTF-8.
    BloomFilterUtf8 = 8,
    /// An encrypted index.
    EncryptedIndex = 9,
    /// Encrypted values.
    EncryptedData = 10,
    /// Encrypted statistics of stripes.
    StripeStatistics = 100,
    /// Encrypted statistics of the file.
    FileStatistics = 101,
}

/// How a column is encoded in a stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum EncodingKind {
    Direct = 0,
    Dictionary = 1,
    DirectV2 = 2,
    DictionaryV2 = 3,
}

/// The kind of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum TypeKind {
    Boolean = 0,
    Byte = 1,
    Short = 2,
    Int = 3,
    Long = 4,
    Float = 5,
    Double = 6,
    String = 7,
    Binary = 8,
    Timestamp = 9,
    List = 10,
    Map = 11,
    Struct = 12,
    Union = 13,
    Decimal = 14,
    Date = 15,
    Varchar = 16,
    Char = 17,
    TimestampInstant = 18,
    Geometry = 19,
}

/// The calendar that days and timestamps before 1582-10-15 were counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum CalendarKind {
    Unknown = 0,
    JulianGregorian = 1,
    ProlepticGregorian = 2,
}

/// The cipher of an encrypted column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum EncryptionAlgorithm {
    Unknown = 0,
    AesCtr128 = 1,
    AesCtr256 = 2,
}

/// Who keeps the keys of encrypted columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum KeyProviderKind {
    Unknown = 0,
    Hadoop = 1,
    Aws = 2,
    Gcp = 3,
    Azure = 4,
}

/// The end of a file: the data that is needed to read the footer.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PostScript {
    #[prost(uint64, optional, tag = "1")]
    pub footer_length: Option<u64>,
    #[prost(enumeration = "CompressionKind", optional, tag = "2")]
    pub compression: Option<i32>,
    #[prost(uint64, optional, tag = "3")]
    pub compression_block_size: Option<u64>,
    #[prost(uint32, repeated, packed = "true", tag = "4")]
    pub version: Vec<u32>,
    #[prost(uint64, optional, tag = "5")]
    pub metadata_length: Option<u64>,
    #[prost(uint32, optional, tag = "6")]
    pub writer_version: Option<u32>,
    #[prost(uint64, optional, tag = "7")]
    pub stripe_statistics_length: Option<u64>,
    #[prost(string, optional, tag = "8000")]
    pub magic: Option<String>,
}

/// The schema, stripes and statistics of a file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Footer {
    #[prost(uint64, optional, tag = "1")]
    pub header_length: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    pub content_length: Option<u64>,
    #[prost(message, repeated, tag = "3")]
    pub stripes: Vec<StripeInformation>,
    #[prost(message, repeated, tag = "4")]
    pub types: Vec<Type>,
    #[prost(message, repeated, tag = "5")]
    pub metadata: Vec<UserMetadataItem>,
    #[prost(uint64, optional, tag = "6")]
    pub number_of_rows: Option<u64>,
    #[prost(message, repeated, tag = "7")]
    pub statistics: Vec<ColumnStatistics>,
    #[prost(uint32, optional, tag = "8")]
    pub row_index_stride: Option<u32>,
    #[prost(uint32, optional, tag = "9")]
    pub writer: Option<u32>,
    #[prost(message, optional, boxed, tag = "10")]
    pub encryption: Option<Box<Encryption>>,
    #[prost(enumeration = "CalendarKind", optional, tag = "11")]
    pub calendar: Option<i32>,
    #[prost(string, optional, tag = "12")]
    pub software_version: Option<String>,
}

/// The place of a stripe in the file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StripeInformation {
    #[prost(uint64, optional, tag = "1")]
    pub offset: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    pub index_length: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub data_length: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    pub footer_length: Option<u64>,
    #[prost(uint64, optional, tag = "5")]
    pub number_of_rows: Option<u64>,
    #[prost(uint64, optional, tag = "6")]
    pub encrypt_stripe_id: Option<u64>,
    #[prost(bytes = "vec", repeated, tag = "7")]
    pub encrypted_local_keys: Vec<Vec<u8>>,
}

/// An attribute of a type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StringPair {
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub value: Option<String>,
}

/// A node of the type tree; the types of a file are its pre-order walk.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Type {
    #[prost(enumeration = "TypeKind", optional, tag = "1")]
    pub kind: Option<i32>,
    #[prost(uint32, repeated, packed = "true", tag = "2")]
    pub subtypes: Vec<u32>,
    #[prost(string, repeated, tag = "3")]
    pub field_names: Vec<String>,
    #[prost(uint32, optional, tag = "4")]
    pub maximum_length: Option<u32>,
    #[prost(uint32, optional, tag = "5")]
    pub precision: Option<u32>,
    #[prost(uint32, optional, tag = "6")]
    pub scale: Option<u32>,
    #[prost(message, repeated, tag = "7")]
    pub attributes: Vec<StringPair>,
}

/// A name and value that the user put into the footer.
#[derive(Clone, PartialEq, prost::Message)]
pub struct UserMetadataItem {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub value: Option<Vec<u8>>,
}

/// The statistics of every stripe.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Metadata {
    #[prost(message, repeated, tag = "1")]
    pub stripe_stats: Vec<StripeStatistics>,
}

/// The statistics of one stripe, one for each column.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StripeStatistics {
    #[prost(message, repeated, tag = "1")]
    pub col_stats: Vec<ColumnStatistics>,
}

/// The statistics of a column in a file, stripe or row group.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ColumnStatistics {
    #[prost(uint64, optional, tag = "1")]
    pub number_of_values: Option<u64>,
    #[prost(message, optional, boxed, tag = "2")]
    pub int_statistics: Option<Box<IntegerStatistics>>,
    #[prost(message, optional, boxed, tag = "3")]
    pub double_statistics: Option<Box<DoubleStatistics>>,
    #[prost(message, optional, boxed, tag = "4")]
    pub string_statistics: Option<Box<StringStatistics>>,
    #[prost(message, optional, boxed, tag = "5")]
    pub bucket_statistics: Option<Box<BucketStatistics>>,
    #[prost(message, optional, boxed, tag = "6")]
    pub decimal_statistics: Option<Box<DecimalStatistics>>,
    #[prost(message, optional, boxed, tag = "7")]
    pub date_statistics: Option<Box<DateStatistics>>,
    #[prost(message, optional, boxed, tag = "8")]
    pub binary_statistics: Option<Box<BinaryStatistics>>,
    #[prost(message, optional, boxed, tag = "9")]
    pub timestamp_statistics: Option<Box<TimestampStatistics>>,
    #[prost(bool, optional, tag = "10")]
    pub has_null: Option<bool>,
    #[prost(uint64, optional, tag = "11")]
    pub bytes_on_disk: Option<u64>,
    #[prost(message, optional, boxed, tag = "12")]
    pub collection_statistics: Option<Box<CollectionStatistics>>,
}

/// Statistics of tinyint to bigint; `sum` is missing where it overflowed.
#[derive(Clone, PartialEq, Copy, prost::Message)]
pub struct IntegerStatistics {
    #[prost(sint64, optional, tag = "1")]
    pub minimum: Option<i64>,
    #[prost(sint64, optional, tag = "2")]
    pub maximum: Option<i64>,
    #[prost(sint64, optional, tag = "3")]
    pub sum: Option<i64>,
}

/// Statistics of float and double.
#[derive(Clone, PartialEq, Copy, prost::Message)]
pub struct DoubleStatistics {
    #[prost(double, optional, tag = "1")]
    pub minimum: Option<f64>,
    #[prost(double, optional, tag = "2")]
    pub maximum: Option<f64>,
    #[prost(double, optional, tag = "3")]
    pub sum: Option<f64>,
}

/// Statistics of string, char and varchar; `sum` is the total length. Bounds stand for values longer than 1,024 bytes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StringStatistics {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub minimum: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub maximum: Option<Vec<u8>>,
    #[prost(sint64, optional, tag = "3")]
    pub sum: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub lower_bound: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "5")]
    pub upper_bound: Option<Vec<u8>>,
}

/// Statistics of boolean: the count of true values.
#[derive(Clone, PartialEq, prost::Message)]
pub struct BucketStatistics {
    #[prost(uint64, repeated, packed = "true", tag = "1")]
    pub count: Vec<u64>,
}

/// Statistics of decimal, as text.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DecimalStatistics {
    #[prost(string, optional, tag = "1")]
    pub minimum: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub maximum: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub sum: Option<String>,
}

/// Statistics of date, in days since 1970-01-01.
#[derive(Clone, PartialEq, Copy, prost::Message)]
pub struct DateStatistics {
    #[prost(sint32, optional, tag = "1")]
    pub minimum: Option<i32>,
    #[prost(sint32, optional, tag = "2")]
    pub maximum: Option<i32>,
}

/// Statistics of timestamp, in milliseconds since 1970-01-01; nanos hold the six digits below, plus one.
#[derive(Clone, PartialEq, Copy, prost::Message)]
pub struct TimestampStatistics {
    #[prost(sint64, optional, tag = "1")]
    pub minimum: Option<i64>,
    #[prost(sint64, optional, tag = "2")]
    pub maximum: Option<i64>,
    #[prost(sint64, optional, tag = "3")]
    pub minimum_utc: Option<i64>,
    #[prost(sint64, optional, tag = "4")]
    pub maximum_utc: Option<i64>,
    #[prost(int32, optional, tag = "5")]
    pub minimum_nanos: Option<i32>,
    #[prost(int32, optional, tag = "6")]
    pub maximum_nanos: Option<i32>,
}

/// Statistics of binary: the total length.
#[derive(Clone, PartialEq, Copy, prost::Message)]
pub struct BinaryStatistics {
    #[prost(sint64, optional, tag = "1")]
    pub sum: Option<i64>,
}

/// Statistics of list and map: the number of children of a value.
#[derive(Clone, PartialEq, Copy, prost::Message)]
pub struct CollectionStatistics {
    #[prost(uint64, optional, tag = "1")]
    pub min_children: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    pub max_children: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub total_children: Option<u64>,
}

/// The streams and encodings of a stripe.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StripeFooter {
    #[prost(message, repeated, tag = "1")]
    pub streams: Vec<Stream>,
    #[prost(message, repeated, tag = "2")]
    pub columns: Vec<ColumnEncoding>,
    #[prost(string, optional, tag = "3")]
    pub writer_timezone: Option<String>,
    #[prost(message, repeated, tag = "4")]
    pub encryption: Vec<StripeEncryptionVariant>,
}

/// A stream of a stripe; streams follow each other in this order.
#[derive(Clone, PartialEq, Copy, prost::Message)]
pub struct Stream {
    #[prost(enumeration = "StreamKind", optional, tag = "1")]
    pub kind: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    pub column: Option<u32>,
    #[prost(uint64, optional, tag = "3")]
    pub length: Option<u64>,
}

/// How a column is encoded in this stripe.
#[derive(Clone, PartialEq, Copy, prost::Message)]
pub struct ColumnEncoding {
    #[prost(enumeration = "EncodingKind", optional, tag = "1")]
    pub kind: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    pub dictionary_size: Option<u32>,
    #[prost(uint32, optional, tag = "3")]
    pub bloom_encoding: Option<u32>,
}

/// The streams of an encrypted variant of columns.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StripeEncryptionVariant {
    #[prost(message, repeated, tag = "1")]
    pub streams: Vec<Stream>,
    #[prost(message, repeated, tag = "2")]
    pub encoding: Vec<ColumnEncoding>,
}

/// The index of a column: one entry for each row group.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RowIndex {
    #[prost(message, repeated, tag = "1")]
    pub entry: Vec<RowIndexEntry>,
}

/// The start of a row group in the streams of a column, and its statistics.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RowIndexEntry {
    #[prost(uint64, repeated, packed = "true", tag = "1")]
    pub positions: Vec<u64>,
    #[prost(message, optional, tag = "2")]
    pub statistics: Option<ColumnStatistics>,
}

/// The bloom filters of a column, one for each row group.
#[derive(Clone, PartialEq, prost::Message)]
pub struct BloomFilterIndex {
    #[prost(message, repeated, tag = "1")]
    pub bloom_filter: Vec<BloomFilter>,
}

/// Bits as words (`bitset`, old) or as little-endian bytes (`utf8bitset`).
#[derive(Clone, PartialEq, prost::Message)]
pub struct BloomFilter {
    #[prost(uint32, optional, tag = "1")]
    pub num_hash_functions: Option<u32>,
    #[prost(fixed64, repeated, packed = "false", tag = "2")]
    pub bitset: Vec<u64>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub utf8bitset: Option<Vec<u8>>,
}

/// The encrypted columns of a file and their keys.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Encryption {
    #[prost(message, repeated, tag = "1")]
    pub mask: Vec<DataMask>,
    #[prost(message, repeated, tag = "2")]
    pub key: Vec<EncryptionKey>,
    #[prost(message, repeated, tag = "3")]
    pub variants: Vec<EncryptionVariant>,
    #[prost(enumeration = "KeyProviderKind", optional, tag = "4")]
    pub key_provider: Option<i32>,
}

/// How the unencrypted variant of columns was masked.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DataMask {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(string, repeated, tag = "2")]
    pub mask_parameters: Vec<String>,
    #[prost(uint32, repeated, packed = "true", tag = "3")]
    pub columns: Vec<u32>,
}

/// The name and version of a master key.
#[derive(Clone, PartialEq, prost::Message)]
pub struct EncryptionKey {
    #[prost(string, optional, tag = "1")]
    pub key_name: Option<String>,
    #[prost(uint32, optional, tag = "2")]
    pub key_version: Option<u32>,
    #[prost(enumeration = "EncryptionAlgorithm", optional, tag = "3")]
    pub algorithm: Option<i32>,
}

/// A column tree that is encrypted with one key.
#[derive(Clone, PartialEq, prost::Message)]
pub struct EncryptionVariant {
    #[prost(uint32, optional, tag = "1")]
    pub root: Option<u32>,
    #[prost(uint32, optional, tag = "2")]
    pub key: Option<u32>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub encrypted_key: Option<Vec<u8>>,
    #[prost(message, repeated, tag = "4")]
    pub stripe_statistics: Vec<Stream>,
    #[prost(bytes = "vec", optional, tag = "5")]
    pub file_statistics: Option<Vec<u8>>,
}
