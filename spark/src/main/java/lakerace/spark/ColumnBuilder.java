package lakerace.spark;

import java.math.BigInteger;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Spark rows as a column in off-heap memory, from which native code copies it. */
final class ColumnBuilder {
  private static final int DECIMAL_BYTES = 16;

  /** The representation of a value. */
  private enum Kind {
    BYTE, SHORT, INT, LONG, FLOAT, DOUBLE, BOOLEAN, DECIMAL, BYTES, LIST, MAP, STRUCT
  }

  private final DataType type;
  private final Kind kind;
  private final Memory valid = new Memory();
  private final Memory values = new Memory();
  /** Bytes of texts. */
  private final Memory bytes = new Memory();
  private final ColumnBuilder[] children;
  /** Bytes of texts that all columns of the rows have copied, in one shared counter. */
  private final long[] copied;
  private int length;
  private boolean hasNull;
  /** Values of lists and maps, or bytes of texts so far. */
  private int end;

  ColumnBuilder(DataType type, long[] copied) {
    this.type = type;
    this.copied = copied;
    this.kind = kind(type);
    this.children = children(type, copied);
    if (isSpanned()) {
      values.putInt(0);
    }
  }

  private static Kind kind(DataType type) {
    if (type instanceof BooleanType) {
      return Kind.BOOLEAN;
    } else if (type instanceof ByteType) {
      return Kind.BYTE;
    } else if (type instanceof ShortType) {
      return Kind.SHORT;
    } else if (type instanceof IntegerType || type instanceof DateType) {
      return Kind.INT;
    } else if (type instanceof FloatType) {
      return Kind.FLOAT;
    } else if (type instanceof DoubleType) {
      return Kind.DOUBLE;
    } else if (type instanceof DecimalType) {
      return Kind.DECIMAL;
    } else if (type instanceof ArrayType) {
      return Kind.LIST;
    } else if (type instanceof MapType) {
      return Kind.MAP;
    } else if (type instanceof StructType) {
      return Kind.STRUCT;
    }
    // Timestamps are microseconds; native code refuses types that it does not know.
    String name = type.typeName();
    return type instanceof BinaryType || name.startsWith("string") || name.contains("char") ? Kind.BYTES : Kind.LONG;
  }

  private static ColumnBuilder[] children(DataType type, long[] copied) {
    if (type instanceof ArrayType) {
      return new ColumnBuilder[] {new ColumnBuilder(((ArrayType) type).elementType(), copied)};
    }
    if (type instanceof MapType) {
      return new ColumnBuilder[] {new ColumnBuilder(((MapType) type).keyType(), copied), new ColumnBuilder(((MapType) type).valueType(), copied)};
    }
    if (!(type instanceof StructType)) {
      return new ColumnBuilder[0];
    }
    StructField[] fields = ((StructType) type).fields();
    ColumnBuilder[] made = new ColumnBuilder[fields.length];
    for (int at = 0; at < fields.length; at++) {
      made[at] = new ColumnBuilder(fields[at].dataType(), copied);
    }
    return made;
  }

  /** Returns true if each value stores its end. */
  private boolean isSpanned() {
    return kind == Kind.BYTES || kind == Kind.LIST || kind == Kind.MAP;
  }

  /** Appends a value of a row or an array. */
  void append(SpecializedGetters row, int at) {
    length++;
    if (row.isNullAt(at)) {
      appendNull();
      return;
    }
    valid.putByte((byte) 1);
    switch (kind) {
      case BYTE:
        values.putByte(row.getByte(at));
        break;
      case SHORT:
        values.putShort(row.getShort(at));
        break;
      case INT:
        values.putInt(row.getInt(at));
        break;
      case LONG:
        values.putLong(row.getLong(at));
        break;
      case FLOAT:
        values.putFloat(row.getFloat(at));
        break;
      case DOUBLE:
        values.putDouble(row.getDouble(at));
        break;
      case BOOLEAN:
        values.putByte((byte) (row.getBoolean(at) ? 1 : 0));
        break;
      default:
        appendLong(row, at);
    }
  }

  /** A value wider than a machine word. */
  private void appendLong(SpecializedGetters row, int at) {
    switch (kind) {
      case DECIMAL:
        DecimalType decimal = (DecimalType) type;
        appendDecimal(row.getDecimal(at, decimal.precision(), decimal.scale()).toJavaBigDecimal().setScale(decimal.scale()).unscaledValue());
        break;
      case BYTES:
        if (type instanceof BinaryType) {
          byte[] binary = row.getBinary(at);
          bytes.put(binary, Platform.BYTE_ARRAY_OFFSET, binary.length);
          end = Math.addExact(end, binary.length);
          copied[0] += binary.length;
        } else {
          UTF8String text = row.getUTF8String(at);
          bytes.put(text.getBaseObject(), text.getBaseOffset(), text.numBytes());
          end = Math.addExact(end, text.numBytes());
          copied[0] += text.numBytes();
        }
        values.putInt(end);
        break;
      case LIST:
        appendAll(children[0], row.getArray(at));
        end = Math.addExact(end, row.getArray(at).numElements());
        values.putInt(end);
        break;
      case MAP:
        MapData map = row.getMap(at);
        appendAll(children[0], map.keyArray());
        appendAll(children[1], map.valueArray());
        end = Math.addExact(end, map.numElements());
        values.putInt(end);
        break;
      default:
        InternalRow struct = row.getStruct(at, children.length);
        for (int field = 0; field < children.length; field++) {
          children[field].append(struct, field);
        }
    }
  }

  private static void appendAll(ColumnBuilder column, ArrayData array) {
    for (int at = 0; at < array.numElements(); at++) {
      column.append(array, at);
    }
  }

  private void appendDecimal(BigInteger value) {
    values.putLong(value.longValue());
    values.putLong(value.shiftRight(Long.SIZE).longValue());
  }

  private void appendNull() {
    hasNull = true;
    valid.putByte((byte) 0);
    if (isSpanned()) {
      values.putInt(end);
    } else if (kind == Kind.STRUCT) {
      for (ColumnBuilder child : children) {
        child.length++;
        child.appendNull();
      }
    } else {
      values.skip(width());
    }
  }

  private int width() {
    switch (kind) {
      case BYTE:
      case BOOLEAN:
        return 1;
      case SHORT:
        return 2;
      case INT:
      case FLOAT:
        return 4;
      case DECIMAL:
        return DECIMAL_BYTES;
      default:
        return 8;
    }
  }

  /** Appends the words that native code reads, first the column's own and then those of its children. */
  void describe(Words words) {
    words.put(length);
    words.put(hasNull ? valid.address() : 0);
    if (kind != Kind.STRUCT) {
      words.put(values.address());
    }
    if (kind == Kind.BYTES) {
      words.put(bytes.address());
    }
    for (ColumnBuilder child : children) {
      child.describe(words);
    }
  }

  /** Bytes of the column's buffers. */
  long size() {
    long size = valid.size() + values.size() + bytes.size();
    for (ColumnBuilder child : children) {
      size += child.size();
    }
    return size;
  }

  /** Removes the rows; the memory is used again. */
  void clear() {
    length = 0;
    end = 0;
    hasNull = false;
    valid.clear();
    values.clear();
    bytes.clear();
    if (isSpanned()) {
      values.putInt(0);
    }
    for (ColumnBuilder child : children) {
      child.clear();
    }
  }

  void free() {
    valid.free();
    values.free();
    bytes.free();
    for (ColumnBuilder child : children) {
      child.free();
    }
  }
}
