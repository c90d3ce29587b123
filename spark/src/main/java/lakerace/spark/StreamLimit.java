package lakerace.spark;

import java.util.Map;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;

/** The most that a micro-batch reads, by the options {@code maxFilesPerTrigger} and {@code maxBytesPerTrigger}. */
final class StreamLimit implements ReadLimit {
  /** Files of a micro-batch where no option limits it, as in delta-spark. */
  private static final String FILES = "1000";

  private static final String MAX_FILES = "maxfilespertrigger";
  private static final String MAX_BYTES = "maxbytespertrigger";

  /** Null if only bytes are limited. */
  final String files;
  /** Null if only files are limited. */
  final String bytes;

  StreamLimit(Map<String, String> options) {
    this.bytes = options.containsKey(MAX_BYTES) ? bytes(options.get(MAX_BYTES)) : null;
    String number = options.getOrDefault(MAX_FILES, bytes == null ? FILES : null);
    if (number != null && !number.matches("0*[1-9]\\d{0,17}")) {
      throw LakeraceException.usage("option \"maxFilesPerTrigger\" is " + number + ", which is not a positive integer");
    }
    this.files = number;
  }

  /** A number of bytes, with or without a unit, in Spark's syntax. */
  private static String bytes(String text) {
    try {
      long bytes = org.apache.spark.network.util.JavaUtils.byteStringAs(text, org.apache.spark.network.util.ByteUnit.BYTE);
      if (bytes > 0) {
        return String.valueOf(bytes);
      }
    } catch (NumberFormatException error) {
      throw unreadable(text);
    }
    throw unreadable(text);
  }

  private static RuntimeException unreadable(String text) {
    return LakeraceException.usage("option \"maxBytesPerTrigger\" is " + text + ": give bytes above 0, such as 100000 or 64m");
  }
}
