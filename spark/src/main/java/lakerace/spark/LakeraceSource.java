package lakerace.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.RelationProvider;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Tuple2;

/** {@code spark.read.format("lakerace")} and {@code df.write.format("lakerace")}. */
public final class LakeraceSource implements TableProvider, DataSourceRegister, RelationProvider {
  /** The table that {@link #inferSchema} has opened, for the {@link #getTable} of the same read. */
  private LakeraceTable opened;

  @Override
  public String shortName() {
    return "lakerace";
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    opened = LakeraceTable.of(options);
    return opened.schema();
  }

  /** Writes give the schema of their rows, and reads may give one. */
  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  /** Creates the relation of a table of the session catalog, on Spark 3.5. */
  @Override
  public BaseRelation createRelation(SQLContext context, scala.collection.immutable.Map<String, String> given) {
    Map<String, String> options = new HashMap<>();
    scala.collection.Iterator<Tuple2<String, String>> entries = given.iterator();
    while (entries.hasNext()) {
      Tuple2<String, String> entry = entries.next();
      options.put(entry._1(), entry._2());
    }
    return new SessionRelation(context, options);
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    LakeraceTable table = opened;
    opened = null;
    return table != null ? table : LakeraceTable.ofSchema(new CaseInsensitiveStringMap(properties), schema, partitioning);
  }
}
