import com.amazonaws.auth.AWSCredentials;
import com.amazonaws.auth.AWSCredentialsProvider;
import com.amazonaws.auth.BasicAWSCredentials;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.List;
import org.apache.hadoop.conf.Configuration;

/** Credentials as they stand in a file now: a line for the key, and one for its secret. */
public class FileProvider implements AWSCredentialsProvider {
  private final String file;

  public FileProvider(URI bucket, Configuration hadoop) {
    this.file = hadoop.get("fs.s3a.test.file");
  }

  @Override
  public AWSCredentials getCredentials() {
    try {
      List<String> lines = Files.readAllLines(Paths.get(file));
      return new BasicAWSCredentials(lines.get(0), lines.get(1));
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  @Override
  public void refresh() {}
}
