package lakerace.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.StagedTable;

/** A table that {@code CREATE TABLE ... AS SELECT} has created, and writes to. If the write fails, it is removed. */
final class StagedDeltaTable extends LakeraceTable implements StagedTable {
  StagedDeltaTable(LakeraceTable made) {
    super(made);
  }

  /** The rows have been committed by their write. */
  @Override
  public void commitStagedChanges() {}

  /** Removes the table if it has no rows, and no one else has written to it. */
  @Override
  public void abortStagedChanges() {
    Map<String, String> all = new HashMap<>(options);
    all.put("write.made", "true");
    try {
      Native.discard(Native.bytes(location), Native.options(all), new byte[0]);
    } catch (NativeException error) {
      throw error.forSpark();
    }
  }
}
