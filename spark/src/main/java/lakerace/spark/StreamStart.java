package lakerace.spark;

import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.function.Supplier;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;

/**
 * The first position of a stream, kept in its folder of the checkpoint. Spark asks for it again where the first micro-batch has
 * not been committed, and by then the table may have other versions.
 */
final class StreamStart {
  private static final String NAME = "lakerace-start.json";

  private final Path folder;
  private final Path file;

  /** {@code folder} is the one that Spark gives a source in the checkpoint. */
  StreamStart(String folder) {
    this.folder = new Path(folder);
    this.file = new Path(folder, NAME);
  }

  /** The path of the file, for errors. */
  String shown() {
    return file.toString();
  }

  /** The kept position; without one, the position that {@code first} returns, which is kept from then on. */
  String position(Supplier<String> first) {
    try {
      FileSystem files = file.getFileSystem(SparkSession.active().sparkContext().hadoopConfiguration());
      String kept = kept(files);
      if (kept != null) {
        return kept;
      }
      checkUnplanned(files);
      keep(files, first.get());
      // Another process may have kept one first.
      kept = kept(files);
      if (kept == null) {
        throw LakeraceException.usage(file + ": the first position of the stream was written, and is gone: start a query with another checkpoint");
      }
      return kept;
    } catch (IOException error) {
      throw new UncheckedIOException(file + ": the first position of the stream", error);
    }
  }

  /** The text of the file; null where there is none. */
  private String kept(FileSystem files) throws IOException {
    try (InputStream input = files.open(file)) {
      ByteArrayOutputStream text = new ByteArrayOutputStream();
      byte[] part = new byte[4096];
      for (int read = input.read(part); read >= 0; read = input.read(part)) {
        text.write(part, 0, read);
      }
      return new String(text.toByteArray(), StandardCharsets.UTF_8);
    } catch (FileNotFoundException error) {
      return null;
    }
  }

  /** Fails where Spark has planned a micro-batch from a first position that is not known any more. */
  private void checkUnplanned(FileSystem files) throws IOException {
    Path sources = folder.getParent();
    Path planned = sources == null || sources.getParent() == null ? null : new Path(sources.getParent(), "offsets/0");
    if (planned != null && files.exists(planned)) {
      throw LakeraceException.usage(file + ": the first position of the stream is not there, and its first micro-batch is planned (" + planned
          + "): start a query with another checkpoint");
    }
  }

  /** Writes the file at once or not at all. */
  private void keep(FileSystem files, String position) throws IOException {
    files.mkdirs(folder);
    Path hidden = new Path(folder, "." + NAME + "." + UUID.randomUUID() + ".tmp");
    try (OutputStream output = files.create(hidden, false)) {
      output.write(position.getBytes(StandardCharsets.UTF_8));
    }
    if (!files.rename(hidden, file)) {
      files.delete(hidden, false);
    }
  }
}
