package lakerace.spark;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.package$;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.analysis.NamedRelation;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.StructField;
import scala.Option;
import scala.Product;

/**
 * Parts of Spark's plans with other tables. The constructors of these differ between the versions of Spark, and the classes of
 * sequences between those of Scala.
 */
final class WriteRelations {
  private WriteRelations() {}

  /** Returns true on Spark 3. */
  static boolean isSpark3() {
    return package$.MODULE$.SPARK_VERSION().startsWith("3.");
  }

  /** Adds a rule to those that the analysis of a session applies after Spark's own, and of sessions that are made from it. */
  static void addRule(SparkSession session, Function<SparkSession, Rule<LogicalPlan>> rule) {
    Object analyzer = session.sessionState().analyzer();
    String name = "extendedResolutionRules";
    try {
      Field field = analyzer.getClass().getDeclaredField(name);
      field.setAccessible(true);
      List<Object> rules = SparkInternals.items(field.get(analyzer));
      rules.add(0, rule.apply(session));
      field.set(analyzer, SparkInternals.list(rules));
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException("this version of Spark has no " + name + " of " + analyzer.getClass().getName(), error);
    }
    ((SparkSessionExtensions) call(session, "extensions")).injectResolutionRule(rule::apply);
  }

  /** The capability of Spark 4.1 and later for tables that get columns by a statement. */
  static Optional<TableCapability> evolution() {
    return Arrays.stream(TableCapability.values()).filter(capability -> capability.name().equals("AUTOMATIC_SCHEMA_EVOLUTION")).findFirst();
  }

  /** The options of a write. */
  static Map<String, String> options(Object write) {
    Map<String, String> options = new HashMap<>();
    for (Object entry : SparkInternals.items(call(write, "writeOptions"))) {
      options.put((String) ((Product) entry).productElement(0), (String) ((Product) entry).productElement(1));
    }
    return options;
  }

  /** Returns true if a statement has the clause {@code WITH SCHEMA EVOLUTION} of Spark 4. */
  static boolean evolves(Object statement) {
    return Arrays.stream(statement.getClass().getMethods()).anyMatch(method -> method.getName().equals("withSchemaEvolution"))
        && (Boolean) call(statement, "withSchemaEvolution");
  }

  /** A relation with the same columns of another table. */
  static DataSourceV2Relation withTable(DataSourceV2Relation relation, LakeraceTable table) {
    return copied(relation, table, call(relation, "output"));
  }

  /** A relation of another table, whose columns are new to the plan. */
  static DataSourceV2Relation create(DataSourceV2Relation relation, LakeraceTable table) {
    return copied(relation, table, call(DataSourceV2Relation.create(table, relation.catalog(), relation.identifier()), "output"));
  }

  /** A relation of a table that has further columns after those of the relation, which stay the same to the plan. */
  static DataSourceV2Relation withColumns(DataSourceV2Relation relation, LakeraceTable table) {
    List<Object> known = SparkInternals.items(call(relation, "output"));
    List<Object> columns = SparkInternals.items(call(create(relation, table), "output"));
    for (int at = 0; at < known.size(); at++) {
      columns.set(at, ((Attribute) columns.get(at)).withExprId(((Attribute) known.get(at)).exprId()));
    }
    return copied(relation, table, SparkInternals.list(columns));
  }

  private static DataSourceV2Relation copied(DataSourceV2Relation relation, LakeraceTable table, Object output) {
    Constructor<?> constructor = SparkInternals.longestConstructor(DataSourceV2Relation.class);
    Object[] arguments = new Object[constructor.getParameterCount()];
    for (int at = 0; at < arguments.length; at++) {
      arguments[at] = at == 0 ? table : at == 1 ? output : ((Product) relation).productElement(at);
    }
    return (DataSourceV2Relation) created(constructor, arguments);
  }

  /** A query with further columns of nulls. */
  static LogicalPlan withNulls(LogicalPlan query, List<StructField> fields) {
    List<Object> columns = SparkInternals.items(call(query, "output"));
    for (StructField field : fields) {
      columns.add(named(Literal.create(null, field.dataType()), field.name()));
    }
    return (LogicalPlan) created(SparkInternals.longestConstructor(Project.class), new Object[] {SparkInternals.list(columns), query});
  }

  private static Object named(Expression value, String name) {
    Constructor<?> constructor = SparkInternals.longestConstructor(Alias.class);
    Class<?>[] types = constructor.getParameterTypes();
    Object[] arguments = new Object[types.length];
    for (int at = 0; at < arguments.length; at++) {
      if (types[at].equals(Expression.class)) {
        arguments[at] = value;
      } else if (types[at].equals(String.class)) {
        arguments[at] = name;
      } else if (types[at].equals(ExprId.class)) {
        arguments[at] = NamedExpression$.MODULE$.newExprId();
      } else if (types[at].equals(Option.class)) {
        arguments[at] = Option.empty();
      } else {
        arguments[at] = SparkInternals.list(Collections.emptyList());
      }
    }
    return created(constructor, arguments);
  }

  private static Object created(Constructor<?> constructor, Object[] arguments) {
    try {
      return constructor.newInstance(arguments);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException("this version of Spark has another " + constructor.getDeclaringClass().getSimpleName(), error);
    }
  }

  private static Object call(Object object, String method) {
    try {
      Method found = object.getClass().getMethod(method);
      return found.invoke(object);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException("this version of Spark has no " + method + " of " + object.getClass().getSimpleName(), error);
    }
  }
}
