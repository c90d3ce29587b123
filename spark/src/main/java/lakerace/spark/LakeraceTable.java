package lakerace.spark;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Files or a Delta table, opened at a version, or the target that a write creates. */
class LakeraceTable implements SupportsRead, SupportsWrite {
  /** The version in the user's options, where it has been pinned to a number. */
  static final String GIVEN_AT = "given.at";

  /** The last version of changes in the user's options. */
  static final String GIVEN_END = "given.end";

  final String location;
  final Map<String, String> options;
  private final StructType schema;
  private final Plan plan;
  /** The columns that the files are divided by; null until they are first needed. */
  private String[] partitions;
  /** The distribution of rows over the tasks of a write by these options; null until it is first needed. */
  private String distribution;
  /** The id of a table that was opened for a write, else null. */
  private String tableId;
  /** The version of a table that the rows of an upsert were checked with; null of other tables. */
  private String checked;
  /** The schema that a caller gives: that of the rows of a write, or the expected one of a read; null without one. */
  private StructType given;
  /** The columns that a write of this table changes, as {@link Target#planned}; empty where it changes none. */
  private String planned = "";
  /** True if {@link WriteRule} compares the columns of rows with its own, and Spark does not yet. */
  private boolean takesAnyRows;
  /** True if a statement may give it columns {@code WITH SCHEMA EVOLUTION}. */
  private boolean mayEvolve;
  /** When it was opened, by {@link FreshVersions#now}. */
  private final long opened;

  LakeraceTable(String location, Map<String, String> options, StructType schema, Plan plan) {
    this.location = location;
    this.options = options;
    this.schema = schema;
    this.plan = plan;
    this.opened = FreshVersions.now();
  }

  /** Copies a table. */
  LakeraceTable(LakeraceTable other) {
    this.location = other.location;
    this.options = other.options;
    this.schema = other.schema;
    this.plan = other.plan;
    this.opened = other.opened;
    this.partitions = other.partitions;
    this.distribution = other.distribution;
    this.tableId = other.tableId;
    this.checked = other.checked;
    this.given = other.given;
    this.planned = other.planned;
    this.mayEvolve = other.mayEvolve;
  }

  /** Creates a table whose columns a write replaces. */
  LakeraceTable(LakeraceTable other, Target target) {
    this(other.location, pinned(other.options, target), target.schema, null);
    take(target);
  }

  /** The same table, whose rows Spark checks. */
  LakeraceTable strict() {
    return new LakeraceTable(this);
  }

  /** The same table, whose rows {@link WriteRule} checks before Spark does, where the session has the rule. */
  final LakeraceTable forRows() {
    if (!WriteRule.isActive()) {
      return this;
    }
    LakeraceTable table = strict();
    table.takesAnyRows = true;
    table.mayEvolve = true;
    return table;
  }

  /** Returns true if {@link WriteRule} checks its rows. */
  final boolean takesAnyRows() {
    return takesAnyRows;
  }

  /** The table with the columns that a write gives it. */
  final LakeraceTable planned(Target target) {
    LakeraceTable table = new TruncatableDeltaTable(location, pinned(options, target), target.schema, null);
    table.take(target);
    table.mayEvolve = true;
    return table;
  }

  private void take(Target target) {
    partitions = target.partitions;
    tableId = target.tableId;
    distribution = target.distribution;
    planned = target.planned;
  }

  private static Map<String, String> pinned(Map<String, String> options, Target target) {
    Map<String, String> all = new HashMap<>(options);
    all.put("at", target.version);
    return all;
  }

  /** Opens files or a table. */
  static LakeraceTable of(CaseInsensitiveStringMap given) {
    Map<String, String> options = Locations.resolved(Locations.of(given), given.asCaseSensitiveMap());
    SchemaWrites.checkRead(options);
    if (options.containsKey("at")) {
      options.put(GIVEN_AT, options.get("at"));
    }
    return of(Locations.of(given), options);
  }

  static LakeraceTable of(String location, Map<String, String> options) {
    Plan plan = Plan.of(location, options);
    if (ScanSketch.isFeed(options)) {
      // A query reads the version that was analysed, even if others are committed in the meantime.
      if (options.containsKey("endingversion")) {
        options.put(GIVEN_END, options.get("endingversion"));
      }
      options.put("endingversion", plan.version);
      return new LakeraceTable(location, options, plan.schema, plan);
    }
    if (!plan.version.isEmpty()) {
      // A query reads the version that was analysed, even if others are committed in the meantime.
      options.put("at", plan.version);
      return new TruncatableDeltaTable(location, options, plan.schema, plan);
    }
    return new LakeraceTable(location, options, plan.schema, plan);
  }

