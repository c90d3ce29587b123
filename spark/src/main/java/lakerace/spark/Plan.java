package lakerace.spark;

import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The engine's plan of a read: its schema, its size and its tasks. */
final class Plan {
  private static final int HEAD = 10;

  final StructType schema;
  /** Columns whose comparisons have the same meaning in the engine and in Spark. */
  private final Map<String, Boolean> isExact = new HashMap<>();
  /** The version of a Delta table; empty for files. */
  final String version;
  final OptionalLong bytes;
  final OptionalLong rows;
  final String summary;
  /** The columns that a table's files are divided by. */
  final String[] partitions;
  /** The properties of a table. */
  final Map<String, String> properties;
  /** The id of a table; empty for files. */
  final String tableId;
  /** The part of the plan that the tasks of a table share; empty for files. */
  final String shared;
  final List<String> tasks;

  private Plan(String[] records) {
    this.schema = (StructType) DataType.fromJson(records[0]);
    String[] filtering = records[1].split(String.valueOf(Native.UNIT), -1);
    StructField[] fields = schema.fields();
    for (int at = 0; at < fields.length; at++) {
      isExact.put(fields[at].name(), filtering[at].equals("exact"));
    }
    this.version = records[2];
    this.bytes = number(records[3]);
    this.rows = number(records[4]);
    this.summary = records[5];
    this.partitions = records[6].isEmpty() ? new String[0] : records[6].split(String.valueOf(Native.UNIT));
    this.properties = properties(records[7]);
    this.tableId = records[8];
    this.shared = records[9];
    this.tasks = Arrays.asList(records).subList(HEAD, records.length);
  }

  /** Properties by name, from alternating names and values. */
  static Map<String, String> properties(String record) {
    Map<String, String> properties = new TreeMap<>();
    String[] named = record.isEmpty() ? new String[0] : record.split(String.valueOf(Native.UNIT), -1);
    for (int at = 0; at + 1 < named.length; at += 2) {
      properties.put(named[at], named[at + 1]);
    }
    return properties;
  }

  static Plan of(String location, Map<String, String> options) {
    try {
      return new Plan(Native.records(Native.plan(Native.bytes(location), Native.options(options))));
    } catch (NativeException error) {
      throw error.forSpark().forAnalysis();
    }
  }

  /** The number of all rows; where no log contains it, footers are read. */
  static OptionalLong rows(String location, Map<String, String> options) {
    Map<String, String> query = new HashMap<>(options);
    query.put("query.rows", "true");
    return of(location, query).rows;
  }

  /**
   * The least and the greatest values of columns, as integers separated by {@link Native#UNIT}; an empty text where
   * metadata lack them.
   */
  static List<String> extremes(String location, Map<String, String> options, Collection<String> columns) {
    Map<String, String> query = new HashMap<>(options);
    query.put("query.extremes", String.join(String.valueOf(Native.NAME), columns));
    return of(location, query).tasks;
  }

  /** Returns true if comparisons with a column can be left to the engine; null where there is no such column. */
  Boolean isExact(String column) {
    return isExact.get(column);
  }

  private static OptionalLong number(String text) {
    return text.isEmpty() ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(text));
  }
}
