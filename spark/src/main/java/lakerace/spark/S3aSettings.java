package lakerace.spark;

import java.io.IOException;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;

/**
 * What Hadoop's configuration says of S3, as the engine's options: those of a bucket before those of all. What Spark or Hadoop says by itself is
 * left to the environment.
 */
final class S3aSettings {
  /** The setting that names who hands out credentials. */
  static final String PROVIDER = "fs.s3a.aws.credentials.provider";

  private static final String PREFIX = "fs.s3a.";
  /** Before the settings that Hadoop finds credentials by, in options: the engine asks by them. */
  private static final String KEPT = "hadoop.";
  private static final String BUCKET = "hadoop.bucket";
  private static final String KEY = "storage.aws_access_key_id";
  private static final String SECRET = "storage.aws_secret_access_key";
  private static final String TOKEN = "storage.aws_session_token";
  /** Settings of Hadoop's S3A and what they are called in the engine. */
  private static final String[][] NAMES = {
    {"access.key", KEY}, {"secret.key", SECRET}, {"session.token", TOKEN}, {"endpoint.region", "storage.aws_region"}, {"endpoint", "storage.aws_endpoint"},
  };

  /** The source of the settings that Spark makes where nothing says otherwise. */
  private static final String SPARK_DEFAULTS = "Set by Spark to default values";

  /** Ends the source of the token that Spark copies from its environment, as it does the keys of that environment. */
  private static final String TOKEN_VARIABLE = " from AWS_SESSION_TOKEN";

  private S3aSettings() {}

  /** Adds what Hadoop's configuration says of the store of a location; what options say in the engine's own names stays. */
  static void take(String location, Map<String, String> options) {
    Configuration hadoop = configuration(options);
    String bucket = bucket(location);
    boolean hasKeys = options.containsKey(KEY);
    for (String[] name : NAMES) {
      String value = name[1].equals(TOKEN) && isTokenOfOthers(hadoop, bucket) ? "" : secret(hadoop, bucket, name[0]);
      if (!value.isEmpty() && !(hasKeys && (name[1].equals(SECRET) || name[1].equals(TOKEN)))) {
        options.putIfAbsent(name[1], value);
      }
    }
    if (bucket != null && !hasKeys && hasProvider(hadoop, bucket)) {
      options.put(BUCKET, bucket);
      for (Map.Entry<String, String> setting : hadoop.getPropsWithPrefix(PREFIX).entrySet()) {
        if (isGiven(hadoop, PREFIX + setting.getKey())) {
          options.put(KEPT + PREFIX + setting.getKey(), setting.getValue());
        }
      }
      S3aCredentials.check(hadoop, bucket);
      S3aCredentials.keepLoader();
    }
    String endpoint = options.get("storage.aws_endpoint");
    if (endpoint != null && !endpoint.contains("://")) {
      boolean isTls = hadoop.getBoolean(PREFIX + "connection.ssl.enabled", true);
      endpoint = (isTls ? "https://" : "http://") + endpoint;
      options.put("storage.aws_endpoint", endpoint);
    }
    if (endpoint != null && endpoint.startsWith("http://")) {
      options.putIfAbsent("storage.aws_allow_http", "true");
    }
  }

  /** The session's configuration, with those of Hadoop's settings that are options. */
  static Configuration configuration(Map<String, String> options) {
    Configuration session = SparkSession.active().sparkContext().hadoopConfiguration();
    if (options.keySet().stream().noneMatch(name -> name.startsWith(OptionNames.HADOOP))) {
      return session;
    }
    Configuration all = new Configuration(session);
    options.forEach((name, value) -> {
      if (name.startsWith(OptionNames.HADOOP)) {
        all.set(name, value);
      }
    });
    return all;
  }

  /** The bucket of a location on S3; null for others. */
  private static String bucket(String location) {
    String plain = location == null ? "" : location.regionMatches(true, 0, "delta:", 0, 6) ? location.substring(6) : location;
    int begin = plain.indexOf("://");
    if (begin < 0 || !plain.substring(0, begin).toLowerCase(Locale.ROOT).matches("s3a?")) {
      return null;
    }
    String name = plain.substring(begin + 3).split("[/?]", 2)[0];
    return name.isEmpty() ? null : name;
  }

  /** A setting of a bucket or else of all, which may stand in a store of Hadoop's for secrets. */
  private static String secret(Configuration hadoop, String bucket, String name) {
    try {
      char[] own = bucket == null ? null : hadoop.getPassword(PREFIX + "bucket." + bucket + "." + name);
      char[] value = own != null || isDefault(hadoop, PREFIX + name) ? own : hadoop.getPassword(PREFIX + name);
      return value == null ? "" : new String(value).trim();
    } catch (IOException error) {
      throw LakeraceException.usage("Hadoop can't read its setting " + PREFIX + name + ": " + error.getMessage());
    }
  }

  /** Whether somebody has named providers, and not Hadoop itself. */
  private static boolean hasProvider(Configuration hadoop, String bucket) {
    return isGiven(hadoop, PREFIX + "bucket." + bucket + PROVIDER.substring(PREFIX.length() - 1)) || isGiven(hadoop, PROVIDER);
  }

  private static boolean isGiven(Configuration hadoop, String name) {
    return hadoop.get(name) != null && !isDefault(hadoop, name);
  }

  /** Whether a setting has the value that Hadoop or Spark gives it by itself. */
  private static boolean isDefault(Configuration hadoop, String name) {
    String source = source(hadoop, name);
    return source.endsWith("core-default.xml") || source.equals(SPARK_DEFAULTS);
  }

  /** Whether the token is of the environment, and the key is not: the two are of different users. */
  private static boolean isTokenOfOthers(Configuration hadoop, String bucket) {
    String key = PREFIX + "access.key";
    boolean isKeyOfBucket = bucket != null && isGiven(hadoop, PREFIX + "bucket." + bucket + ".access.key");
    boolean isTokenOfBucket = bucket != null && isGiven(hadoop, PREFIX + "bucket." + bucket + ".session.token");
    boolean isTokenCopied = !isTokenOfBucket && source(hadoop, PREFIX + "session.token").endsWith(TOKEN_VARIABLE);
    return isTokenCopied && (isKeyOfBucket || !source(hadoop, key).endsWith(" from AWS_ACCESS_KEY_ID"));
  }

  /** What has set a setting last; empty where nothing has. */
  private static String source(Configuration hadoop, String name) {
    String[] sources = hadoop.getPropertySources(name);
    return sources == null || sources.length == 0 ? "" : sources[sources.length - 1];
  }
}