  /**
   * Opens a table with a schema from the caller: a write gives that of its rows, a read the one that it expects, and
   * the two can't be distinguished. An existing Delta table has its own schema: Spark checks rows against it, and
   * {@link #newScanBuilder} checks the expected one.
   */
  static LakeraceTable ofSchema(CaseInsensitiveStringMap given, StructType columns, Transform[] partitioning) {
    String location = Locations.of(given);
    Map<String, String> options = Locations.resolved(location, given.asCaseSensitiveMap());
    LakeraceTable table;
    WriteRule.install();
    if (options.containsKey("at") || ScanSketch.isFeed(options)) {
      // Only reads name a version or changes.
      table = of(given);
    } else {
      table = of(location, options, Target.of(location, options), columns, partitioning);
    }
    table.given = columns;
    return table;
  }

  private static LakeraceTable of(
      String location, Map<String, String> options, Target known, StructType columns, Transform[] partitioning) {
    Target target = known.schema == null ? known : SchemaWrites.target(location, options, known, columns, partitioning);
    StructType found = target.schema;
    LakeraceTable table;
    if (found == null) {
      table = new LakeraceTable(location, options, columns, null);
    } else if (options.containsKey("key")) {
      table = new LakeraceTable(location, options, columnsOf(found, columns, location), null);
      table.checked = target.version;
    } else {
      options.put("at", target.version);
      table = new TruncatableDeltaTable(location, options, found, null);
      if (target == known) {
        table = table.forRows();
      }
    }
    table.take(target);
    if (found == null && partitioning.length > 0 && !options.containsKey("partition_by")) {
      // df.write.partitionBy(...) creates the table.
      table.partitions = columnsOf(partitioning);
      options.put("partition_by", String.join(",", table.partitions));
    }
    return table;
  }

  /** The table's columns that the rows have: an upsert leaves the others unchanged, where Spark would write nulls. */
  private static StructType columnsOf(StructType table, StructType rows, String location) {
    StructType schema = new StructType();
    for (StructField row : rows.fields()) {
      String name = Locations.column(table, row.name());
      if (name == null) {
        throw LakeraceException.usage(Locations.shown(location) + ": the table has no column \"" + row.name() + "\": it has "
            + String.join(", ", table.fieldNames()) + ": option(\"mergeSchema\", \"true\") adds it");
      }
      schema = schema.add(table.apply(name));
    }
    return schema;
  }

  /** The columns of a partitioning; a transform of columns is an error. */
  static String[] columnsOf(Transform[] partitioning) {
    String[] columns = new String[partitioning.length];
    for (int at = 0; at < columns.length; at++) {
      if (!partitioning[at].name().equals("identity")) {
        throw LakeraceException.unsupported("tables are partitioned by columns only, not by " + partitioning[at].describe()).forAnalysis();
      }
      columns[at] = partitioning[at].references()[0].fieldNames()[0];
    }
    return columns;
  }

  @Override
  public String name() {
    return "lakerace." + Locations.shown(location);
  }

