package lakerace.spark;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** A column over the addresses of an {@code ArrowArray}. Only values that Spark requests as bytes are copied. */
final class NativeColumn extends ColumnVector {
  // Offsets in `struct ArrowArray`.
  private static final int NULLS = 8;
  private static final int OFFSET = 16;
  private static final int BUFFERS = 40;
  private static final int CHILDREN = 48;
  private static final int DICTIONARY = 56;

  /** A text of up to this many bytes is stored in its view. */
  private static final int INLINE_BYTES = 12;

  private static final int VIEW_BYTES = 16;

  private final NativeType column;
  /** The owner of the memory; null for columns inside of others. */
  private final Batch batch;
  /** Values before the first one. */
  private final long first;
  private final long nulls;
  private final long validity;
  private final long data;
  /** Bytes of texts, or the buffers of views. */
  private final long more;
  private final NativeColumn[] children;
  private final NativeColumn dictionary;
  private boolean isClosed;

  /**
   * Creates a column.
   *
   * @param type the type that Spark sees; fields of a struct may be left out
   * @param array the address of its {@code ArrowArray}
   * @param shift values of the surrounding column before its first one
   */
  NativeColumn(DataType type, NativeType column, long array, long shift, Batch batch) {
    super(type);
    this.column = column;
    this.batch = batch;
    this.first = Platform.getLong(null, array + OFFSET) + shift;
    this.nulls = Platform.getLong(null, array + NULLS);
    long buffers = Platform.getLong(null, array + BUFFERS);
    boolean isNull = column.layout == NativeType.Layout.NULL;
    this.validity = isNull || nulls == 0 ? 0 : Platform.getLong(null, buffers);
    this.data = hasData() ? Platform.getLong(null, buffers + 8) : 0;
    switch (column.layout) {
      case TEXT:
      case LARGE_TEXT:
        this.more = column.dictionary == null ? Platform.getLong(null, buffers + 16) : 0;
        break;
      default:
        this.more = buffers + 16;
    }
    long values = Platform.getLong(null, array + DICTIONARY);
    this.dictionary = column.dictionary == null ? null : new NativeColumn(type, column.dictionary, values, 0, null);
    this.children = children(type, Platform.getLong(null, array + CHILDREN));
  }

  private boolean hasData() {
    switch (column.layout) {
      case NULL:
      case STRUCT:
      case FIXED_LIST:
        return false;
      default:
        return true;
    }
  }

  private NativeColumn[] children(DataType type, long addresses) {
    switch (column.layout) {
      case STRUCT:
        StructField[] fields = ((StructType) type).fields();
        NativeColumn[] found = new NativeColumn[fields.length];
        for (int at = 0; at < fields.length; at++) {
          found[at] = child(fields[at].dataType(), column.place(fields[at].name(), at), addresses, first);
        }
        return found;
      case LIST:
      case LARGE_LIST:
      case FIXED_LIST:
        return new NativeColumn[] {child(((ArrayType) type).elementType(), 0, addresses, 0)};
      case MAP:
        MapType map = (MapType) type;
        StructType entry = new StructType().add("key", map.keyType(), false).add("value", map.valueType());
        long entries = Platform.getLong(null, addresses);
        return new NativeColumn[] {new NativeColumn(entry, column.children[0], entries)};
      default:
        return new NativeColumn[0];
    }
  }

  private NativeColumn child(DataType type, int at, long addresses, long shift) {
    return new NativeColumn(type, column.children[at], Platform.getLong(null, addresses + 8L * at), shift, null);
  }

  /** The entries of a map: keys and values by their positions, independent of their names. */
  private NativeColumn(StructType entry, NativeType column, long array) {
    super(entry);
    this.column = column;
    this.batch = null;
    this.first = Platform.getLong(null, array + OFFSET);
    this.nulls = 0;
    this.validity = 0;
    this.data = 0;
    this.more = 0;
    this.dictionary = null;
    long addresses = Platform.getLong(null, array + CHILDREN);
    this.children = new NativeColumn[] {
      child(entry.fields()[0].dataType(), 0, addresses, first), child(entry.fields()[1].dataType(), 1, addresses, first)
    };
  }

  @Override
  public void close() {
    if (!isClosed && batch != null) {
      isClosed = true;
      batch.columnClosed();
    }
  }

  @Override
  public boolean hasNull() {
    return nulls != 0 || dictionary != null || column.layout == NativeType.Layout.NULL;
  }

  @Override
  public int numNulls() {
    return column.layout == NativeType.Layout.NULL || nulls < 0 ? Integer.MAX_VALUE : (int) nulls;
  }

  @Override
  public boolean isNullAt(int row) {
    if (validity != 0) {
      long at = first + row;
      if ((Platform.getByte(null, validity + (at >> 3)) >> (at & 7) & 1) == 0) {
        return true;
      }
    }
    return dictionary != null ? dictionary.isNullAt(index(row)) : column.layout == NativeType.Layout.NULL;
  }

  /** The index of a value in the dictionary. */
  private int index(int row) {
    return (int) integer(row);
  }

