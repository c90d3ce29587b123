package lakerace.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** A version of a Delta table, whose rows have ids: the name of their file, and their number in it. */
class DeltaTable extends LakeraceTable implements SupportsRowLevelOperations, SupportsMetadataColumns {
  static final String FILE = "_file";
  static final String POSITION = "_pos";

  DeltaTable(String location, Map<String, String> options, StructType schema, Plan plan) {
    super(location, options, schema, plan);
  }

  /** Copies a table. */
  DeltaTable(DeltaTable other) {
    super(other);
  }

  @Override
  LakeraceTable strict() {
    return new DeltaTable(this);
  }

  /** The properties of the log, for statements that show them. */
  @Override
  public Map<String, String> properties() {
    return loggedProperties();
  }

  /** Returns true if a column is a part of the ids. */
  static boolean isId(String column) {
    return column.equals(FILE) || column.equals(POSITION);
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    return new MetadataColumn[] {new Id(FILE, DataTypes.StringType), new Id(POSITION, DataTypes.LongType)};
  }

  @Override
  public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
    return () -> new RowChanges(this, info.command());
  }

  private static final class Id implements MetadataColumn {
    private final String name;
    private final DataType type;

    Id(String name, DataType type) {
      this.name = name;
      this.type = type;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public DataType dataType() {
      return type;
    }

    @Override
    public boolean isNullable() {
      return false;
    }
  }
}
