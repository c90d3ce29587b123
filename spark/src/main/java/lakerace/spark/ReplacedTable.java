package lakerace.spark;

import java.util.Arrays;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * A table whose rows {@code REPLACE TABLE}, or {@code saveAsTable} in overwrite mode, replaces in one commit. It keeps
 * its columns and partitions.
 */
final class ReplacedTable extends LakeraceTable implements StagedTable {
  private final TruncatableDeltaTable table;
  private boolean isWritten;

  /** Fails where the new table differs from the old one in more than its rows. */
  ReplacedTable(TruncatableDeltaTable table, StructType schema, Transform[] partitioning, Map<String, String> properties) {
    super(table);
    this.table = table;
    checkColumns(schema);
    String[] wanted = columnsOf(partitioning);
    String[] known = columnsOf(table.partitioning());
    if (!Arrays.equals(wanted, known)) {
      throw refused("it is partitioned by (" + String.join(", ", known) + "), and the new one by (" + String.join(", ", wanted) + ")");
    }
    Map<String, String> logged = table.loggedProperties();
    properties.forEach((name, value) -> {
      if (!LakeraceCatalog.OF_SPARK.contains(name) && !value.equals(logged.get(name))) {
        throw refused("its property " + name + " is " + logged.getOrDefault(name, "not set") + ", and that of the new one " + value);
      }
    });
  }

  private void checkColumns(StructType schema) {
    StructField[] known = table.schema().fields();
    StructField[] wanted = schema.fields();
    boolean isSame = known.length == wanted.length;
    for (int at = 0; isSame && at < known.length; at++) {
      DataType before = known[at].dataType();
      // A column that is never null stays so, and the table can't enforce a new NOT NULL.
      isSame = known[at].name().equals(wanted[at].name()) && before.catalogString().equals(wanted[at].dataType().catalogString())
          && (wanted[at].nullable() || !known[at].nullable())
          && (!wanted[at].getComment().isDefined() || wanted[at].getComment().equals(known[at].getComment()));
    }
    if (!isSame) {
      throw refused("it has the columns " + table.schema().toDDL() + ", and the new one " + schema.toDDL());
    }
  }

  private RuntimeException refused(String difference) {
    return LakeraceException.unsupported(Locations.shown(location) + ": a table can only be replaced by one with the same columns, partitions and properties: " + difference
        + ": use ALTER TABLE to change them, DROP TABLE to remove the table first, or another name").forAnalysis();
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    isWritten = true;
    return ((WritePlan) super.newWriteBuilder(info)).truncate();
  }

  /** The rows of {@code AS SELECT} have been committed by their write. Without a write, this empties the table. */
  @Override
  public void commitStagedChanges() {
    if (!isWritten) {
      table.truncateTable();
    }
  }

  /** The table has not changed before the commit. */
  @Override
  public void abortStagedChanges() {}
}
