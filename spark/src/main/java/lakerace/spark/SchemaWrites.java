package lakerace.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Writes whose rows have other columns than their table, by the options {@code mergeSchema} and {@code overwriteSchema}. */
final class SchemaWrites {
  /** The option that adds the columns of the rows to the table. */
  static final String MERGE = "mergeschema";

  /** The option by which the columns of the rows replace those of the table. */
  static final String OVERWRITE = "overwriteschema";

  /** The planned columns, for tasks and the commit. */
  static final String PLANNED = "write.planned";

  private SchemaWrites() {}

  /** Returns true if an option is set. */
  static boolean isSet(Map<String, String> options, String name) {
    String value = options.get(name);
    if (value == null || value.equalsIgnoreCase("false")) {
      return false;
    }
    if (!value.equalsIgnoreCase("true")) {
      throw LakeraceException.usage("option \"" + (name.equals(MERGE) ? "mergeSchema" : "overwriteSchema") + "\" is " + value + ": give true or false");
    }
    return true;
  }

  /** Checks that the options agree. */
  static void check(Map<String, String> options) {
    if (isSet(options, MERGE) && isSet(options, OVERWRITE)) {
      throw LakeraceException.usage("option \"mergeSchema\" adds columns to those of the table, and option \"overwriteSchema\" replaces these: omit one of"
          + " them");
    }
  }

  /** Fails where a read has an option of writes. */
  static void checkRead(Map<String, String> options) {
    if (isSet(options, MERGE) || isSet(options, OVERWRITE)) {
      throw LakeraceException.usage("the options \"mergeSchema\" and \"overwriteSchema\" are for writes: omit them when reading");
    }
  }

  /** The table as a write by its location finds it: with the columns that the options give it. */
  static Target target(String location, Map<String, String> options, Target known, StructType rows, Transform[] partitioning) {
    check(options);
    if (isSet(options, MERGE)) {
      boolean isLater = WriteRule.isActive() && !options.containsKey("key");
      return isLater ? known : merged(location, options, known.schema, rows);
    }
    return isSet(options, OVERWRITE) ? replaced(location, options, rows, LakeraceTable.columnsOf(partitioning)) : known;
  }

  /** The table with the columns of rows that it lacks; fails for a column whose type is another one. */
  static Target merged(String location, Map<String, String> options, StructType table, StructType rows) {
    StructType named = (StructType) spelled(CharVarcharUtils.replaceCharVarcharWithStringInSchema(rows), table);
    Target target = Target.merged(location, options, named);
    for (StructField field : named.fields()) {
      StructField merged = target.schema.apply(field.name());
      String difference = difference(field.dataType(), merged.dataType(), field.name());
      if (difference != null) {
        throw LakeraceException.unsupported(Locations.shown(location) + ": the column " + difference
            + ": option \"mergeSchema\" adds columns, and does not change their types: cast the column").forAnalysis();
      }
    }
    return target;
  }

  /** The columns of a table with the changes that a statement makes {@code WITH SCHEMA EVOLUTION}. */
  static StructType changed(String location, StructType table, TableChange... changes) {
    StructType changed = table;
    for (TableChange change : changes) {
      if (change instanceof TableChange.AddColumn) {
        TableChange.AddColumn add = (TableChange.AddColumn) change;
        changed = (StructType) with(changed, add.fieldNames(), 0, add.dataType());
      } else if (change instanceof TableChange.UpdateColumnType) {
        TableChange.UpdateColumnType update = (TableChange.UpdateColumnType) change;
        changed = (StructType) with(changed, update.fieldNames(), 0, update.newDataType());
      } else {
        throw LakeraceException.unsupported(Locations.shown(location) + ": WITH SCHEMA EVOLUTION adds columns and widens types, and does nothing else ("
            + change.getClass().getSimpleName() + "): use ALTER TABLE").forAnalysis();
      }
    }
    return changed;
  }

