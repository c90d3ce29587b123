package lakerace.spark;

import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** The message of a task for the commit of its files. */
final class TaskMessage implements WriterCommitMessage {
  private static final long serialVersionUID = 1;

  final String text;

  TaskMessage(String text) {
    this.text = text;
  }
}
