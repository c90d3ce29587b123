package lakerace.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableWritePrivilege;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Tables by their names in SQL: {@code lake.`/lake/orders`} by its location, and {@code lake.sales.orders} below the
 * folder in the catalog's setting {@code warehouse}.
 */
public final class LakeraceCatalog implements StagingTableCatalog {
  /** Properties that Spark adds to each table for its own use. */
  static final Set<String> OF_SPARK =
      new HashSet<>(Arrays.asList(PROP_PROVIDER, PROP_OWNER, PROP_LOCATION, PROP_EXTERNAL, PROP_IS_MANAGED_LOCATION));

  /** The table with the columns of a statement {@code WITH SCHEMA EVOLUTION}, until Spark loads it. */
  private final ThreadLocal<LakeraceTable> evolved = new ThreadLocal<>();

  private String name;
  private String warehouse;
  private Map<String, String> options;

  @Override
  public void initialize(String name, CaseInsensitiveStringMap given) {
    this.name = name;
    this.options = new HashMap<>(given.asCaseSensitiveMap());
    this.warehouse = options.remove("warehouse");
    WriteRule.install();
  }

  @Override
  public String name() {
    return name;
  }

  private String location(Identifier table) {
    if (isLocation(table)) {
      return Locations.plain(table.name());
    }
    return Locations.plain(folder(table.namespace())) + "/" + table.name();
  }

  /** Returns true if the name of a table is its location. */
  private static boolean isLocation(Identifier table) {
    return table.name().contains("/") || table.name().startsWith("tpch:");
  }

  private String folder(String[] namespace) {
    if (warehouse == null) {
      throw LakeraceException.usage("the catalog " + name + " has no folder for tables: set spark.sql.catalog." + name
          + ".warehouse, or name a table by its location, such as " + name + ".`/lake/orders`");
    }
    StringBuilder folder = new StringBuilder(warehouse.replaceFirst("/+$", ""));
    for (String part : namespace) {
      folder.append('/').append(part);
    }
    return folder.toString();
  }

  private LakeraceTable load(Identifier table, String at) throws NoSuchTableException {
    Map<String, String> all = Locations.resolved(location(table), options);
    if (at != null) {
      all.put("at", at);
      all.put(LakeraceTable.GIVEN_AT, at);
    }
    try {
      return LakeraceTable.of(location(table), all);
    } catch (RuntimeException error) {
      throw error;
    } catch (Exception error) {
      boolean isMissing = error instanceof LakeraceAnalysisException && ((LakeraceAnalysisException) error).getCondition().equals("LAKERACE_NOT_FOUND");
      if (isMissing && at == null) {
        throw new NoSuchTableException(table);
      }
      throw LakeraceException.<RuntimeException>rethrown(error);
    }
  }

  @Override
  public Table loadTable(Identifier table) throws NoSuchTableException {
    LakeraceTable known = takeEvolved(table);
    return known != null ? known : load(table, null);
  }

  /** The table whose columns the statement that Spark analyses has changed just now; null without one. */
  private LakeraceTable takeEvolved(Identifier table) {
    LakeraceTable known = evolved.get();
    evolved.remove();
    return known != null && isEvolving() && known.location.equals(location(table)) ? known : null;
  }

  /** Returns true if Spark asks for the columns of a statement {@code WITH SCHEMA EVOLUTION}. */
  private static boolean isEvolving() {
    return Arrays.stream(Thread.currentThread().getStackTrace()).map(StackTraceElement::getClassName)
        .anyMatch(name -> name.contains(".analysis.Resolve") && name.contains("SchemaEvolution"));
  }

  /** The table with further columns, which the statement adds in the commit of its rows. */
  private LakeraceTable evolved(Identifier table, TableChange... changes) throws NoSuchTableException {
    LakeraceTable known = load(table, null);
    StructType rows = SchemaWrites.changed(known.location, known.schema(), changes);
    LakeraceTable planned = known.planned(SchemaWrites.merged(known.location, known.options, known.schema(), rows));
    boolean isPadded = CharColumns.areIn(planned.schema()) && CharColumns.arePaddedInReads();
    return isPadded ? new DeltaTable((DeltaTable) planned) : planned;
  }

  /**
   * Loads a table for a statement that writes. Where reads are padded anyway, Spark does so to all statements that it has not
   * rewritten by then, and does not find the table in {@code DELETE} without a condition: it must rewrite that one, too.
   */
  @Override
  public Table loadTable(Identifier table, Set<TableWritePrivilege> privileges) throws NoSuchTableException {
    LakeraceTable known = takeEvolved(table);
    if (known != null) {
      return known;
    }
    LakeraceTable found = load(table, null);
    boolean hasRule = WriteRule.isActive();
    KeyFilters.install();
    if (CharColumns.areIn(found.schema())) {
      CharColumns.padInComparisons();
      if (found instanceof DeltaTable && CharColumns.arePaddedInReads()) {
        found = new DeltaTable((DeltaTable) found);
      }
    }
    // Spark analyses a statement with the rules of the session that has started it.
    return hasRule && found instanceof DeltaTable ? found.forRows() : found;
  }

