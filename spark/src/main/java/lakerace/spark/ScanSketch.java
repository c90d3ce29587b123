package lakerace.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Takes what Spark pushes down. */
final class ScanSketch implements ScanBuilder, SupportsPushDownRequiredColumns, SupportsPushDownFilters, SupportsPushDownLimit, SupportsPushDownAggregates {
  private final String location;
  private final Map<String, String> options;
  private final Plan table;
  private StructType schema;
  private Filter[] pushed = new Filter[0];
  private String where;
  private Integer limit;
  /** What metadata tell, where a query wants no more. */
  private MetadataScan metadata;

  ScanSketch(String location, Map<String, String> options, Plan table) {
    this.location = location;
    this.options = options;
    this.table = table;
    this.schema = table.schema;
  }

  /** Whether the changes of a table are read, and not its rows: Spark filters those. */
  static boolean isFeed(Map<String, String> options) {
    return "true".equalsIgnoreCase(options.get("readchangefeed"));
  }

  @Override
  public Filter[] pushFilters(Filter[] filters) {
    if (isFeed(options)) {
      return filters;
    }
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
  public boolean supportCompletePushDown(Aggregation aggregation) {
    return where == null && !options.containsKey("where") && !isFeed(options) && aggregation.groupByExpressions().length == 0
        && query(aggregation).isPossible();
  }

  private MetadataQuery query(Aggregation aggregation) {
    return new MetadataQuery(location, options, table, aggregation.aggregateExpressions());
  }

  /** What is not exact is not given. */
  @Override
  public boolean pushAggregation(Aggregation aggregation) {
    metadata = supportCompletePushDown(aggregation) ? query(aggregation).scan() : null;
    return metadata != null;
  }

  @Override
  public void pruneColumns(StructType required) {
    for (StructField field : required.fields()) {
      if (!DeltaTable.isId(field.name()) || table.isExact(field.name()) != null) {
        checkType(field);
      }
    }
    schema = required;
  }

  /** A column has the type that the files have: a schema that a caller gives is no cast. */
  private void checkType(StructField field) {
    if (!Arrays.asList(table.schema.fieldNames()).contains(field.name())) {
      throw LakeraceException.usage(Locations.shown(location) + ": there is no column \"" + field.name() + "\": leave schema(...) out");
    }
    DataType found = table.schema.apply(field.name()).dataType();
    boolean isNested = found instanceof StructType || found instanceof ArrayType || found instanceof MapType;
    // Of nested types Spark may want a part.
    boolean isSame = isNested ? found.getClass() == field.dataType().getClass() : found.equals(field.dataType());
    if (!isSame) {
      throw LakeraceException.usage(Locations.shown(location) + ": the column \"" + field.name() + "\" is " + found.catalogString() + ", not "
          + field.dataType().catalogString() + ": leave schema(...) out, and cast it");
    }
  }

  @Override
  public Scan build() {
    return metadata != null ? metadata : new ScanPlan(location, options, schema, where, limit, table);
  }
}
