package lakerace.spark;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;

/** The credential providers of Hadoop's S3A for a bucket. Their classes differ between versions, and may be absent. */
final class S3aCredentials {
  /** Configurations whose providers are cached: a job has one for each bucket. */
  private static final int KEPT = 64;

  private static final Map<String, S3aCredentials> OPEN = new LinkedHashMap<>();

  /** The loader of the providers' classes: the engine's threads have no class loader. */
  private static volatile ClassLoader loader;

  private final String bucket;
  private final Object providers;
  /** True for providers of the AWS SDK's first version, which Hadoop uses before 3.4. */
  private final boolean isOld;

  private S3aCredentials(Configuration hadoop, String bucket) {
    this.bucket = bucket;
    try {
      FileSystem store = FileSystem.get(URI.create("s3a://" + bucket + "/"), hadoop);
      Object owner = has(store, "getS3AInternals") ? call(store, "getS3AInternals") : store;
      Method share = owner.getClass().getMethod("shareCredentials", String.class);
      share.setAccessible(true);
      this.providers = share.invoke(owner, "lakerace");
      this.isOld = !has(providers, "resolveCredentials");
    } catch (InvocationTargetException error) {
      throw none(error.getCause());
    } catch (Exception error) {
      throw LakeraceException.usage(S3aSettings.PROVIDER + " is set, and Hadoop's S3A does not open the bucket " + bucket
          + ": add its jar (hadoop-aws), or give fs.s3a.access.key and fs.s3a.secret.key alone; " + (error.getCause() == null ? error : error.getCause()));
    }
  }

  /** Fails where the providers have no credentials for a bucket. */
  static void check(Configuration hadoop, String bucket) {
    S3aCredentials found = new S3aCredentials(hadoop, bucket);
    try {
      found.resolve();
    } finally {
      found.close();
    }
  }

  /** Stores the class loader of a Spark thread. */
  static void keepLoader() {
    loader = Thread.currentThread().getContextClassLoader();
  }

  /**
   * Answers the engine's question before each request: the records of a bucket and of Hadoop's settings, names and
   * values. The answer is {@code keys}, an id, a secret and a token, or {@code error} and a message. Throws nothing.
   */
  static byte[] answer(byte[] question) {
    String answer;
    try {
      Thread.currentThread().setContextClassLoader(loader);
      answer = "keys" + Native.UNIT + String.join(String.valueOf(Native.UNIT), of(question).resolve());
    } catch (Throwable error) {
      answer = "error" + Native.UNIT + error.getMessage();
    }
    return Native.bytes(answer);
  }

  private static S3aCredentials of(byte[] question) {
    String[] records = Native.records(question);
    String name = String.join(String.valueOf(Native.RECORD), records);
    synchronized (OPEN) {
      S3aCredentials found = OPEN.get(name);
      if (found == null) {
        Configuration hadoop = new Configuration();
        for (int at = 1; at < records.length; at++) {
          int unit = records[at].indexOf(Native.UNIT);
          hadoop.set(records[at].substring(0, unit), records[at].substring(unit + 1));
        }
        found = new S3aCredentials(hadoop, records[0]);
        OPEN.put(name, found);
        if (OPEN.size() > KEPT) {
          OPEN.remove(OPEN.keySet().iterator().next()).close();
        }
      }
      return found;
    }
  }

  /** A key's id, its secret, and a token, which may be empty. */
  private String[] resolve() {
    try {
      Object found = call(providers, isOld ? "getCredentials" : "resolveCredentials");
      String token = isOld ? "getSessionToken" : "sessionToken";
      return new String[] {
        (String) call(found, isOld ? "getAWSAccessKeyId" : "accessKeyId"),
        (String) call(found, isOld ? "getAWSSecretKey" : "secretAccessKey"),
        has(found, token) ? (String) call(found, token) : "",
      };
    } catch (InvocationTargetException error) {
      throw none(error.getCause());
    } catch (ReflectiveOperationException error) {
      throw none(error);
    }
  }

  private RuntimeException none(Throwable cause) {
    return LakeraceException.usage("Hadoop's " + S3aSettings.PROVIDER + " gives no credentials for the bucket " + bucket + ": " + cause);
  }

  private void close() {
    try {
      ((AutoCloseable) providers).close();
    } catch (Exception error) {
      // Credentials stay valid after their providers are closed, and the providers are not asked again.
    }
  }

  private static boolean has(Object object, String method) {
    for (Method found : object.getClass().getMethods()) {
      if (found.getName().equals(method) && found.getParameterCount() == 0) {
        return true;
      }
    }
    return false;
  }

  /** Calls a public method, also of a class that is not public. */
  private static Object call(Object object, String method) throws ReflectiveOperationException {
    Method found = object.getClass().getMethod(method);
    found.setAccessible(true);
    return found.invoke(object);
  }
}