  /** Handles {@code REFRESH TABLE}: cached frames and tables are refreshed with writes of other processes. */
  @Override
  public void invalidateTable(Identifier table) {
    try {
      String version = load(table, null).options.get("at");
      if (version != null) {
        FreshVersions.note(location(table), Long.parseLong(version));
      }
      CachedFrames.refresh(location(table));
    } catch (NoSuchTableException error) {
      // No frame can read the table.
      return;
    }
  }

  @Override
  public Table loadTable(Identifier table, String version) throws NoSuchTableException {
    return load(table, version);
  }

  /** Loads the version at a time, in microseconds since 1970. */
  @Override
  public Table loadTable(Identifier table, long micros) throws NoSuchTableException {
    long seconds = Math.floorDiv(micros, 1_000_000L);
    return load(table, java.time.Instant.ofEpochSecond(seconds, (micros - seconds * 1_000_000L) * 1000).toString());
  }

  // Spark 3.5 calls this method and the staging ones; Spark 4 calls them through others.
  @SuppressWarnings("deprecation")
  @Override
  public Table createTable(Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties)
      throws TableAlreadyExistsException {
    return made(table, schema, partitions, properties);
  }

  /** Handles {@code CREATE TABLE ... AS SELECT}. */
  @SuppressWarnings("deprecation")
  @Override
  public StagedTable stageCreate(Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties)
      throws TableAlreadyExistsException {
    return new StagedDeltaTable(made(table, schema, partitions, properties));
  }

  @SuppressWarnings("deprecation")
  @Override
  public StagedTable stageReplace(Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties) {
    return replaced(table, schema, partitions, properties, "REPLACE TABLE");
  }

  private StagedTable replaced(Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties, String operation) {
    checkDeclared(table, properties);
    try {
      LakeraceTable known = load(table, null);
      if (isCalledBy("DataFrameWriter", "saveAsTable")) {
        return ReplacedTable.ofWriter(known, schema, LakeraceTable.columnsOf(partitions));
      }
      return ReplacedTable.ofStatement(known, schema, newTable(partitions, properties), operation);
    } catch (NoSuchTableException error) {
      throw LakeraceException.<RuntimeException>rethrown(error);
    }
  }

  /** The options that describe a new table: its partition columns and properties. */
  private static Map<String, String> newTable(Transform[] partitions, Map<String, String> properties) {
    Map<String, String> all = new HashMap<>();
    all.put("partition_by", String.join(",", LakeraceTable.columnsOf(partitions)));
    properties.forEach((property, value) -> {
      if (!OF_SPARK.contains(property) && !property.startsWith(OptionNames.OPTION)
          && !properties.containsKey(OptionNames.OPTION + property)) {
        all.put("table." + property, value);
      }
    });
    // Spark has made all columns of a CTAS nullable.
    all.put("write.keeps_not_null", "true");
    return all;
  }

  @SuppressWarnings("deprecation")
  @Override
  public StagedTable stageCreateOrReplace(Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties) {
    try {
      return stageCreate(table, schema, partitions, properties);
    } catch (TableAlreadyExistsException error) {
      return replaced(table, schema, partitions, properties, "CREATE OR REPLACE TABLE");
    }
  }

  private LakeraceTable made(Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties)
      throws TableAlreadyExistsException {
    String location = location(table);
    checkDeclared(table, properties);
    Map<String, String> all = Locations.resolved(location, options);
    if (Target.of(location, all).version != null) {
      throw new TableAlreadyExistsException(table);
    }
    all.putAll(newTable(partitions, properties));
    // The metadata of a text of CHAR(n) or VARCHAR(n) contains its length.
    StructType columns = CharVarcharUtils.replaceCharVarcharWithStringInSchema(schema);
    try {
      String made = location.toLowerCase(Locale.ROOT).startsWith("delta:") ? location : "delta:" + location;
      Native.prepare(Native.bytes(made), Native.options(all), Native.bytes(columns.json()));
      return load(table, null);
    } catch (NativeException error) {
      throw error.forSpark().forAnalysis();
    } catch (NoSuchTableException error) {
      throw LakeraceException.<RuntimeException>rethrown(error);
    }
  }

