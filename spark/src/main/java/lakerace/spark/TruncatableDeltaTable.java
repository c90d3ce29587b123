package lakerace.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.TruncatableTable;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** A Delta table whose rows can be removed at once. Where Spark knows that, it does not rewrite {@code DELETE} without a condition. */
final class TruncatableDeltaTable extends DeltaTable implements TruncatableTable {
  TruncatableDeltaTable(String location, Map<String, String> options, StructType schema, Plan plan) {
    super(location, options, schema, plan);
  }

  /** Copies a table. */
  private TruncatableDeltaTable(TruncatableDeltaTable other) {
    super(other);
  }

  @Override
  LakeraceTable strict() {
    return new TruncatableDeltaTable(this);
  }

  /** Handles {@code TRUNCATE TABLE}, and {@code DELETE} without a condition. */
  @Override
  public boolean truncateTable() {
    Map<String, String> all = new HashMap<>(options);
    putVersion("write.version", all.remove("at"), all);
    all.put("write.truncates", "true");
    new DriverCommit(location, all, schema()).commit(new WriterCommitMessage[0]);
    return true;
  }
}
