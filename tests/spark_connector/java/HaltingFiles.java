import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** The local files as `halt:`, whose process ends like a killed one where the plan of the first micro-batch is written and has no name yet. */
public final class HaltingFiles extends RawLocalFileSystem {
  private static final int KILLED = 137;

  @Override
  public URI getUri() {
    return URI.create("halt:///");
  }

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    if (to.toUri().getPath().endsWith("/offsets/0")) {
      Runtime.getRuntime().halt(KILLED);
    }
    return super.rename(from, to);
  }
}
