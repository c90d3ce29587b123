package lakerace.spark;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** The one commit of a write, in the driver. */
final class DriverCommit {
  /** The form in which the engine reports the version that a commit has made. */
  private static final Pattern VERSION = Pattern.compile("^version (\\d+)");

  private final String location;
  private final Map<String, String> options;
  private final StructType schema;
  private boolean isCommitting;

  /** {@code options} may be extended until the commit. */
  DriverCommit(String location, Map<String, String> options, StructType schema) {
    this.location = location;
    this.options = options;
    this.schema = schema;
  }

  void commit(WriterCommitMessage[] messages) {
    // From here on, only the engine knows whether the files belong to the table.
    isCommitting = true;
    byte[] made;
    try {
      made = Native.commit(Native.bytes(location), Native.options(options), Native.bytes(schema.json()), texts(messages));
    } catch (NativeException error) {
      throw error.forSpark();
    }
    Matcher version = VERSION.matcher(new String(made, StandardCharsets.UTF_8));
    if (version.find()) {
      FreshVersions.note(location, Long.parseLong(version.group(1)));
    }
    CachedFrames.refresh(location);
  }

  void abort(WriterCommitMessage[] messages) {
    if (isCommitting) {
      return;
    }
    try {
      Native.discard(Native.bytes(location), Native.options(options), texts(messages));
    } catch (NativeException error) {
      throw error.forSpark();
    }
  }

  private static byte[] texts(WriterCommitMessage[] messages) {
    StringBuilder texts = new StringBuilder();
    for (WriterCommitMessage message : messages) {
      if (message != null) {
        texts.append(texts.length() == 0 ? "" : String.valueOf(Native.RECORD)).append(((TaskMessage) message).text);
      }
    }
    return Native.bytes(texts.toString());
  }
}
