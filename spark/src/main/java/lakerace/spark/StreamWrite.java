package lakerace.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.types.StructType;

/**
 * The writes of a stream's micro-batches. Each is a transaction of the stream in the table's log, so that a micro-batch that runs again after
 * its commit adds nothing.
 */
final class StreamWrite implements StreamingWrite {
  private final WritePlan plan;
  private final String location;
  private final Map<String, String> options;
  private final StructType schema;
  private DriverCommit commit;

  /** {@code options} are extended when the plan creates its writers. */
  StreamWrite(WritePlan plan, String location, Map<String, String> options, StructType schema) {
    this.plan = plan;
    this.location = location;
    this.options = options;
    this.schema = schema;
  }

  @Override
  public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
    return plan.writers();
  }

  @Override
  public void commit(long batch, WriterCommitMessage[] messages) {
    Map<String, String> all = new HashMap<>(options);
    all.put("txnappid", options.get("write.id"));
    all.put("txnversion", String.valueOf(batch));
    commit = new DriverCommit(location, all, schema);
    commit.commit(messages);
  }

  @Override
  public void abort(long batch, WriterCommitMessage[] messages) {
    // A commit that has started knows itself which files belong to the table.
    (commit != null ? commit : new DriverCommit(location, options, schema)).abort(messages);
  }
}
