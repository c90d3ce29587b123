package lakerace.spark;

import java.util.Collections;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.SparkThrowable;

/** An error of lakerace as a Spark exception, with the condition {@code LAKERACE_KIND} and an SQL state. */
public class LakeraceException extends RuntimeException implements SparkThrowable {
  private static final long serialVersionUID = 1;

  private final String kind;

  LakeraceException(String kind, String message, Throwable cause) {
    super(message, cause);
    this.kind = kind;
  }

  /** An error that the caller can fix by other options. */
  static RuntimeException usage(String message) {
    return new LakeraceException("usage", message, null).forAnalysis();
  }

  /** A request of Spark that lakerace does not support. */
  static LakeraceException unsupported(String message) {
    return new LakeraceException("unsupported", message, null);
  }

  /** An error for rows that do not fit in memory. */
  static LakeraceException outOfMemory(String message) {
    return new LakeraceException("out_of_memory", message, null);
  }

  /** The same error for work of the driver before a job runs: an error in the query fails its analysis. */
  RuntimeException forAnalysis() {
    switch (kind) {
      case "usage":
      case "not_found":
      case "invalid_input":
      case "unsupported":
        return LakeraceException.<RuntimeException>rethrown(new LakeraceAnalysisException(this));
      default:
        return this;
    }
  }

  /** Throws an exception that Java requires to be declared, and Scala does not. */
  @SuppressWarnings("unchecked")
  static <E extends Throwable> RuntimeException rethrown(Throwable error) throws E {
    throw (E) error;
  }

  /** Spark 3.5's name of the condition. */
  @Override
  public String getErrorClass() {
    return getCondition();
  }

  /** Spark 4's name of the condition. */
  public String getCondition() {
    return "LAKERACE_" + kind.toUpperCase(Locale.ROOT);
  }

  @Override
  public String getSqlState() {
    switch (kind) {
      case "usage":
        return "22023";
      case "not_found":
        return "42K03";
      case "invalid_input":
        return "22000";
      case "unsupported":
        return "0A000";
      case "conflict":
        return "40001";
      case "unavailable":
        return "08000";
      case "out_of_memory":
        return "53200";
      default:
        return "XX000";
    }
  }

  @Override
  public Map<String, String> getMessageParameters() {
    return Collections.singletonMap("message", getMessage());
  }
}
