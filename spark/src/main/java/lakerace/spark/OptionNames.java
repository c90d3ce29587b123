package lakerace.spark;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The names of options. Any other name is an error: a write whose option {@code key} is misspelled would be no upsert.
 */
final class OptionNames {
  private static final List<String> KNOWN = Arrays.asList(
      "versionAsOf", "version", "timestampAsOf", "timestamp", "columns", "where", "format", "key", "sequence", "distribution", "partition_by",
      "compression", "row_group_rows", "file_bytes", "bloom_filter", "partitionOverwriteMode", "replaceWhere", "mergeSchema", "overwriteSchema", "readChangeFeed", "startingVersion",
      "endingVersion", "startingTimestamp", "maxFilesPerTrigger", "maxBytesPerTrigger", "ignoreChanges", "ignoreDeletes",
      "skipChangeCommits", "txnAppId", "txnVersion", "header", "delimiter", "quote", "escape", "null_string", "csv_schema",
      "infer_rows", "skip_rows", "comment", "date_format", "timestamp_format", "decimal_comma", "encoding", "sheet", "threads",
      "batch_rows", "max_task_bytes", "min_seek_size", "max_requests_in_flight", "durability");

  /** The prefix of the names in a statement's OPTIONS, which Spark also passes without it. */
  static final String OPTION = "option.";

  /** The prefix of properties of tables, whose names are case-sensitive. */
  private static final String PROPERTY = "table.";

  /** The prefix of Hadoop's settings of file systems, whose names are case-sensitive. */
  static final String HADOOP = "fs.";

  private static final List<String> PREFIXES = Arrays.asList(PROPERTY, HADOOP, "storage.", OPTION);

  /** Options that Spark adds to those of its user: the location of a table, and properties in its session catalog. */
  private static final List<String> OF_SPARK =
      Arrays.asList("path", "paths", "checkpointlocation", "queryname", "provider", "owner", "location", "external", "comment", "is_managed_location", "serialization.format");

  /** Names with a special error, which says more. */
  private static final List<String> REFUSED = Arrays.asList("endingtimestamp");

  /** Names that differ in more characters than this are not suggested for one another. */
  private static final int MOST_CHANGES = 3;

  private OptionNames() {}

  /** A name in the engine's form: in lower case, unless it is case-sensitive. */
  static String plain(String name) {
    return name.startsWith(PROPERTY) || name.startsWith(HADOOP) ? name : name.toLowerCase(Locale.ROOT);
  }

  /** The names of options in the spelling of users. */
  static List<String> known() {
    return KNOWN;
  }

  /** Fails for an unknown option, and names it. */
  static void check(Set<String> names) {
    // A table of the session catalog passes its properties, too, whose names users choose.
    boolean hasProperties = names.stream().anyMatch("provider"::equalsIgnoreCase);
    for (String name : names) {
      if (!(isKnown(name) || hasProperties && !names.contains(OPTION + name))) {
        String nearest = nearest(name.toLowerCase(Locale.ROOT));
        throw LakeraceException.usage("lakerace has no option \"" + name + "\": "
            + (nearest == null ? "it has " + String.join(", ", KNOWN) + ", table.NAME, storage.NAME, fs.NAME" : "\"" + nearest + "\" is the nearest one"));
      }
    }
  }

  private static boolean isKnown(String name) {
    String lower = name.toLowerCase(Locale.ROOT);
    return OF_SPARK.contains(lower) || REFUSED.contains(lower) || PREFIXES.stream().anyMatch(lower::startsWith) || KNOWN.stream().anyMatch(name::equalsIgnoreCase);
  }

  /** The known name with the smallest edit distance; null where all distances are too large, or half of the name. */
  private static String nearest(String lower) {
    String nearest = null;
    int least = Math.min(MOST_CHANGES, lower.length() / 2) + 1;
    for (String known : KNOWN) {
      int changes = UTF8String.fromString(lower).levenshteinDistance(UTF8String.fromString(known.toLowerCase(Locale.ROOT)));
      if (changes < least) {
        nearest = known;
        least = changes;
      }
    }
    return nearest;
  }
}
