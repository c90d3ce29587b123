package lakerace.spark;

import java.util.Map;
import java.util.TimeZone;
import java.util.TreeMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/** Locations and the settings of their stores. */
final class Locations {
  private Locations() {}

  /** The location that is read or written, from the option {@code path}. */
  static String of(Map<String, String> options) {
    String path = options.get("path");
    if (path == null && options.containsKey("paths")) {
      throw LakeraceException.usage("several locations are given: give load(...) a folder, or a pattern such as /in/2026-*.parquet");
    }
    if (path == null || path.isEmpty()) {
      throw LakeraceException.usage("no location is given: give it to load(...) or save(...), or as option(\"path\", ...)");
    }
    return plain(path);
  }

  /** A location in the engine's form: Hadoop writes {@code file:/folder} for a folder of this machine. */
  static String plain(String path) {
    return path.startsWith("file:/") && !path.startsWith("file://") ? path.substring("file:".length()) : path;
  }

  /** A location for display: the part after a question mark is left out, as it may be a secret of the store. */
  static String shown(String location) {
    int at = location.startsWith("tpch:") ? -1 : location.indexOf('?');
    return at < 0 ? location : location.substring(0, at);
  }

  /** Options with the version under one name, and with the settings of the store from Hadoop's configuration. */
  static Map<String, String> resolved(String location, Map<String, String> given) {
    Map<String, String> options = named(given);
    // By the JVM's zone, Spark interprets timestamps of ORC as instants, in executors and in the driver.
    options.put("session.jvm_zone", TimeZone.getDefault().getID());
    S3aSettings.take(location, options);
    return options;
  }

  /** Options with lower-case names, and with the version under one name. An unknown name is an error. */
  static Map<String, String> named(Map<String, String> given) {
    OptionNames.check(given.keySet());
    Map<String, String> options = new TreeMap<>();
    given.forEach((name, value) -> options.put(OptionNames.plain(name), value));
    options.remove("path");
    takeVersion(options);
    return options;
  }

  /** Options of a query or a write for a table that was opened with others. */
  static Map<String, String> asked(Map<String, String> given, Map<String, String> ofTable) {
    Map<String, String> options = named(given);
    options.forEach((name, value) -> {
      if (name.startsWith(OptionNames.HADOOP) && !value.equals(ofTable.get(name))) {
        throw LakeraceException.usage("option \"" + name + "\" has no effect on a table of a catalog: set spark.sql.catalog.CATALOG." + name
            + ", or spark.hadoop." + name + " for all tables");
      }
    });
    return options;
  }

  private static void takeVersion(Map<String, String> options) {
    String at = null;
    for (String name : new String[] {"version", "versionasof", "timestamp", "timestampasof"}) {
      String value = options.remove(name);
      if (value != null && at != null) {
        throw LakeraceException.usage("two versions are given: give one of the options version and timestamp");
      }
      at = value != null ? value : at;
    }
    if (at != null) {
      options.put("at", at);
    }
  }

  /**
   * The column that Spark means by a name, case-sensitively or not depending on its setting; null where there is none.
   */
  static String column(StructType schema, String name) {
    boolean ignoresCase = ignoresCase();
    String found = null;
    for (String column : schema.fieldNames()) {
      if (column.equals(name)) {
        return column;
      }
      if (ignoresCase && found == null && column.equalsIgnoreCase(name)) {
        found = column;
      }
    }
    return found;
  }

  /** Returns true if Spark ignores the case of column names. */
  static boolean ignoresCase() {
    return !Boolean.parseBoolean(SparkSession.active().conf().get("spark.sql.caseSensitive", "false"));
  }

  /** A column's name in the syntax of Spark's expressions. */
  static String quoted(String name) {
    return "`" + name.replace("`", "``") + "`";
  }
}