  /** A type with a field of this type at a path. */
  private static DataType with(DataType type, String[] path, int depth, DataType field) {
    if (depth == path.length) {
      return field;
    }
    if (type instanceof ArrayType) {
      return new ArrayType(with(((ArrayType) type).elementType(), path, depth + 1, field), true);
    }
    if (type instanceof MapType) {
      MapType map = (MapType) type;
      boolean isKey = path[depth].equals("key");
      return new MapType(isKey ? with(map.keyType(), path, depth + 1, field) : map.keyType(),
          isKey ? map.valueType() : with(map.valueType(), path, depth + 1, field), true);
    }
    StructType struct = (StructType) type;
    String name = Locations.column(struct, path[depth]);
    if (name == null) {
      return struct.add(path[depth], field, true);
    }
    StructType changed = new StructType();
    for (StructField known : struct.fields()) {
      DataType inner = known.name().equals(name) ? with(known.dataType(), path, depth + 1, field) : known.dataType();
      changed = changed.add(new StructField(known.name(), inner, known.nullable(), known.metadata()));
    }
    return changed;
  }

  /** The table with the columns of rows in place of its own. */
  static Target replaced(String location, Map<String, String> options, StructType rows, String[] partitions) {
    Map<String, String> all = new HashMap<>(options);
    all.put("write.keeps_properties", "true");
    if (partitions.length > 0) {
      all.put("partition_by", String.join(",", partitions));
    }
    return Target.replaced(location, all, CharVarcharUtils.replaceCharVarcharWithStringInSchema(rows));
  }

  /** The name of a column of rows that a table lacks; null where it has all of them. */
  static String missing(StructType table, StructType rows) {
    for (StructField field : rows.fields()) {
      String name = Locations.column(table, field.name());
      String inner = name == null ? field.name() : missing(table.apply(name).dataType(), field.dataType(), field.name());
      if (inner != null) {
        return inner;
      }
    }
    return null;
  }

  private static String missing(DataType table, DataType rows, String path) {
    if (table instanceof StructType && rows instanceof StructType) {
      String inner = missing((StructType) table, (StructType) rows);
      return inner == null ? null : path + "." + inner;
    }
    if (table instanceof ArrayType && rows instanceof ArrayType) {
      return missing(((ArrayType) table).elementType(), ((ArrayType) rows).elementType(), path + ".element");
    }
    if (table instanceof MapType && rows instanceof MapType) {
      return missing(((MapType) table).valueType(), ((MapType) rows).valueType(), path + ".value");
    }
    return null;
  }

  /** A type of rows with the names of the table's fields in the table's spelling. */
  private static DataType spelled(DataType rows, DataType table) {
    if (rows instanceof StructType && table instanceof StructType) {
      StructType named = new StructType();
      for (StructField field : ((StructType) rows).fields()) {
        String name = Locations.column((StructType) table, field.name());
        DataType known = name == null ? null : ((StructType) table).apply(name).dataType();
        named = named.add(new StructField(name == null ? field.name() : name, spelled(field.dataType(), known), field.nullable(), field.metadata()));
      }
      return named;
    }
    if (rows instanceof ArrayType && table instanceof ArrayType) {
      return new ArrayType(spelled(((ArrayType) rows).elementType(), ((ArrayType) table).elementType()), ((ArrayType) rows).containsNull());
    }
    if (rows instanceof MapType && table instanceof MapType) {
      MapType map = (MapType) rows;
      MapType known = (MapType) table;
      return new MapType(spelled(map.keyType(), known.keyType()), spelled(map.valueType(), known.valueType()), map.valueContainsNull());
    }
    // Nulls without a type have that of the table.
    return rows instanceof NullType && table != null ? table : rows;
  }

  /** A text for the first part of a type whose values the type of the table does not hold; null where it holds all of them. */
  private static String difference(DataType rows, DataType table, String path) {
    if (rows instanceof StructType && table instanceof StructType) {
      for (StructField field : ((StructType) rows).fields()) {
        String inner = difference(field.dataType(), ((StructType) table).apply(field.name()).dataType(), path + "." + field.name());
        if (inner != null) {
          return inner;
        }
      }
      return null;
    }
    if (rows instanceof ArrayType && table instanceof ArrayType) {
      return difference(((ArrayType) rows).elementType(), ((ArrayType) table).elementType(), path + ".element");
    }
    if (rows instanceof MapType && table instanceof MapType) {
      String key = difference(((MapType) rows).keyType(), ((MapType) table).keyType(), path + ".key");
      return key != null ? key : difference(((MapType) rows).valueType(), ((MapType) table).valueType(), path + ".value");
    }
    boolean isWider = rows.equals(table) || rows instanceof NumericType && table instanceof NumericType && Cast.canUpCast(rows, table);
    return isWider ? null : "\"" + path + "\" is " + table.sql() + " in the table, and " + rows.sql() + " in the rows";
  }
}
