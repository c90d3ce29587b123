package lakerace.spark;

import java.math.BigDecimal;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.sources.AlwaysFalse;
import org.apache.spark.sql.sources.AlwaysTrue;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualNullSafe;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.IsNotNull;
import org.apache.spark.sql.sources.IsNull;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Not;
import org.apache.spark.sql.sources.Or;

/** Spark's filters as the engine's SQL, where both mean the same; null for others. */
final class FilterText {
  /** Before this day Spark's own values may be of another calendar. */
  private static final LocalDate GREGORIAN = LocalDate.of(1582, 10, 15);

  private static final int LAST_YEAR = 9999;

  private final Plan plan;

  FilterText(Plan plan) {
    this.plan = plan;
  }

  String of(Filter filter) {
    if (filter instanceof And) {
      return joined(of(((And) filter).left()), " AND ", of(((And) filter).right()));
    }
    if (filter instanceof Or) {
      return joined(of(((Or) filter).left()), " OR ", of(((Or) filter).right()));
    }
    if (filter instanceof Not) {
      String inner = of(((Not) filter).child());
      return inner == null ? null : "(NOT " + inner + ")";
    }
    if (filter instanceof IsNull) {
      return isNull(((IsNull) filter).attribute(), " IS NULL");
    }
    if (filter instanceof IsNotNull) {
      return isNull(((IsNotNull) filter).attribute(), " IS NOT NULL");
    }
    if (filter instanceof AlwaysTrue) {
      return "(1 = 1)";
    }
    return filter instanceof AlwaysFalse ? "(1 = 0)" : comparison(filter);
  }

  private String comparison(Filter filter) {
    if (filter instanceof EqualTo) {
      return compared(((EqualTo) filter).attribute(), "=", ((EqualTo) filter).value());
    }
    if (filter instanceof EqualNullSafe) {
      EqualNullSafe same = (EqualNullSafe) filter;
      String equal = compared(same.attribute(), "=", same.value());
      return equal == null ? null : joined(isNull(same.attribute(), " IS NOT NULL"), " AND ", equal);
    }
    if (filter instanceof GreaterThan) {
      return compared(((GreaterThan) filter).attribute(), ">", ((GreaterThan) filter).value());
    }
    if (filter instanceof GreaterThanOrEqual) {
      return compared(((GreaterThanOrEqual) filter).attribute(), ">=", ((GreaterThanOrEqual) filter).value());
    }
    if (filter instanceof LessThan) {
      return compared(((LessThan) filter).attribute(), "<", ((LessThan) filter).value());
    }
    if (filter instanceof LessThanOrEqual) {
      return compared(((LessThanOrEqual) filter).attribute(), "<=", ((LessThanOrEqual) filter).value());
    }
    return filter instanceof In ? in((In) filter) : null;
  }

  private String in(In filter) {
    String column = exact(filter.attribute());
    List<String> values = new ArrayList<>();
    for (Object value : filter.values()) {
      String text = literal(value);
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

  private String isNull(String attribute, String test) {
    String column = column(attribute);
    return column == null ? null : "(" + column + test + ")";
  }

  private String compared(String attribute, String operator, Object value) {
    String column = exact(attribute);
    String text = literal(value);
    return column == null || text == null ? null : "(" + column + " " + operator + " " + text + ")";
  }

  /** A column of the table, by the name that Spark quotes where it has to. */
  private String column(String attribute) {
    String name = name(attribute);
    return name == null ? null : "\"" + name.replace("\"", "\"\"") + "\"";
  }

  private String exact(String attribute) {
    String name = name(attribute);
    return name != null && plan.isExact(name) ? column(attribute) : null;
  }

  private String name(String attribute) {
    if (plan.isExact(attribute) != null && !attribute.contains(".")) {
      return attribute;
    }
    boolean isQuoted = attribute.length() > 2 && attribute.startsWith("`") && attribute.endsWith("`");
    String name = isQuoted ? attribute.substring(1, attribute.length() - 1).replace("``", "`") : null;
    // A name with a dot may also be that of a struct's field.
    return name != null && !name.contains(".") && plan.isExact(name) != null ? name : null;
  }

  private static String literal(Object value) {
    if (value instanceof String) {
      return "'" + ((String) value).replace("'", "''") + "'";
    }
    if (value instanceof Byte || value instanceof Short || value instanceof Integer || value instanceof Long) {
      return value.toString();
    }
    if (value instanceof BigDecimal) {
      return ((BigDecimal) value).toPlainString();
    }
    if (value instanceof Boolean) {
      return (Boolean) value ? "TRUE" : "FALSE";
    }
    if (value instanceof byte[]) {
      StringBuilder text = new StringBuilder("X'");
      for (byte part : (byte[]) value) {
        text.append(String.format("%02X", part));
      }
      return text.append('\'').toString();
    }
    return moment(value);
  }

  private static String moment(Object value) {
    if (value instanceof Date || value instanceof LocalDate) {
      LocalDate date = value instanceof Date ? ((Date) value).toLocalDate() : (LocalDate) value;
      return isPlain(date) ? "DATE '" + date + "'" : null;
    }
    if (value instanceof Timestamp || value instanceof Instant) {
      Instant instant = value instanceof Timestamp ? ((Timestamp) value).toInstant() : (Instant) value;
      LocalDateTime utc = LocalDateTime.ofInstant(instant, ZoneOffset.UTC);
      return isPlain(utc.toLocalDate()) ? "TIMESTAMP '" + utc + "Z'" : null;
    }
    if (value instanceof LocalDateTime) {
      LocalDateTime local = (LocalDateTime) value;
      return isPlain(local.toLocalDate()) ? "TIMESTAMP '" + local + "'" : null;
    }
    return null;
  }

  private static boolean isPlain(LocalDate date) {
    return !date.isBefore(GREGORIAN) && date.getYear() <= LAST_YEAR;
  }
}
