package lakerace.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** {@code spark.read.format("lakerace")} and {@code df.write.format("lakerace")}. */
public final class LakeraceSource implements TableProvider, DataSourceRegister {
  @Override
  public String shortName() {
    return "lakerace";
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return LakeraceTable.of(options).schema();
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return LakeraceTable.of(new CaseInsensitiveStringMap(properties));
  }
}
