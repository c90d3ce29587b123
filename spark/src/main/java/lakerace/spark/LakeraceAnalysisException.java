package lakerace.spark;

import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import scala.Option;
import scala.collection.immutable.Map$;

/** An error in a query, with the condition and SQL state of {@link LakeraceException}. */
public final class LakeraceAnalysisException extends AnalysisException {
  private static final long serialVersionUID = 1;

  private final LakeraceException error;

  LakeraceAnalysisException(LakeraceException error) {
    super(
        error.getMessage(),
        Option.empty(),
        Option.empty(),
        Option.apply(error),
        Option.apply(error.getCondition()),
        Map$.MODULE$.empty(),
        new QueryContext[0]);
    this.error = error;
  }

  @Override
  public String getErrorClass() {
    return error.getCondition();
  }

  /** Spark 4's name of the condition. */
  public String getCondition() {
    return error.getCondition();
  }

  @Override
  public String getSqlState() {
    return error.getSqlState();
  }
}
