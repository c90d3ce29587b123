package lakerace.spark;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
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
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/** A query for the number of all rows, or the least and greatest values of columns, which metadata may answer. */
final class MetadataQuery {
  private final String location;
  private final Map<String, String> options;
  private final Plan table;
  private final AggregateFunc[] functions;

  MetadataQuery(String location, Map<String, String> options, Plan table, AggregateFunc[] functions) {
    this.location = location;
    this.options = options;
    this.table = table;
    this.functions = functions;
  }

  /** Returns true if metadata may answer all of the query. */
  boolean isPossible() {
    return Arrays.stream(functions).allMatch(function -> countsRows(function) || extremeOf(function) != null);
  }

  /** Returns true if a function counts all rows. */
  private boolean countsRows(AggregateFunc function) {
    if (function instanceof CountStar) {
      return true;
    }
    String column = function instanceof Count && !((Count) function).isDistinct() ? column(((Count) function).column()) : null;
    return column != null && !table.schema.apply(column).nullable();
  }

  /** The column whose least or greatest value a function returns; null for other functions. */
  private String extremeOf(AggregateFunc function) {
    String column = function instanceof Min ? column(((Min) function).column()) : function instanceof Max ? column(((Max) function).column()) : null;
    return column != null && isNumber(table.schema.apply(column).dataType()) ? column : null;
  }

  /** The column that an expression refers to; null for other expressions. */
  private String column(Expression expression) {
    String[] names = expression instanceof NamedReference ? ((NamedReference) expression).fieldNames() : new String[0];
    return names.length == 1 && Arrays.asList(table.schema.fieldNames()).contains(names[0]) ? names[0] : null;
  }

  /**
   * A scan of the answers from metadata; null where metadata lack one. Deleted rows are not counted, and the extremes
   * of a table with deleted rows are unknown.
   */
  MetadataScan scan() {
    Set<String> columns = new LinkedHashSet<>();
    for (AggregateFunc function : functions) {
      if (!countsRows(function)) {
        columns.add(extremeOf(function));
      }
    }
    List<String> extremes = columns.isEmpty() ? null : Plan.extremes(location, options, columns);
    // Files may change; a version does not. Its log may lack the number of rows.
    boolean isKnown = !table.version.isEmpty() && table.rows.isPresent();
    OptionalLong rows = isKnown ? table.rows : Plan.rows(location, options);
    StructType schema = new StructType();
    Object[] values = new Object[functions.length];
    for (int at = 0; at < functions.length; at++) {
      if (countsRows(functions[at])) {
        if (!rows.isPresent()) {
          return null;
        }
        values[at] = rows.getAsLong();
        schema = schema.add(functions[at].describe(), DataTypes.LongType, false);
        continue;
      }
      String column = extremeOf(functions[at]);
      DataType type = table.schema.apply(column).dataType();
      String[] both = extremes.get(new java.util.ArrayList<>(columns).indexOf(column)).split(String.valueOf(Native.UNIT), -1);
      if (both.length != 2) {
        return null;
      }
      values[at] = value(both[functions[at] instanceof Min ? 0 : 1], type);
      schema = schema.add(functions[at].describe(), type, true);
    }
    return new MetadataScan(location, schema, values);
  }

  private static boolean isNumber(DataType type) {
    return type instanceof ByteType || type instanceof ShortType || type instanceof IntegerType || type instanceof LongType || type instanceof DecimalType
        || type instanceof BooleanType || type instanceof DateType || type instanceof TimestampType || type instanceof TimestampNTZType;
  }

  /** Spark's representation of a value of a type; null for an empty text. */
  private static Object value(String text, DataType type) {
    if (text.isEmpty()) {
      return null;
    }
    if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      return Decimal.apply(new BigDecimal(new BigInteger(text), decimal.scale()), decimal.precision(), decimal.scale());
    }
    long number = Long.parseLong(text);
    if (type instanceof BooleanType) {
      return number != 0;
    }
    if (type instanceof ByteType) {
      return (byte) number;
    }
    if (type instanceof ShortType) {
      return (short) number;
    }
    if (type instanceof IntegerType || type instanceof DateType) {
      return Math.toIntExact(number);
    }
    return number;
  }
}
