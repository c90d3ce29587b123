import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Paths;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** Stands in for Hadoop's S3A: hands out the key that a file holds now. */
public final class RotatingKeys extends RawLocalFileSystem {
  @Override
  public void initialize(URI uri, Configuration settings) throws IOException {
    super.initialize(URI.create("file:///"), settings);
  }

  /** As S3A has it, in each version. */
  public Keys shareCredentials(String purpose) {
    return new Keys(getConf().get("fs.s3a.Keys.File"));
  }

  /** The providers of a bucket. */
  public static final class Keys implements AutoCloseable {
    private final String file;

    Keys(String file) {
      this.file = file;
    }

    /** What the providers give now. */
    public Key getCredentials() throws IOException {
      return new Key(new String(Files.readAllBytes(Paths.get(file))));
    }

    @Override
    public void close() {}
  }

  /** A key for a session. */
  public static final class Key {
    private final String id;

    Key(String id) {
      this.id = id;
    }

    public String getAWSAccessKeyId() {
      return id;
    }

    public String getAWSSecretKey() {
      return "secret of " + id;
    }

    public String getSessionToken() {
      return "token of " + id;
    }
  }
}
