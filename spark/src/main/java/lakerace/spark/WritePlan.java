package lakerace.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.distributions.Distributions;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering;
import org.apache.spark.sql.connector.write.SupportsDynamicOverwrite;
import org.apache.spark.sql.connector.write.SupportsOverwriteV2;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.types.StructType;

/** A write: its tasks write files, and the driver makes one commit of them. */
class WritePlan implements WriteBuilder, SupportsOverwriteV2, SupportsDynamicOverwrite, RequiresDistributionAndOrdering, BatchWrite {
  private static final String OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode";
  /** The option with the filter of the rows that an overwrite replaces. */
  private static final String REPLACE_WHERE = "replacewhere";

  private final String location;
  private final Map<String, String> options;
  private final StructType schema;
  private final String[] key;
  private final DriverCommit commit;
  /** Whether options and Spark's settings choose what an overwrite replaces. */
  private final boolean choosesMode;
  /** The distribution of an upsert's rows over its tasks; null until Spark asks for it. */
  private String distribution;
  /** Whether only a stream may write its rows. */
  private boolean isOfStreamOnly;
  /** Whether it is the write of a micro-batch. */
  private boolean isStream;

  WritePlan(String location, Map<String, String> options, LogicalWriteInfo info, boolean choosesMode, String distribution) {
    this.choosesMode = choosesMode;
    this.distribution = distribution;
    this.location = location;
    this.options = new HashMap<>(options);
    this.schema = info.schema();
    this.options.put("write.id", info.queryId());
    this.commit = new DriverCommit(location, this.options, schema);
    for (String option : new String[] {"key", "sequence", "partition_by"}) {
      if (this.options.containsKey(option)) {
        // The engine's column names are case-sensitive.
        this.options.put(option, String.join(",", columns(option)));
      }
    }
    this.key = columns("key");
    if (key.length == 0 && options.containsKey("sequence")) {
      throw LakeraceException.usage("option \"sequence\" says which row of a key is kept, but there is no key: give option(\"key\", \"a,b\"), too");
    }
    if (isAsTheyAre() && options.containsKey("sequence")) {
      throw LakeraceException.usage("option \"distribution\" none leaves rows of a key in several tasks, but option \"sequence\" compares them: leave one of"
          + " them out");
    }
  }

  /** Returns true if an option of the write is set. */
  final boolean isSet(String option) {
    return SchemaWrites.isSet(options, option);
  }

  /** The same write, of rows that no one has compared with the table. */
  final WritePlan ofStreamOnly() {
    isOfStreamOnly = true;
    return this;
  }

  /** The same write, as part of a statement that the log names. */
  final WritePlan ofStatement(String operation) {
    options.put("write.operation", operation);
    return this;
  }

  /** The same write, which replaces all rows of its table. */
  final WriteBuilder wholly() {
    return overwrite("table");
  }

  /** Returns true if the options leave rows in their tasks. */
  private boolean isAsTheyAre() {
    return "none".equals(options.get("distribution"));
  }

  /** The columns in an option, in the spelling of the rows. */
  private String[] columns(String option) {
    String text = options.getOrDefault(option, "").trim();
    String[] names = text.isEmpty() ? new String[0] : text.split("\\s*,\\s*");
    for (int at = 0; at < names.length; at++) {
      String column = Locations.column(schema, names[at]);
      if (column == null) {
        throw LakeraceException.usage("option \"" + option + "\" names the column \"" + names[at] + "\", which the rows do not have: they have "
            + String.join(", ", schema.fieldNames()));
      }
      names[at] = column;
    }
    return names;
  }

  @Override
  public WriteBuilder truncate() {
    if (options.containsKey(REPLACE_WHERE)) {
      if ("dynamic".equalsIgnoreCase(options.get("partitionoverwritemode"))) {
        throw LakeraceException.usage("option \"replaceWhere\" says which rows are replaced, and so does option \"partitionOverwriteMode\": omit one");
      }
      return overwriteWhere(options.get(REPLACE_WHERE));
    }
    return overwrite(choosesMode && isDynamic() ? "partitions" : "table");
  }

  /** Handles {@code INSERT OVERWRITE ... PARTITION (p = 1)} and {@code writeTo(...).overwrite(condition)}. */
  @Override
  public WriteBuilder overwrite(Predicate[] predicates) {
    if (options.containsKey(REPLACE_WHERE)) {
      throw LakeraceException.usage("option \"replaceWhere\" and the condition of the overwrite both say which rows are replaced: omit one of them");
    }
    Map<String, String> read = new HashMap<>(options);
    if (options.containsKey("write.at")) {
      read.put("at", options.get("write.at"));
    }
    FilterText text = new FilterText(Plan.of(location, read));
    List<String> conditions = new ArrayList<>();
    for (Predicate predicate : predicates) {
      String condition = text.of(predicate);
      if (condition == null) {
        throw LakeraceException.unsupported(Locations.shown(location) + ": rows are replaced by comparisons of partition columns with values, not by "
            + predicate.describe() + ": DELETE the rows and INSERT others").forAnalysis();
      }
      conditions.add(condition);
    }
    return overwriteWhere(String.join(" AND ", conditions));
  }

  private WriteBuilder overwriteWhere(String condition) {
    options.put("write.where", condition);
    return overwrite("where");
  }

  @Override
  public WriteBuilder overwriteDynamicPartitions() {
    return overwrite("partitions");
  }

