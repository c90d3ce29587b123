package lakerace.spark;

import org.apache.spark.sql.connector.read.streaming.Offset;

/** A place between two files of a stream, as checkpoints keep it. */
final class StreamPosition extends Offset {
  private final String json;

  StreamPosition(String json) {
    this.json = json;
  }

  /** The text of the engine, which is the same for the same place. */
  @Override
  public String json() {
    return json;
  }
}
