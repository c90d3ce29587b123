package lakerace.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The fields of structs that a query uses, where it does not use all. Structs may be list items and map values. */
final class FieldPaths {
  private FieldPaths() {}

  /**
   * The paths of the wanted fields, for columns of which a query wants only a part, in the engine's syntax; empty where
   * all columns are wanted whole.
   */
  static String text(StructType table, StructType wanted) {
    List<String> paths = new ArrayList<>();
    for (StructField column : wanted.fields()) {
      StructField found = field(table, column.name());
      if (found != null && isPart(found.dataType(), column.dataType())) {
        add(column.name(), found.dataType(), column.dataType(), paths);
      }
    }
    return String.join(String.valueOf(Native.NAME), paths);
  }

  /**
   * Returns true if a type lacks fields of another one. A type with additional fields, or with lists in place of maps,
   * is no part of it.
   */
  private static boolean isPart(DataType whole, DataType part) {
    return isWithin(whole, part) && lacksFields(whole, part);
  }

  /** Returns true if a type equals another one, or lacks only some fields of its structs. */
  static boolean isWithin(DataType whole, DataType part) {
    if (whole instanceof ArrayType && part instanceof ArrayType) {
      return isWithin(((ArrayType) whole).elementType(), ((ArrayType) part).elementType());
    }
    if (whole instanceof MapType && part instanceof MapType) {
      return isWithin(((MapType) whole).keyType(), ((MapType) part).keyType())
          && isWithin(((MapType) whole).valueType(), ((MapType) part).valueType());
    }
    if (whole instanceof StructType && part instanceof StructType) {
      for (StructField field : ((StructType) part).fields()) {
        StructField found = field((StructType) whole, field.name());
        if (found == null || !isWithin(found.dataType(), field.dataType())) {
          return false;
        }
      }
      return true;
    }
    return whole.equals(part);
  }

  private static boolean lacksFields(DataType whole, DataType part) {
    if (whole instanceof ArrayType) {
      return lacksFields(((ArrayType) whole).elementType(), ((ArrayType) part).elementType());
    }
    if (whole instanceof MapType) {
      return lacksFields(((MapType) whole).valueType(), ((MapType) part).valueType());
    }
    if (whole instanceof StructType) {
      StructField[] fields = ((StructType) part).fields();
      return fields.length < ((StructType) whole).length()
          || Arrays.stream(fields).anyMatch(field -> lacksFields(field((StructType) whole, field.name()).dataType(), field.dataType()));
    }
    return false;
  }

  /** Adds a path to each field of a part; for a struct without fields, the path to itself. */
  private static void add(String path, DataType whole, DataType part, List<String> paths) {
    if (whole instanceof ArrayType) {
      add(path, ((ArrayType) whole).elementType(), ((ArrayType) part).elementType(), paths);
    } else if (whole instanceof MapType) {
      add(path, ((MapType) whole).valueType(), ((MapType) part).valueType(), paths);
    } else if (whole instanceof StructType && lacksFields(whole, part) && ((StructType) part).length() > 0) {
      for (StructField field : ((StructType) part).fields()) {
        add(path + Native.STEP + field.name(), field((StructType) whole, field.name()).dataType(), field.dataType(), paths);
      }
    } else {
      paths.add(path);
    }
  }

  /** The field of a name, case-sensitively; null where there is none. */
  private static StructField field(StructType type, String name) {
    int at = Arrays.asList(type.fieldNames()).indexOf(name);
    return at < 0 ? null : type.fields()[at];
  }
}
