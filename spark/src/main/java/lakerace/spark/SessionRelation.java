package lakerace.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.sources.PrunedFilteredScan;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A table of the session catalog of Spark 3.5, {@code CREATE TABLE ... USING lakerace LOCATION ...}, which only
 * supports version 1 data sources. Spark 4 opens the source itself.
 */
final class SessionRelation extends BaseRelation implements PrunedFilteredScan, InsertableRelation {
  private final SQLContext context;
  private final Map<String, String> options;
  private final LakeraceTable table;

  SessionRelation(SQLContext context, Map<String, String> options) {
    this.context = context;
    this.options = options;
    this.table = LakeraceTable.of(new CaseInsensitiveStringMap(options));
  }

  @Override
  public SQLContext sqlContext() {
    return context;
  }

  @Override
  public StructType schema() {
    return table.schema();
  }

  /** The rows that meet the filters that the engine supports; Spark applies all filters again. */
  @Override
  public RDD<Row> buildScan(String[] columns, Filter[] filters) {
    Dataset<Row> rows = context.sparkSession().read().format("lakerace").options(options).load();
    FilterText text = new FilterText(Plan.of(table.location, table.options));
    List<String> conditions = new ArrayList<>();
    for (Filter filter : filters) {
      Predicate predicate = filter.toV2();
      String condition = predicate == null ? null : text.of(predicate);
      if (condition != null) {
        conditions.add(condition);
      }
    }
    if (!conditions.isEmpty() && !options.containsKey("where")) {
      rows = context.sparkSession().read().format("lakerace").options(options).option("where", String.join(" AND ", conditions)).load();
    }
    org.apache.spark.sql.Column[] wanted = new org.apache.spark.sql.Column[columns.length];
    for (int at = 0; at < columns.length; at++) {
      wanted[at] = functions.col(Locations.quoted(columns[at]));
    }
    return rows.select(wanted).rdd();
  }

  @Override
  public void insert(Dataset<Row> rows, boolean overwrites) {
    rows.write().format("lakerace").options(options).mode(overwrites ? SaveMode.Overwrite : SaveMode.Append).save();
  }
}
