package lakerace.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Takes the filters, columns, limits and aggregates that Spark pushes down. */
final class ScanSketch implements ScanBuilder, SupportsPushDownRequiredColumns, SupportsPushDownV2Filters, SupportsPushDownLimit, SupportsPushDownAggregates {
  private final String location;
  private final Map<String, String> options;
  private final Plan table;
  private StructType schema;
  private Predicate[] pushed = new Predicate[0];
  /** The conditions that Spark has pushed down; null without any. */
  private Predicate[] told;
  private String where;
  private Integer limit;
  /** Whether the rows are read for a statement that changes them. */
  private boolean isOfChange;
  /** The answer from metadata, where it is all that a query needs. */
  private MetadataScan metadata;

  /** {@code schema} has the columns that Spark knows: a version may have more. */
  ScanSketch(String location, Map<String, String> options, Plan table, StructType schema) {
    this.location = location;
    this.options = options;
    this.table = table;
    this.schema = schema;
  }

  /** A builder of the scan of the rows that a statement changes. */
  ScanSketch ofChange() {
    isOfChange = true;
    return this;
  }

  /** Returns true if the changes of a table are read, and not its rows: Spark filters those. */
  static boolean isFeed(Map<String, String> options) {
    return "true".equalsIgnoreCase(options.get("readchangefeed"));
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] predicates) {
    told = predicates;
    if (isFeed(options)) {
      return predicates;
    }
    FilterText text = new FilterText(table);
    List<Predicate> taken = new ArrayList<>();
    List<Predicate> left = new ArrayList<>();
    List<String> conditions = new ArrayList<>();
    for (Predicate predicate : predicates) {
      String condition = text.of(predicate);
      if (condition == null) {
        left.add(predicate);
      } else {
        taken.add(predicate);
        conditions.add(condition);
      }
    }
    pushed = taken.toArray(new Predicate[0]);
    where = conditions.isEmpty() ? null : String.join(" AND ", conditions);
    return left.toArray(new Predicate[0]);
  }

  /** The conditions of the rows, in SQL, as a JSON list; null where Spark has pushed none down. */
  String conditions() {
    if (told == null) {
      return null;
    }
    StringBuilder list = new StringBuilder("[");
    for (Predicate predicate : told) {
      if (!isImplied(predicate)) {
        list.append(list.length() == 1 ? "" : ",");
        Native.quote(predicate.toString(), list);
      }
    }
    return list.append(']').toString();
  }

  /** Returns true if Spark has derived a condition from another one: a comparison with a column is true of no null. */
  private boolean isImplied(Predicate predicate) {
    return predicate.name().equals("IS_NOT_NULL") && Arrays.stream(told).anyMatch(other -> !other.name().equals("IS_NOT_NULL")
        && Arrays.toString(other.references()).contains(Arrays.toString(predicate.references()).replaceAll("^\\[|\\]$", "")));
  }

  @Override
  public Predicate[] pushedPredicates() {
    return pushed;
  }

  @Override
  public boolean pushLimit(int rows) {
    limit = rows;
    return true;
  }

  /** Each task returns at most so many rows, and Spark limits their total. */
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

  /** Aggregates that are not exact are not answered. */
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

  /** Checks that a column has the type of the files: a caller's schema is no cast. */
  private void checkType(StructField field) {
    if (!Arrays.asList(table.schema.fieldNames()).contains(field.name())) {
      throw LakeraceException.usage(Locations.shown(location) + ": there is no column \"" + field.name() + "\": omit schema(...)");
    }
    DataType found = table.schema.apply(field.name()).dataType();
    // Spark may want a part of a struct.
    if (!FieldPaths.isWithin(found, field.dataType())) {
      throw LakeraceException.usage(Locations.shown(location) + ": the column \"" + field.name() + "\" is " + found.catalogString() + ", not "
          + field.dataType().catalogString() + ": omit schema(...), and cast it");
    }
  }

  @Override
  public Scan build() {
    return metadata != null ? metadata : new ScanPlan(location, options, schema, where, limit, table, isOfChange);
  }
}