  /** An integer of any width. */
  private long integer(int row) {
    long at = first + row;
    boolean isUnsigned = column.layout == NativeType.Layout.UNSIGNED;
    switch (column.width) {
      case 1:
        byte small = Platform.getByte(null, data + at);
        return isUnsigned ? small & 0xff : small;
      case 2:
        short middle = Platform.getShort(null, data + 2 * at);
        return isUnsigned ? middle & 0xffff : middle;
      case 4:
        int plain = Platform.getInt(null, data + 4 * at);
        return isUnsigned ? plain & 0xffffffffL : plain;
      default:
        return Platform.getLong(null, data + 8 * at);
    }
  }

  @Override
  public boolean getBoolean(int row) {
    if (dictionary != null) {
      return dictionary.getBoolean(index(row));
    }
    long at = first + row;
    return (Platform.getByte(null, data + (at >> 3)) >> (at & 7) & 1) != 0;
  }

  @Override
  public byte getByte(int row) {
    return dictionary != null ? dictionary.getByte(index(row)) : Platform.getByte(null, data + first + row);
  }

  @Override
  public short getShort(int row) {
    return dictionary != null ? dictionary.getShort(index(row)) : (short) integer(row);
  }

  @Override
  public int getInt(int row) {
    return dictionary != null ? dictionary.getInt(index(row)) : (int) integer(row);
  }

  @Override
  public long getLong(int row) {
    if (dictionary != null) {
      return dictionary.getLong(index(row));
    }
    if (column.layout != NativeType.Layout.TIME) {
      return integer(row);
    }
    long time = Platform.getLong(null, data + 8 * (first + row));
    long units = column.perMicrosecond;
    return units == 1 ? time : units > 0 ? Math.floorDiv(time, units) : Math.multiplyExact(time, -units);
  }

  @Override
  public float getFloat(int row) {
    return dictionary != null ? dictionary.getFloat(index(row)) : Platform.getFloat(null, data + 4 * (first + row));
  }

  @Override
  public double getDouble(int row) {
    return dictionary != null ? dictionary.getDouble(index(row)) : Platform.getDouble(null, data + 8 * (first + row));
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    if (dictionary != null) {
      return isNullAt(row) ? null : dictionary.getDecimal(index(row), precision, scale);
    }
    if (isNullAt(row)) {
      return null;
    }
    long address = data + column.width * (first + row);
    if (column.width == 4) {
      return Decimal.createUnsafe(Platform.getInt(null, address), precision, scale);
    }
    if (column.width == 8 || precision <= Decimal.MAX_LONG_DIGITS()) {
      // The less significant half comes first.
      return Decimal.createUnsafe(Platform.getLong(null, address), precision, scale);
    }
    byte[] digits = new byte[16];
    for (int at = 0; at < 16; at++) {
      digits[15 - at] = Platform.getByte(null, address + at);
    }
    return Decimal.apply(new BigDecimal(new BigInteger(digits), scale), precision, scale);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    if (isNullAt(row)) {
      return null;
    }
    if (dictionary != null) {
      return dictionary.getUTF8String(index(row));
    }
    return UTF8String.fromAddress(null, address(row), length(row));
  }

  @Override
  public byte[] getBinary(int row) {
    if (isNullAt(row)) {
      return null;
    }
    if (dictionary != null) {
      return dictionary.getBinary(index(row));
    }
    byte[] bytes = new byte[length(row)];
    Platform.copyMemory(null, address(row), bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
    return bytes;
  }

  /** Bytes of a text or binary value. */
  private int length(int row) {
    long at = first + row;
    switch (column.layout) {
      case TEXT:
        return Platform.getInt(null, data + 4 * at + 4) - Platform.getInt(null, data + 4 * at);
      case LARGE_TEXT:
        return Math.toIntExact(Platform.getLong(null, data + 8 * at + 8) - Platform.getLong(null, data + 8 * at));
      case VIEW:
        return Platform.getInt(null, data + VIEW_BYTES * at);
      default:
        return column.width;
    }
  }

  /** The address of the bytes of a text or binary value. */
  private long address(int row) {
    long at = first + row;
    switch (column.layout) {
      case TEXT:
        return more + Platform.getInt(null, data + 4 * at);
      case LARGE_TEXT:
        return more + Platform.getLong(null, data + 8 * at);
      case VIEW:
        long view = data + VIEW_BYTES * at;
        if (Platform.getInt(null, view) <= INLINE_BYTES) {
          return view + 4;
        }
        return Platform.getLong(null, more + 8L * Platform.getInt(null, view + 8)) + Platform.getInt(null, view + 12);
      default:
        return data + column.width * at;
    }
  }

  /** The start of a list in the values of all lists. */
  private long begin(long at) {
    switch (column.layout) {
      case LARGE_LIST:
        return Platform.getLong(null, data + 8 * at);
      case FIXED_LIST:
        return at * column.width;
      default:
        return Platform.getInt(null, data + 4 * at);
    }
  }

  @Override
  public ColumnarArray getArray(int row) {
    if (isNullAt(row)) {
      return null;
    }
    long begin = begin(first + row);
    return new ColumnarArray(children[0], Math.toIntExact(begin), Math.toIntExact(begin(first + row + 1) - begin));
  }

  @Override
  public ColumnarMap getMap(int row) {
    if (isNullAt(row)) {
      return null;
    }
    long begin = begin(first + row);
    int length = Math.toIntExact(begin(first + row + 1) - begin);
    NativeColumn entries = children[0];
    return new ColumnarMap(entries.children[0], entries.children[1], Math.toIntExact(begin), length);
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    return children[ordinal];
  }
}
