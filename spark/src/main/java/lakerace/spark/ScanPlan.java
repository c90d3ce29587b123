package lakerace.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;

/** A planned scan in the driver. */
final class ScanPlan implements Scan, org.apache.spark.sql.connector.read.Batch, SupportsReportStatistics, SupportsRuntimeV2Filtering {
  private final String location;
  private final Map<String, String> options;
  private final StructType schema;
  private final String filter;
  private final Integer limit;
  private final Plan table;
  /** Whether it reads the rows that a statement changes. */
  private final boolean isOfChange;
  /** The query as options of the engine. */
  private final Map<String, String> query;
  /** Null until Spark asks for it: a stream has its own plans. */
  private Plan plan;
  private boolean isStream;
  /** The known keys of the other sides of joins. */
  private String runtimeFilter;

  ScanPlan(String location, Map<String, String> options, StructType schema, String filter, Integer limit, Plan table, boolean isOfChange) {
    this.location = location;
    this.options = new HashMap<>(options);
    this.schema = schema;
    this.filter = filter;
    this.limit = limit;
    this.table = table;
    this.isOfChange = isOfChange;
    for (String name : schema.fieldNames()) {
      if (DeltaTable.isId(name) && table.isExact(name) == null) {
        this.options.put("query.ids", "true");
      }
    }
    this.query = new HashMap<>(this.options);
    query.put("query.columns", String.join(String.valueOf(Native.NAME), schema.fieldNames()));
    String fields = FieldPaths.text(table.schema, schema);
    if (!fields.isEmpty()) {
      query.put("query.fields", fields);
    }
    if (filter != null) {
      query.put("query.where", filter);
    }
    if (limit != null) {
      query.put("query.limit", limit.toString());
    }
    int cores = SparkSession.active().sparkContext().defaultParallelism();
    query.put("query.tasks", String.valueOf(Math.max(1, cores)));
  }

  private Plan plan() {
    if (plan == null) {
      TableStream.checkNoStream(location, options);
      plan = Plan.of(location, query);
    }
    return plan;
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpoint) {
    isStream = true;
    return new TableStream(location, options, schema, checkpoint);
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public String description() {
    if (isStream) {
      return "lakerace " + Locations.shown(location) + ", stream";
    }
    String limited = limit == null ? "" : ", limit " + limit;
    String version = plan().version.isEmpty() ? "" : ", version " + plan().version;
    return "lakerace " + Locations.shown(location) + version + ", where " + (filter == null ? "true" : filter) + (runtimeFilter == null ? "" : ", and of joins") + limited + ", tasks " + plan().tasks.size() + ", "
        + plan().summary;
  }

  /** Returns true if comparisons with a column have the same meaning in the engine and in Spark. */
  boolean isFilterable(String column) {
    // With an early limit, any rows may be returned.
    return limit == null && !ScanSketch.isFeed(options) && Boolean.TRUE.equals(table.isExact(column));
  }

  /**
   * Columns by which Spark may filter. It gets none of the rows to change: Spark 4.3 would read the table a second time
   * to find these rows, and {@link KeyFilters} filters them without that.
   */
  @Override
  public NamedReference[] filterAttributes() {
    List<NamedReference> found = new ArrayList<>();
    for (String name : schema.fieldNames()) {
      if (!isOfChange && isFilterable(name)) {
        found.add(Expressions.column(Locations.quoted(name)));
      }
    }
    return found.toArray(new NamedReference[0]);
  }

  /** Plans again, without the files, row groups and rows that a join does not need. */
  @Override
  public void filter(Predicate[] predicates) {
    FilterText text = new FilterText(table);
    List<String> conditions = new ArrayList<>();
    for (Predicate predicate : predicates) {
      String condition = RuntimeFilter.text(predicate, text);
      if (condition != null) {
        conditions.add(condition);
      }
    }
    if (conditions.isEmpty()) {
      return;
    }
    runtimeFilter = String.join(" AND ", conditions);
    Map<String, String> narrower = new HashMap<>(query);
    narrower.put("query.where", filter == null ? runtimeFilter : filter + " AND " + runtimeFilter);
    plan = Plan.of(location, narrower);
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public Statistics estimateStatistics() {
    return new Statistics() {
      @Override
      public OptionalLong sizeInBytes() {
        return isStream ? OptionalLong.empty() : plan().bytes;
      }

      @Override
      public OptionalLong numRows() {
        return isStream ? OptionalLong.empty() : plan().rows;
      }
    };
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return Metrics.all();
  }

  @Override
  public InputPartition[] planInputPartitions() {
    List<InputPartition> parts = new ArrayList<>();
    for (String part : plan().tasks) {
      parts.add(new ScanTask(part));
    }
    return parts.toArray(new InputPartition[0]);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    HashMap<String, String> shared = new HashMap<>(options);
    if (!plan().shared.isEmpty()) {
      shared.put("task.version", plan().shared);
    }
    return new ScanReaders(location, shared, schema);
  }
}
