package lakerace.spark;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** The metrics of a scan in Spark's UI. */
public final class Metrics {
  private Metrics() {}

  /** Requests to the store. */
  public static final class Requests extends CustomSumMetric {
    @Override
    public String name() {
      return "requests";
    }

    @Override
    public String description() {
      return "requests to the store";
    }
  }

  /** Bytes received from the store. */
  public static final class Bytes extends CustomSumMetric {
    @Override
    public String name() {
      return "bytesReceived";
    }

    @Override
    public String description() {
      return "bytes received from the store";
    }
  }

  static CustomMetric[] all() {
    return new CustomMetric[] {new Requests(), new Bytes()};
  }

  static CustomTaskMetric[] of(long reader) {
    return new CustomTaskMetric[] {new Value("requests", Native.count(reader, 0)), new Value("bytesReceived", Native.count(reader, 1))};
  }

  private static final class Value implements CustomTaskMetric {
    private final String name;
    private final long value;

    Value(String name, long value) {
      this.name = name;
      this.value = value;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public long value() {
      return value;
    }
  }
}
