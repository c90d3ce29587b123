package lakerace.spark;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.unsafe.types.UTF8String;

/** The names of options. One that is not among them is an error: a write without its key, misspelled, is no upsert. */
final class OptionNames {
  private static final List<String> KNOWN = Arrays.asList(
      "versionAsOf", "version", "timestampAsOf", "timestamp", "columns", "where", "format", "key", "sequence", "distribution", "partition_by",
      "compression", "row_group_rows", "file_bytes", "bloom_filter", "partitionOverwriteMode", "replaceWhere", "readChangeFeed", "startingVersion",
      "endingVersion", "startingTimestamp", "maxFilesPerTrigger", "maxBytesPerTrigger", "ignoreChanges", "ignoreDeletes",
      "skipChangeCommits", "txnAppId", "txnVersion", "header", "delimiter", "quote", "escape", "null_string", "csv_schema",
      "infer_rows", "skip_rows", "comment", "date_format", "timestamp_format", "decimal_comma", "encoding", "threads",
      "batch_rows", "max_task_bytes", "min_seek_size", "max_requests_in_flight", "durability");

  /** Begins the names of a statement's OPTIONS, which Spark gives once more without it. */
  static final String OPTION = "option.";

  /** Begins the names of properties of tables, in which capitals count. */
  private static final String PROPERTY = "table.";

  /** Begins the names of Hadoop's settings of file systems, in which capitals count. */
  static final String HADOOP = "fs.";

  private static final List<String> PREFIXES = Arrays.asList(PROPERTY, HADOOP, "storage.", OPTION);

  /** What Spark gives beside what its user does: where a table is, and what its session catalog keeps of one. */
  private static final List<String> OF_SPARK =
      Arrays.asList("path", "paths", "checkpointlocation", "queryname", "provider", "owner", "location", "external", "comment", "is_managed_location", "serialization.format");

  /** Names that get an error of their own, which says more. */
  private static final List<String> REFUSED = Arrays.asList("endingtimestamp");

  /** Names that are further apart than this are not taken for one another. */
  private static final int MOST_CHANGES = 3;

  private OptionNames() {}

  /** A name as the engine knows it: in lower case, unless capitals count. */
  static String plain(String name) {
    return name.startsWith(PROPERTY) || name.startsWith(HADOOP) ? name : name.toLowerCase(Locale.ROOT);
  }

  /** The names of options, as users write them. */
  static List<String> known() {
    return KNOWN;
  }

  /** An error that names an option which is not known. */
  static void check(Set<String> names) {
    // A table of the session catalog gives its properties, too, which are its user's own.
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

  /** The known name that the fewest changes make of this one; null where each takes too many, or half of the name. */
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
