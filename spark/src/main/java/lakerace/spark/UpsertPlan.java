package lakerace.spark;

import java.util.Map;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;

/** A write by a key: rows that a stream updates replace those with the same key. */
final class UpsertPlan extends WritePlan implements SupportsStreamingUpdateAsAppend {
  UpsertPlan(String location, Map<String, String> options, LogicalWriteInfo info, boolean choosesMode, String distribution) {
    super(location, options, info, choosesMode, distribution);
  }
}
