package lakerace.spark;

import org.apache.spark.sql.connector.read.streaming.Offset;

/** A position between two files of a stream, as stored in checkpoints. */
final class StreamPosition extends Offset {
  private final String json;

  StreamPosition(String json) {
    this.json = json;
  }

  /** The engine's text, which is the same for the same position. */
  @Override
  public String json() {
    return json;
  }
}
