package lakerace.spark;

import java.nio.charset.StandardCharsets;
import org.apache.spark.unsafe.Platform;

/** A type of the Arrow C data interface, as described by {@code ArrowSchema}. */
final class NativeType {
  /** The layout of values in memory. */
  enum Layout {
    NULL, BOOLEAN, INTEGER, UNSIGNED, FLOAT, DOUBLE, DECIMAL, TIME, TEXT, LARGE_TEXT, VIEW, FIXED_BYTES, LIST, LARGE_LIST, FIXED_LIST, STRUCT,
    MAP
  }

  // Offsets in `struct ArrowSchema`.
  private static final int NAME = 8;
  private static final int CHILD_COUNT = 32;
  private static final int CHILDREN = 40;
  private static final int DICTIONARY = 48;

  final String name;
  final Layout layout;
  /** Bytes of a value, or the values of a list of fixed size. */
  final int width;
  /** Units of time in a microsecond where positive, microseconds in a unit where negative. */
  final long perMicrosecond;
  final NativeType[] children;
  /** The type of the values of a dictionary, where these are its indices, else null. */
  final NativeType dictionary;

  /** Reads a type at an address. */
  NativeType(long address) {
    String format = text(Platform.getLong(null, address));
    this.name = text(Platform.getLong(null, address + NAME));
    this.children = new NativeType[(int) Platform.getLong(null, address + CHILD_COUNT)];
    long first = Platform.getLong(null, address + CHILDREN);
    for (int at = 0; at < children.length; at++) {
      children[at] = new NativeType(Platform.getLong(null, first + 8L * at));
    }
    long values = Platform.getLong(null, address + DICTIONARY);
    this.dictionary = values == 0 ? null : new NativeType(values);
    this.layout = layout(format);
    this.width = width(format, layout);
    this.perMicrosecond = perMicrosecond(format);
  }

  /** The position of a child, usually the expected one: the ids of rows follow the other columns. */
  int place(String child, int expected) {
    if (expected < children.length && children[expected].name.equals(child)) {
      return expected;
    }
    for (int at = 0; at < children.length; at++) {
      if (children[at].name.equals(child)) {
        return at;
      }
    }
    throw new IllegalStateException("there is no column " + child);
  }

  private static String text(long address) {
    if (address == 0) {
      return "";
    }
    int length = 0;
    while (Platform.getByte(null, address + length) != 0) {
      length++;
    }
    byte[] bytes = new byte[length];
    Platform.copyMemory(null, address, bytes, Platform.BYTE_ARRAY_OFFSET, length);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static Layout layout(String format) {
    switch (format.charAt(0)) {
      case 'n':
        return Layout.NULL;
      case 'b':
        return Layout.BOOLEAN;
      case 'c':
      case 's':
      case 'i':
      case 'l':
        return Layout.INTEGER;
      case 'C':
      case 'S':
      case 'I':
        return Layout.UNSIGNED;
      case 'f':
        return Layout.FLOAT;
      case 'g':
        return Layout.DOUBLE;
      case 'd':
        return Layout.DECIMAL;
      case 'u':
      case 'z':
        return Layout.TEXT;
      case 'U':
      case 'Z':
        return Layout.LARGE_TEXT;
      case 'v':
        return Layout.VIEW;
      case 'w':
        return Layout.FIXED_BYTES;
      case 't':
        return format.startsWith("tdD") ? Layout.INTEGER : Layout.TIME;
      default:
        return nested(format);
    }
  }

  private static Layout nested(String format) {
    switch (format.length() > 1 ? format.charAt(1) : ' ') {
      case 'l':
        return Layout.LIST;
      case 'L':
        return Layout.LARGE_LIST;
      case 'w':
        return Layout.FIXED_LIST;
      case 's':
        return Layout.STRUCT;
      case 'm':
        return Layout.MAP;
      default:
        throw LakeraceException.unsupported("lakerace has no vector for the Arrow format " + format);
    }
  }

  private static int width(String format, Layout layout) {
    switch (layout) {
      case FIXED_BYTES:
        return Integer.parseInt(format.substring(2));
      case FIXED_LIST:
        return Integer.parseInt(format.substring(3));
      case DECIMAL:
        String[] parts = format.substring(2).split(",");
        return parts.length > 2 ? Integer.parseInt(parts[2]) / 8 : 16;
      case INTEGER:
      case UNSIGNED:
        switch (Character.toLowerCase(format.charAt(0))) {
          case 'c':
            return 1;
          case 's':
            return 2;
          case 'l':
            return 8;
          default:
            return 4;
        }
      default:
        return 8;
    }
  }

  private static long perMicrosecond(String format) {
    if (format.length() < 3 || format.charAt(0) != 't') {
      return 1;
    }
    switch (format.charAt(2)) {
      case 'n':
        return 1000;
      case 'm':
        return -1000;
      case 's':
        return -1_000_000;
      default:
        return 1;
    }
  }
}
