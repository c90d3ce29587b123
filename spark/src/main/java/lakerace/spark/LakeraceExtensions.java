package lakerace.spark;

import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.SparkSessionExtensionsProvider;
import scala.runtime.BoxedUnit;

/**
 * The rules of lakerace for Spark's analysis. Spark finds this class in the jar, and takes it into each session that starts
 * while the jar is in its class path.
 */
public final class LakeraceExtensions implements SparkSessionExtensionsProvider {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectResolutionRule(WriteRule::new);
    return BoxedUnit.UNIT;
  }
}