  private WriteBuilder overwrite(String replaced) {
    if (SchemaWrites.isSet(options, SchemaWrites.OVERWRITE) && !replaced.equals("table")) {
      throw LakeraceException.usage("option \"overwriteSchema\" replaces all rows of the table: omit it, or omit option \"replaceWhere\" and set"
          + " option(\"partitionOverwriteMode\", \"static\")");
    }
    if (key.length > 0) {
      throw LakeraceException.usage("an upsert with option \"key\" adds to a table: use mode(\"append\"), or omit the key to overwrite");
    }
    options.put("write.replaces", replaced);
    return this;
  }

  /**
   * Returns true if an overwrite only replaces those partitions that it has rows of: by the option, or else by Spark's
   * own setting.
   */
  private boolean isDynamic() {
    String mode = options.getOrDefault("partitionoverwritemode", SparkSession.active().conf().get(OVERWRITE_MODE, "static"));
    if (!mode.equalsIgnoreCase("static") && !mode.equalsIgnoreCase("dynamic")) {
      throw LakeraceException.usage("option \"partitionOverwriteMode\" is " + mode + ": give static or dynamic");
    }
    return mode.equalsIgnoreCase("dynamic");
  }

  @Override
  public Write build() {
    if (options.containsKey(REPLACE_WHERE) && !options.containsKey("write.where")) {
      throw LakeraceException.usage("option \"replaceWhere\" says which rows an overwrite replaces: use mode(\"overwrite\"), or omit it");
    }
    if (SchemaWrites.isSet(options, SchemaWrites.OVERWRITE) && options.containsKey(SchemaWrites.PLANNED) && !options.containsKey("write.replaces")) {
      throw LakeraceException.usage("option \"overwriteSchema\" replaces the columns and rows of the table: use mode(\"overwrite\"), or option(\"mergeSchema\","
          + " \"true\") to add columns");
    }
    return this;
  }

  @Override
  public BatchWrite toBatch() {
    if (isOfStreamOnly) {
      throw LakeraceException.usage(Locations.shown(location) + ": the session of these rows was made before lakerace was used, and another one is active: set"
          + " spark.sql.extensions=" + LakeraceExtensions.class.getName());
    }
    return this;
  }

  @Override
  public StreamingWrite toStreaming() {
    for (String option : new String[] {"txnAppId", "txnVersion"}) {
      if (options.containsKey(OptionNames.plain(option))) {
        throw LakeraceException.usage("option \"" + option + "\": a stream has its own transactions, from its checkpoint and the numbers of its"
            + " micro-batches: omit it");
      }
    }
    if (SchemaWrites.isSet(options, SchemaWrites.MERGE) || SchemaWrites.isSet(options, SchemaWrites.OVERWRITE)) {
      throw LakeraceException.unsupported("a stream does not change the columns of a table: add columns with ALTER TABLE ... ADD COLUMNS, or write with"
          + " option(\"mergeSchema\", \"true\") in foreachBatch").forAnalysis();
    }
    isStream = true;
    options.put("write.stream", "true");
    // Each micro-batch follows the last version.
    options.remove("write.at");
    options.remove("write.table_id");
    return new StreamWrite(this, location, options, schema);
  }

  @Override
  public String description() {
    return "lakerace " + Locations.shown(location) + (key.length == 0 ? "" : ", upsert by " + String.join(", ", key));
  }

  /**
   * The rows of a key go to one task, unless the options leave them where they are; rows of the table are not moved.
   */
  @Override
  public Distribution requiredDistribution() {
    if (key.length == 0) {
      return Distributions.unspecified();
    }
    if (distribution == null) {
      distribution = isAsTheyAre() ? "none" : Target.of(location, options).distribution;
    }
    if (isStream && distribution.equals("ranges")) {
      // Ranges take a sample, for which a stateful query would run twice.
      distribution = "hash";
    }
    // The commit needs the distribution that was used, even if the table has changed by then.
    options.put("write.distribution", distribution);
    switch (distribution) {
      case "none":
        return Distributions.unspecified();
      case "ranges":
        return Distributions.ordered(ascending(key));
      default:
        return Distributions.clustered(keyColumns());
    }
  }

  private Expression[] keyColumns() {
    Expression[] columns = new Expression[key.length];
    for (int at = 0; at < key.length; at++) {
      columns[at] = Expressions.column(Locations.quoted(key[at]));
    }
    return columns;
  }

  /**
   * Orders rows of the same key by the sequence: the last one counts. Without a sequence the engine sorts, which takes
   * less time than Spark's sort.
   */
  @Override
  public SortOrder[] requiredOrdering() {
    String[] sequence = columns("sequence");
    if (sequence.length == 0) {
      return new SortOrder[0];
    }
    List<String> names = new ArrayList<>(Arrays.asList(key));
    names.addAll(Arrays.asList(sequence));
    return ascending(names.toArray(new String[0]));
  }

  private static SortOrder[] ascending(String[] names) {
    SortOrder[] orders = new SortOrder[names.length];
    for (int at = 0; at < names.length; at++) {
      orders[at] = Expressions.sort(Expressions.column(Locations.quoted(names[at])), SortDirection.ASCENDING);
    }
    return orders;
  }

  @Override
  public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
    return writers();
  }

  /** Prepares the target, and creates the writers of its tasks. */
  final RowWriters writers() {
    try {
      byte[] prepared = Native.prepare(Native.bytes(location), Native.options(options), Native.bytes(schema.json()));
      for (String record : Native.records(prepared)) {
        int at = record.indexOf(Native.UNIT);
        options.put(record.substring(0, at), record.substring(at + 1));
      }
    } catch (NativeException error) {
      throw error.forSpark().forAnalysis();
    }
    return new RowWriters(location, new HashMap<>(options), schema);
  }

  @Override
  public void commit(WriterCommitMessage[] messages) {
    commit.commit(messages);
  }

  @Override
  public void abort(WriterCommitMessage[] messages) {
    commit.abort(messages);
  }
}
