package lakerace.spark;

import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/** The keys of one side of a join, which Spark knows when the query runs, as a filter of the other side. */
final class RuntimeFilter {
  /** A filter of more values costs more than it leaves out. */
  private static final int MOST_VALUES = 10_000;

  private RuntimeFilter() {}

  /** What a predicate says in the engine's SQL; null where that is not known: the join looks at all rows that come. */
  static String text(Predicate predicate, FilterText filters) {
    Expression[] parts = predicate.children();
    if (!predicate.name().equals("IN") || parts.length < 2 || parts.length > MOST_VALUES || !(parts[0] instanceof NamedReference)) {
      return null;
    }
    String[] names = ((NamedReference) parts[0]).fieldNames();
    List<Object> values = new ArrayList<>();
    for (int at = 1; at < parts.length; at++) {
      if (!(parts[at] instanceof Literal)) {
        return null;
      }
      Object value = value((Literal<?>) parts[at]);
      if (value != null) {
        values.add(value);
      }
    }
    // A null is equal to nothing.
    return names.length == 1 && !values.isEmpty() ? filters.of(new In(Locations.quoted(names[0]), values.toArray())) : null;
  }

  /** A value of Spark's own, as filters have it. What is not known stays, and makes the filter an unknown one. */
  private static Object value(Literal<?> literal) {
    Object value = literal.value();
    if (value instanceof UTF8String) {
      return value.toString();
    }
    if (value instanceof Decimal) {
      return ((Decimal) value).toJavaBigDecimal();
    }
    if (literal.dataType() instanceof DateType && value != null) {
      return LocalDate.ofEpochDay(((Integer) value).longValue());
    }
    String type = literal.dataType().typeName();
    // Times are numbers, too.
    return type.startsWith("timestamp") || type.startsWith("interval") ? literal : value;
  }
}
