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
    if (!predicate.name().equals("IN") || parts.length == 0) {
      return null;
    }
    List<Expression> known = new ArrayList<>();
    for (Expression part : parts) {
      // A null is equal to nothing.
      if (!(part instanceof Literal) || ((Literal<?>) part).value() != null) {
        known.add(part);
      }
    }
    if (known.size() == 1) {
      return filters.of(new Predicate("ALWAYS_FALSE", new Expression[0]));
    }
    if (known.size() > MOST_VALUES) {
      return between(known, filters);
    }
    return filters.of(new Predicate("IN", known.toArray(new Expression[0])));
  }

  /** The range of many values; null where Java orders them otherwise than the engine. */
  @SuppressWarnings("unchecked")
  private static String between(List<Expression> parts, FilterText filters) {
    Expression low = parts.get(1);
    Expression high = low;
    for (Expression part : parts.subList(1, parts.size())) {
      Object value = part instanceof Literal ? ((Literal<?>) part).value() : null;
      if (!(value instanceof Comparable)) {
        return null;
      }
      low = ((Comparable<Object>) value).compareTo(((Literal<?>) low).value()) < 0 ? part : low;
      high = ((Comparable<Object>) value).compareTo(((Literal<?>) high).value()) > 0 ? part : high;
    }
    Expression from = new Predicate(">=", new Expression[] {parts.get(0), low});
    return filters.of(new Predicate("AND", new Expression[] {from, new Predicate("<=", new Expression[] {parts.get(0), high})}));
  }
}