  /** Fails where {@code USING} or {@code OPTIONS} request anything other than a Delta table. */
  private void checkDeclared(Identifier table, Map<String, String> properties) {
    if (properties.containsKey(PROP_LOCATION)) {
      throw LakeraceException.unsupported("the location of a table is given by its name: omit LOCATION, and name it " + name + ".`"
          + properties.get(PROP_LOCATION) + "`").forAnalysis();
    }
    String provider = properties.get(PROP_PROVIDER);
    boolean isOwn = provider == null || provider.equalsIgnoreCase("lakerace") || provider.equalsIgnoreCase("delta");
    if (!isOwn && !isDefaultOfWriter(provider)) {
      throw LakeraceException.unsupported(Locations.shown(location(table)) + ": USING " + provider + ": tables of the catalog " + name
          + " are Delta tables: omit USING (or format(...), of saveAsTable: give \"lakerace\"); files of other formats are written with"
          + " df.write.format(\"lakerace\").option(\"format\", \"" + provider + "\").save(...)").forAnalysis();
    }
    for (String property : new TreeSet<>(properties.keySet())) {
      if (property.startsWith("hive.")) {
        throw LakeraceException.unsupported(Locations.shown(location(table)) + ": ROW FORMAT and STORED AS are for Hive tables: omit them to create"
            + " a Delta table").forAnalysis();
      }
      if (property.startsWith(OptionNames.OPTION)) {
        throw LakeraceException.usage(Locations.shown(location(table)) + ": OPTIONS (" + property.substring(OptionNames.OPTION.length())
            + "): a table stores no options: TBLPROPERTIES are its properties, and spark.sql.catalog." + name
            + ".NAME sets an option for all tables of the catalog");
      }
    }
  }

  /**
   * Returns true if {@code saveAsTable} or {@code toTable} adds this format itself, as both do where their user names
   * none.
   */
  private static boolean isDefaultOfWriter(String provider) {
    if (!provider.equalsIgnoreCase(SparkSession.active().conf().get("spark.sql.sources.default", "parquet"))) {
      return false;
    }
    return isCalledBy("DataFrameWriter", "saveAsTable") || isCalledBy("DataStreamWriter", "toTable");
  }

  private static boolean isCalledBy(String writer, String method) {
    return Arrays.stream(Thread.currentThread().getStackTrace())
        .anyMatch(frame -> frame.getMethodName().equals(method) && frame.getClassName().contains(writer));
  }

  @Override
  public Identifier[] listTables(String[] namespace) {
    Path folder = new Path(folder(namespace));
    List<Identifier> found = new ArrayList<>();
    try {
      FileSystem files = folder.getFileSystem(S3aSettings.configuration(options));
      if (!files.exists(folder)) {
        return new Identifier[0];
      }
      for (FileStatus entry : files.listStatus(folder)) {
        boolean isHidden = entry.getPath().getName().startsWith(".") || entry.getPath().getName().startsWith("_");
        if (!isHidden && entry.isDirectory() && files.exists(new Path(entry.getPath(), "_delta_log"))) {
          found.add(Identifier.of(namespace, entry.getPath().getName()));
        }
      }
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return found.toArray(new Identifier[0]);
  }

  @Override
  public Table alterTable(Identifier table, TableChange... changes) throws NoSuchTableException {
    if (isEvolving()) {
      evolved.set(evolved(table, changes));
      return evolved.get();
    }
    String location = location(table);
    Map<String, String> named = new TableChanges(location, changes).named();
    Map<String, String> all = Locations.resolved(location, options);
    try {
      byte[] version = Native.alter(Native.bytes(location), Native.options(all), Native.options(named));
      String made = new String(version, StandardCharsets.UTF_8);
      if (!made.isEmpty()) {
        FreshVersions.note(location, Long.parseLong(made));
        CachedFrames.refresh(location);
      }
    } catch (NativeException error) {
      throw LakeraceException.<RuntimeException>rethrown(error.forSpark().forAnalysis());
    }
    return load(table, null);
  }

  /** Removes a table below the warehouse, with its files. */
  @Override
  public boolean dropTable(Identifier table) {
    String location = location(table);
    if (isLocation(table)) {
      throw LakeraceException.unsupported(Locations.shown(location) + ": DROP TABLE removes tables that have a name below the warehouse of the catalog "
          + name + ": remove the folder of this one").forAnalysis();
    }
    try {
      boolean wasThere = Native.drop(Native.bytes(location), Native.options(Locations.resolved(location, options))) == 1;
      CachedFrames.forget(location);
      return wasThere;
    } catch (NativeException error) {
      throw LakeraceException.<RuntimeException>rethrown(error.forSpark().forAnalysis());
    }
  }

  @Override
  public void renameTable(Identifier from, Identifier to) {
    throw LakeraceException.unsupported("lakerace does not rename tables; rename the folder " + location(from)).forAnalysis();
  }
}
