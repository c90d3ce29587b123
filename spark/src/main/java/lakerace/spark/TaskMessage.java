package lakerace.spark;

import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** What a task has written. */
final class TaskMessage implements WriterCommitMessage {
  private static final long serialVersionUID = 1;

  final String text;

  TaskMessage(String text) {
    this.text = text;
  }
}
