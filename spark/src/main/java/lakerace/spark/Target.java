package lakerace.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** The existing table or files at the location of a write. */
final class Target {
  /** The version of a Delta table, else null. */
  final String version;
  /** Its columns. */
  final StructType schema;
  /** The columns that its files are divided by. */
  final String[] partitions;
  /** Its properties. */
  final Map<String, String> properties;
  /** Its id. */
  final String tableId;
  /** The columns that a write changes, for its tasks and its commit; empty where it changes none. */
  final String planned;
  /** The distribution of rows over tasks: {@code none}, {@code hash} or {@code ranges}. */
  final String distribution;

  private Target(String[] records) {
    boolean isTable = records[0].equals("table");
    this.distribution = records[1];
    this.version = isTable ? records[2] : null;
    this.schema = isTable ? (StructType) DataType.fromJson(records[3]) : null;
    this.partitions = isTable && !records[5].isEmpty() ? records[5].split(String.valueOf(Native.UNIT)) : new String[0];
    this.properties = Plan.properties(isTable ? records[6] : "");
    this.tableId = isTable ? records[7] : "";
    this.planned = isTable ? records[8] : "";
  }

  /** The table with the columns of rows that it lacks. */
  static Target merged(String location, Map<String, String> options, StructType rows) {
    Map<String, String> asked = new HashMap<>(options);
    asked.put("write.merges", rows.json());
    return of(location, asked);
  }

  /** The table with other columns, and with the partition columns and properties of the options. */
  static Target replaced(String location, Map<String, String> options, StructType columns) {
    Map<String, String> asked = new HashMap<>(options);
    asked.put("write.replaces_schema", columns.json());
    return of(location, asked);
  }

  static Target of(String location, Map<String, String> options) {
    Map<String, String> asked = new HashMap<>(options);
    asked.put("write.ignores_case", String.valueOf(Locations.ignoresCase()));
    try {
      return new Target(Native.records(Native.target(Native.bytes(location), Native.options(asked))));
    } catch (NativeException error) {
      throw error.forSpark().forAnalysis();
    }
  }
}
