package lakerace.spark;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/**
 * Translates Spark's predicates to the engine's SQL, where both have the same meaning; others become null.
 *
 * <p>Predicates have Spark's internal values: days and microseconds. The older filters have {@code java.sql.Timestamp},
 * which is another instant where the zone has changed its offset, and {@code java.sql.Date}.
 */
final class FilterText {
  /** Values of files before this day may be of another calendar. */
  private static final LocalDate GREGORIAN = LocalDate.of(1582, 10, 15);

  private static final int LAST_YEAR = 9999;
  private static final long MICROS_PER_SECOND = 1_000_000;
  private static final int NANOS_PER_MICRO = 1000;

  private final Plan plan;

  FilterText(Plan plan) {
    this.plan = plan;
  }

  String of(Expression expression) {
    if (!(expression instanceof Predicate)) {
      return null;
    }
    Expression[] parts = expression.children();
    String name = ((Predicate) expression).name();
    switch (name) {
      case "AND":
      case "OR":
        return joined(of(parts[0]), " " + name + " ", of(parts[1]));
      case "NOT":
        return negated(of(parts[0]));
      case "IS_NULL":
        return isNull(parts[0], " IS NULL");
      case "IS_NOT_NULL":
        return isNull(parts[0], " IS NOT NULL");
      case "ALWAYS_TRUE":
        return "(1 = 1)";
      case "ALWAYS_FALSE":
        return "(1 = 0)";
      case "IN":
        return in(parts);
      default:
        return parts.length == 2 ? comparison(name, parts[0], parts[1]) : null;
    }
  }

  private String comparison(String operator, Expression left, Expression right) {
    if (left instanceof Literal) {
      String mirrored = mirrored(operator);
      return right instanceof Literal || mirrored == null ? null : comparison(mirrored, right, left);
    }
    switch (operator) {
      case "=":
      case "<":
      case "<=":
      case ">":
      case ">=":
        return compared(left, operator, right);
      case "<>":
        return negated(compared(left, "=", right));
      case "<=>":
        if (right instanceof Literal && ((Literal<?>) right).value() == null) {
          return isNull(left, " IS NULL");
        }
        return joined(isNull(left, " IS NOT NULL"), " AND ", compared(left, "=", right));
      default:
        return null;
    }
  }

  /** The operator with the same meaning after its sides are swapped. */
  private static String mirrored(String operator) {
    switch (operator) {
      case "=":
      case "<>":
      case "<=>":
        return operator;
      case "<":
        return ">";
      case "<=":
        return ">=";
      case ">":
        return "<";
      case ">=":
        return "<=";
      default:
        return null;
    }
  }

  private String in(Expression[] parts) {
    String column = exact(parts[0]);
    List<String> values = new ArrayList<>();
    for (int at = 1; at < parts.length; at++) {
      String text = literal(parts[at]);
      if (text == null) {
        return null;
      }
      values.add(text);
    }
    return column == null || values.isEmpty() ? null : "(" + column + " IN (" + String.join(", ", values) + "))";
  }

  private static String joined(String left, String operator, String right) {
    return left == null || right == null ? null : "(" + left + operator + right + ")";
  }

  private static String negated(String inner) {
    return inner == null ? null : "(NOT " + inner + ")";
  }

  private String isNull(Expression expression, String test) {
    String name = name(expression);
    return name == null ? null : "(" + quoted(name) + test + ")";
  }

  private String compared(Expression expression, String operator, Expression value) {
    String column = exact(expression);
    String text = literal(value);
    return column == null || text == null ? null : "(" + column + " " + operator + " " + text + ")";
  }

  private String exact(Expression expression) {
    String name = name(expression);
    return name != null && plan.isExact(name) ? quoted(name) : null;
  }

  private static String quoted(String name) {
    return "\"" + name.replace("\"", "\"\"") + "\"";
  }

  /** The name of a column of the table; null for other expressions. */
  private String name(Expression expression) {
    String[] names = expression instanceof NamedReference ? ((NamedReference) expression).fieldNames() : new String[0];
    return names.length == 1 && plan.isExact(names[0]) != null ? names[0] : null;
  }

  /** A literal; null if it is a null, or of a type that the engine may compare differently. */
  private static String literal(Expression expression) {
    Object value = expression instanceof Literal ? ((Literal<?>) expression).value() : null;
    if (value == null) {
      return null;
    }
    DataType type = ((Literal<?>) expression).dataType();
    // Texts with a collation have another type.
    if (type.equals(DataTypes.StringType)) {
      return "'" + value.toString().replace("'", "''") + "'";
    }
    if (type instanceof ByteType || type instanceof ShortType || type instanceof IntegerType || type instanceof LongType) {
      return value.toString();
    }
    if (type instanceof DecimalType) {
      return ((Decimal) value).toJavaBigDecimal().toPlainString();
    }
    if (type instanceof BooleanType) {
      return (Boolean) value ? "TRUE" : "FALSE";
    }
    if (type instanceof BinaryType) {
      StringBuilder text = new StringBuilder("X'");
      for (byte part : (byte[]) value) {
        text.append(String.format("%02X", part));
      }
      return text.append('\'').toString();
    }
    return moment(value, type);
  }

  private static String moment(Object value, DataType type) {
    if (type instanceof DateType) {
      LocalDate date = LocalDate.ofEpochDay((Integer) value);
      return isPlain(date) ? "DATE '" + date + "'" : null;
    }
    if (type instanceof TimestampType || type instanceof TimestampNTZType) {
      long micros = (Long) value;
      int nanos = (int) Math.floorMod(micros, MICROS_PER_SECOND) * NANOS_PER_MICRO;
      LocalDateTime time = LocalDateTime.ofEpochSecond(Math.floorDiv(micros, MICROS_PER_SECOND), nanos, ZoneOffset.UTC);
      return isPlain(time.toLocalDate()) ? "TIMESTAMP '" + time + (type instanceof TimestampType ? "Z'" : "'") : null;
    }
    return null;
  }

  private static boolean isPlain(LocalDate date) {
    return !date.isBefore(GREGORIAN) && date.getYear() <= LAST_YEAR;
  }
}
