package lakerace.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.filter.Predicate;

/** The join keys of one side, which Spark knows when the query runs, as a filter of the other side. */
final class RuntimeFilter {
  /** A filter of more values costs more than it saves. */
  private static final int MOST_VALUES = 10_000;

  private RuntimeFilter() {}

  /** A predicate in the engine's SQL; null where it can't be translated: the join checks all rows in any case. */
  static String text(Predicate predicate, FilterText filters) {
    Expression[] parts = predicate.children();
    if (!predicate.name().equals("IN") || parts.length < 2 || parts.length > MOST_VALUES) {
      return null;
    }
    List<Expression> known = new ArrayList<>();
    for (Expression part : parts) {
      // A null is equal to nothing.
      if (!(part instanceof Literal) || ((Literal<?>) part).value() != null) {
        known.add(part);
      }
    }
    return filters.of(new Predicate("IN", known.toArray(new Expression[0])));
  }
}
