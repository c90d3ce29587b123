package lakerace.spark;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.Map;

/**
 * The engine. The native library is in the jar, a copy for each platform, and is loaded once per JVM.
 *
 * <p>Texts cross the boundary as UTF-8 bytes, handles and batches as addresses. Errors are {@link NativeException}s.
 */
final class Native {
  /** The property with the path of a library to load in place of the jar's own. */
  static final String LIBRARY_PROPERTY = "lakerace.spark.native";

  /** Separates the parts of a text that crosses the boundary. */
  static final char UNIT = '\u001f';

  /** Separates records of such parts. */
  static final char RECORD = '\u001e';

  /** Separates names of columns. */
  static final char NAME = '\u001d';

  /** Separates the names that lead to a field of a column. */
  static final char STEP = '\u001c';

  /** The result of {@link #next} before a batch has come, and after the last one. */
  static final long NOT_YET = 0;

  static final long NO_MORE = -1;

  private Native() {}

  static {
    load();
    attach();
  }

  /** Answers a question for credentials. The engine calls it on its own threads. */
  static byte[] credentials(byte[] question) {
    return S3aCredentials.answer(question);
  }

  /** Lets the engine call {@link #credentials}. */
  private static native void attach();

  static native byte[] plan(byte[] location, byte[] options);

  static native long open(byte[] location, byte[] options, byte[] task);

  static native long schema(long reader);

  static native long next(long reader, long millis);

  static native long count(long reader, int what);

  static native void release(long batch);

  static native void close(long reader);

  static native byte[] target(byte[] location, byte[] options);

  static native byte[] prepare(byte[] location, byte[] options, byte[] schema);

  static native long begin(byte[] location, byte[] options, byte[] schema);

  static native void write(long writer, int rows, long[] words);

  static native byte[] finish(long writer);

  static native void abort(long writer);

  static native byte[] commit(byte[] location, byte[] options, byte[] schema, byte[] messages);

  static native void discard(byte[] location, byte[] options, byte[] messages);

  static native byte[] alter(byte[] location, byte[] options, byte[] changes);

  static native int drop(byte[] location, byte[] options);

  static native byte[] stream(byte[] location, byte[] options);

  static native long live(int what);

  /** A text in the form in which it crosses the boundary. */
  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** The records of a text from the engine. */
  static String[] records(byte[] text) {
    return new String(text, StandardCharsets.UTF_8).split(String.valueOf(RECORD), -1);
  }

  /** Options in the form in which they cross the boundary: a JSON object. */
  static byte[] options(Map<String, String> options) {
    StringBuilder text = new StringBuilder("{");
    for (Map.Entry<String, String> option : options.entrySet()) {
      text.append(text.length() == 1 ? "" : ",");
      quote(option.getKey(), text);
      text.append(':');
      quote(option.getValue(), text);
    }
    return bytes(text.append('}').toString());
  }

  /** Appends a text as a JSON string. */
  static void quote(String value, StringBuilder text) {
    text.append('"');
    for (int at = 0; at < value.length(); at++) {
      char character = value.charAt(at);
      if (character == '"' || character == '\\') {
        text.append('\\').append(character);
      } else if (character < ' ') {
        text.append(String.format("\\u%04x", (int) character));
      } else {
        text.append(character);
      }
    }
    text.append('"');
  }

  private static void load() {
    String named = System.getProperty(LIBRARY_PROPERTY);
    if (named != null) {
      LibraryLoader.load(named);
      return;
    }
    String resource = "/native/" + platform() + "/" + System.mapLibraryName("lakerace_spark");
    try (InputStream library = Native.class.getResourceAsStream(resource)) {
      if (library == null) {
        throw new UnsatisfiedLinkError(
            "the lakerace jar has no native library for " + platform() + " (" + resource
                + "): build the jar on such a machine with `make spark`, or name a library with -D" + LIBRARY_PROPERTY + "=FILE");
      }
      Path copy = Files.createTempFile("lakerace-spark-", ".so");
      try {
        Files.copy(library, copy, StandardCopyOption.REPLACE_EXISTING);
        LibraryLoader.load(copy.toAbsolutePath().toString());
      } finally {
        // A loaded library stays, even after its file is deleted.
        Files.deleteIfExists(copy);
      }
    } catch (IOException error) {
      throw new UnsatisfiedLinkError("the native library of lakerace can't be copied to " + System.getProperty("java.io.tmpdir") + ": " + error);
    }
  }

  private static String platform() {
    String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
    String name = system.startsWith("mac") ? "macos" : system.startsWith("windows") ? "windows" : "linux";
    String machine = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
    return name + "-" + (machine.equals("amd64") ? "x86_64" : machine.equals("arm64") ? "aarch64" : machine);
  }
}
