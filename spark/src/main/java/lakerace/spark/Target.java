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