  // Spark 3.5 needs this method: the alternative that Spark 4 prefers was added recently.
  @SuppressWarnings("deprecation")
  @Override
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    Set<TableCapability> all = EnumSet.of(
        TableCapability.BATCH_READ, TableCapability.BATCH_WRITE, TableCapability.TRUNCATE, TableCapability.OVERWRITE_BY_FILTER,
        TableCapability.OVERWRITE_DYNAMIC, TableCapability.MICRO_BATCH_READ, TableCapability.STREAMING_WRITE);
    if (takesAnyRows) {
      all.add(TableCapability.ACCEPT_ANY_SCHEMA);
    }
    if (mayEvolve) {
      WriteRelations.evolution().ifPresent(all::add);
    }
    return all;
  }

  @Override
  public Transform[] partitioning() {
    if (partitions == null) {
      partitions = plan == null ? new String[0] : plan.partitions;
    }
    Transform[] transforms = new Transform[partitions.length];
    for (int at = 0; at < transforms.length; at++) {
      transforms[at] = Expressions.identity(Locations.quoted(partitions[at]));
    }
    return transforms;
  }

  /** The properties in the log of a table. */
  final Map<String, String> loggedProperties() {
    return plan == null ? Target.of(location, options).properties : plan.properties;
  }

  /** Adds the columns that a write changes. */
  final void putPlanned(Map<String, String> write) {
    if (!planned.isEmpty()) {
      write.put(SchemaWrites.PLANNED, planned);
    }
  }

  /** Adds the version that a write follows, and the id of its table: another one may come to its place. */
  final void putVersion(String name, String version, Map<String, String> write) {
    write.put(name, version);
    String id = plan == null ? tableId : plan.tableId;
    if (id != null) {
      write.put("write.table_id", id);
    }
  }

  /**
   * The version that a query reads: the analysed one, or the one that this process has written since. Null for files.
   */
  private String version() {
    String known = options.get("at");
    boolean isGiven = options.containsKey(GIVEN_AT) || ScanSketch.isFeed(options);
    return isGiven ? known : FreshVersions.since(location, opened, known);
  }

  /**
   * Spark finds cached frames by it: equal tables have the same rows by the same options. Files are compared by their
   * number, rows and bytes.
   */
  @Override
  public boolean equals(Object object) {
    if (this == object) {
      return true;
    }
    if (!(object instanceof LakeraceTable)) {
      return false;
    }
    LakeraceTable other = (LakeraceTable) object;
    return FreshVersions.place(location).equals(FreshVersions.place(other.location)) && Objects.equals(version(), other.version())
        && unversioned().equals(other.unversioned()) && schema.equals(other.schema) && Objects.equals(given, other.given)
        && Objects.equals(extent(), other.extent()) && takesAnyRows == other.takesAnyRows && planned.equals(other.planned);
  }

  @Override
  public int hashCode() {
    return FreshVersions.place(location).hashCode();
  }

  private Map<String, String> unversioned() {
    Map<String, String> others = new HashMap<>(options);
    others.remove("at");
    return others;
  }

  /** The extent of files, by which a later state of them differs; null for versions of tables. */
  private String extent() {
    return plan == null || !plan.version.isEmpty() ? null : plan.bytes + " " + plan.rows + " " + plan.summary;
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap query) {
    return newScanBuilder(query, version());
  }

  /** A scan builder for a version; null for files. */
  ScanSketch newScanBuilder(CaseInsensitiveStringMap query, String version) {
    Map<String, String> all = new HashMap<>(options);
    Map<String, String> asked = Locations.asked(query.asCaseSensitiveMap(), options);
    String at = asked.remove("at");
    if (at != null && !at.equals(options.get(GIVEN_AT))) {
      throw LakeraceException.usage(Locations.shown(location) + ": the version of a table of a catalog is given after its name: SELECT ... FROM t VERSION AS OF " + at);
    }
    if (ScanSketch.isFeed(asked) && !ScanSketch.isFeed(options)) {
      throw LakeraceException.usage(Locations.shown(location) + ": the changes of a table have other columns than the table of a catalog: read them with"
          + " spark.read.format(\"lakerace\").option(\"readChangeFeed\", \"true\").option(\"startingVersion\", ...).load(\""
          + Locations.shown(location) + "\")");
    }
    all.putAll(asked);
    SchemaWrites.checkRead(asked);
    putPlanned(all);
    if (version != null) {
      all.put("at", version);
    }
    Plan read = plan == null || !all.equals(options) ? Plan.of(location, all) : plan;
    checkGiven(read);
    if (!Objects.equals(version, options.get("at"))) {
      checkColumns(read.schema);
    }
    return new ScanSketch(location, all, read, schema);
  }

  /** Checks the caller's schema: for a Delta table it must agree with the table's, for files it selects columns. */
  private void checkGiven(Plan read) {
    if (given == null || read.version.isEmpty() && !ScanSketch.isFeed(options)) {
      return;
    }
    if (!given.catalogString().equals(read.schema.catalogString())) {
      throw LakeraceException.usage(Locations.shown(location) + ": the schema is " + read.schema.catalogString() + ", but the given one is "
          + given.catalogString() + ": omit schema(...), and select or cast columns");
    }
  }

  /** Checks that a frame can read a later version with the columns that it was analysed with. */
  private void checkColumns(StructType later) {
    for (StructField field : schema.fields()) {
      int at = Arrays.asList(later.fieldNames()).indexOf(field.name());
      if (at < 0 || !later.fields()[at].dataType().equals(field.dataType())) {
        throw LakeraceException.usage(Locations.shown(location) + ": the column \"" + field.name() + "\" was replaced or removed after this frame was created:"
            + " make it again");
      }
    }
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    Map<String, String> asked = Locations.asked(info.options().asCaseSensitiveMap(), options);
    if (asked.containsKey("at")) {
      throw LakeraceException.usage(Locations.shown(location) + ": a write always follows the last version: omit the options version and timestamp");
    }
    Map<String, String> all = new HashMap<>(options);
    all.putAll(asked);
    boolean isSame = all.equals(options);
    all.remove("at");
    SchemaWrites.check(all);
    // Columns are planned for one version.
    String base = checked != null ? checked : planned.isEmpty() ? version() : options.get("at");
    if (base != null && !options.containsKey(GIVEN_AT)) {
      // The write follows the version that Spark has checked its rows with, and does not open the table again.
      putVersion("write.at", base, all);
    }
    if (!all.containsKey("key")) {
      putPlanned(all);
    }
    // Where a write names its location, Spark leaves the mode of overwrites to the target.
    String known = isSame ? distribution : null;
    boolean isUpsert = all.containsKey("key");
    WritePlan write = isUpsert ? new UpsertPlan(location, all, info, plan == null, known) : new WritePlan(location, all, info, plan == null, known);
    // Spark compares no rows of streams with their tables.
    return takesAnyRows && !info.schema().asNullable().equals(schema.asNullable()) ? write.ofStreamOnly() : write;
  }
}
