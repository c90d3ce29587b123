package lakerace.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/** Takes what Spark pushes down. */
final class ScanSketch implements ScanBuilder, SupportsPushDownRequiredColumns, SupportsPushDownFilters, SupportsPushDownLimit {
  private final String location;
  private final Map<String, String> options;
  private final Plan table;
  private StructType schema;
  private Filter[] pushed = new Filter[0];
  private String where;
  private Integer limit;

  ScanSketch(String location, Map<String, String> options, Plan table) {
    this.location = location;
    this.options = options;
    this.table = table;
    this.schema = table.schema;
  }

  @Override
  public Filter[] pushFilters(Filter[] filters) {
    FilterText text = new FilterText(table);
    List<Filter> taken = new ArrayList<>();
    List<Filter> left = new ArrayList<>();
    List<String> conditions = new ArrayList<>();
    for (Filter filter : filters) {
      String condition = text.of(filter);
      if (condition == null) {
        left.add(filter);
      } else {
        taken.add(filter);
        conditions.add(condition);
      }
    }
    pushed = taken.toArray(new Filter[0]);
    where = conditions.isEmpty() ? null : String.join(" AND ", conditions);
    return left.toArray(new Filter[0]);
  }

  @Override
  public Filter[] pushedFilters() {
    return pushed;
  }

  @Override
  public boolean pushLimit(int rows) {
    limit = rows;
    return true;
  }

  /** Each task gives so many rows at most, and Spark takes of all. */
  @Override
  public boolean isPartiallyPushed() {
    return true;
  }

  @Override
  public void pruneColumns(StructType required) {
    schema = required;
  }

  @Override
  public Scan build() {
    return new ScanPlan(location, options, schema, where, limit);
  }
}
