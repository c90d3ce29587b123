package lakerace.spark;

import java.io.IOException;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;

/**
 * The S3 settings of Hadoop's configuration as the engine's options: those of a bucket before the general ones.
 * Defaults of Spark and Hadoop are ignored in favour of the environment.
 */
final class S3aSettings {
  /** The setting that names the credential providers. */
  static final String PROVIDER = "fs.s3a.aws.credentials.provider";

  private static final String PREFIX = "fs.s3a.";
  /**
   * The prefix of the settings, in options, with which Hadoop finds credentials: the engine includes them in its
   * questions.
   */
  private static final String KEPT = "hadoop.";
  private static final String BUCKET = "hadoop.bucket";
  private static final String KEY = "storage.aws_access_key_id";
  private static final String SECRET = "storage.aws_secret_access_key";
  private static final String TOKEN = "storage.aws_session_token";
  /** Settings of Hadoop's S3A and their names in the engine. */
  private static final String[][] NAMES = {
    {"access.key", KEY}, {"secret.key", SECRET}, {"session.token", TOKEN}, {"endpoint.region", "storage.aws_region"}, {"endpoint", "storage.aws_endpoint"},
  };

  /** The source of the settings that Spark sets by default. */
  private static final String SPARK_DEFAULTS = "Set by Spark to default values";

  /** The suffix of the source of a token that Spark copies from its environment, like the keys of that environment. */
  private static final String TOKEN_VARIABLE = " from AWS_SESSION_TOKEN";

  private S3aSettings() {}

  /**
   * Adds the settings of a location's store from Hadoop's configuration; options with the engine's own names take
   * precedence.
   */
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

  /** A setting of a bucket or else the general one, which may come from a Hadoop credential store. */
  private static String secret(Configuration hadoop, String bucket, String name) {
    try {
      char[] own = bucket == null ? null : hadoop.getPassword(PREFIX + "bucket." + bucket + "." + name);
      char[] value = own != null || isDefault(hadoop, PREFIX + name) ? own : hadoop.getPassword(PREFIX + name);
      return value == null ? "" : new String(value).trim();
    } catch (IOException error) {
      throw LakeraceException.usage("Hadoop can't read its setting " + PREFIX + name + ": " + error.getMessage());
    }
  }

  /** Returns true if a user has named providers, and they are not Hadoop's default. */
  private static boolean hasProvider(Configuration hadoop, String bucket) {
    return isGiven(hadoop, PREFIX + "bucket." + bucket + PROVIDER.substring(PREFIX.length() - 1)) || isGiven(hadoop, PROVIDER);
  }

  private static boolean isGiven(Configuration hadoop, String name) {
    return hadoop.get(name) != null && !isDefault(hadoop, name);
  }

  /** Returns true if a setting has the default value of Hadoop or Spark. */
  private static boolean isDefault(Configuration hadoop, String name) {
    String source = source(hadoop, name);
    return source.endsWith("core-default.xml") || source.equals(SPARK_DEFAULTS);
  }

  /** Returns true if the token is from the environment, and the key is not: the two belong to different users. */
  private static boolean isTokenOfOthers(Configuration hadoop, String bucket) {
    String key = PREFIX + "access.key";
    boolean isKeyOfBucket = bucket != null && isGiven(hadoop, PREFIX + "bucket." + bucket + ".access.key");
    boolean isTokenOfBucket = bucket != null && isGiven(hadoop, PREFIX + "bucket." + bucket + ".session.token");
    boolean isTokenCopied = !isTokenOfBucket && source(hadoop, PREFIX + "session.token").endsWith(TOKEN_VARIABLE);
    return isTokenCopied && (isKeyOfBucket || !source(hadoop, key).endsWith(" from AWS_ACCESS_KEY_ID"));
  }

  /** The last source of a setting; empty where it has none. */
  private static String source(Configuration hadoop, String name) {
    String[] sources = hadoop.getPropertySources(name);
    return sources == null || sources.length == 0 ? "" : sources[sources.length - 1];
  }
}
