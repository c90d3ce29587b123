package lakerace.spark;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.plans.logical.WriteDelta;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.slf4j.LoggerFactory;
import scala.Enumeration;
import scala.Option;

/**
 * An optimizer rule: {@code MERGE}, {@code UPDATE} and {@code DELETE} read only those rows of the table that may have a key of
 * the other side of their join. Spark has this rule for queries, but lets no filter past the numbers that {@code MERGE}
 * gives to the rows of its target.
 *
 * <p>A small source is computed twice: first for its keys.
 */
final class KeyFilters extends Rule<LogicalPlan> {
  /** The most bytes of a source by Spark's estimate, as for a broadcast by default. */
  private static final long MOST_BYTES = 10 << 20;
  /** The node of Spark 4.3 for a {@code MERGE} that only inserts. */
  private static final String INSERT_ONLY = "InsertOnlyMerge";
  private static final String PRUNING = "spark.sql.optimizer.dynamicPartitionPruning.enabled";
  /** Joins, by the sides of which rows without a match can be left out. */
  private static final Set<String> LEFT = new HashSet<>(Arrays.asList("Inner", "LeftSemi", "RightOuter"));
  private static final Set<String> RIGHT = new HashSet<>(Arrays.asList("Inner", "LeftSemi", "LeftOuter", "LeftAnti"));

  private static final KeyFilters RULE = new KeyFilters();

  private KeyFilters() {}

  /** Adds the rule to the active session, which analyses a statement. Without it, statements read more. */
  static void install() {
    try {
      ExperimentalMethods methods = SparkSession.active().experimental();
      Class<?> type = methods.getClass();
      Object rules = type.getMethod("extraOptimizations").invoke(methods);
      List<Object> all = SparkInternals.items(rules);
      if (!all.contains(RULE)) {
        all.add(RULE);
        Class<?> sequence = type.getMethod("extraOptimizations").getReturnType();
        type.getMethod("extraOptimizations_$eq", sequence).invoke(methods, SparkInternals.list(all));
      }
    } catch (ReflectiveOperationException | RuntimeException | LinkageError error) {
      LoggerFactory.getLogger(KeyFilters.class).warn("MERGE reads all rows of its target: Spark takes no rule", error);
    }
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    try {
      boolean isEnabled = Boolean.parseBoolean(SQLConf.get().getConfString(PRUNING, "true"));
      return isEnabled ? written(plan) : plan;
    } catch (ReflectiveOperationException | RuntimeException | LinkageError error) {
      LoggerFactory.getLogger(KeyFilters.class).warn("a statement reads all rows of its target", error);
      return plan;
    }
  }

  private static LogicalPlan written(LogicalPlan plan) throws ReflectiveOperationException {
    boolean isAppend = plan instanceof AppendData || plan.getClass().getSimpleName().equals(INSERT_ONLY);
    boolean isWrite = plan instanceof WriteDelta || isAppend;
    for (LogicalPlan child : children(plan)) {
      // MERGE with no other clause than WHEN NOT MATCHED appends what a LeftAnti join leaves.
      LogicalPlan changed = isWrite ? filtered(child, isAppend) : written(child);
      if (changed != child) {
        return replaced(plan, child, changed);
      }
    }
    return plan;
  }

  /** A plan whose first join that can be filtered is so. The optimizer calls the rule until nothing changes. */
  private static LogicalPlan filtered(LogicalPlan plan, boolean isAppend) throws ReflectiveOperationException {
    if (plan instanceof Join && (!isAppend || ((Join) plan).joinType().toString().equals("LeftAnti"))) {
      Join join = (Join) plan;
      String type = join.joinType().toString();
      LogicalPlan left = LEFT.contains(type) ? target(join, join.left(), join.right()) : join.left();
      if (left != join.left()) {
        return replaced(join, join.left(), left);
      }
      LogicalPlan right = RIGHT.contains(type) ? target(join, join.right(), join.left()) : join.right();
      if (right != join.right()) {
        return replaced(join, join.right(), right);
      }
    }
    for (LogicalPlan child : children(plan)) {
      LogicalPlan changed = filtered(child, isAppend);
      if (changed != child) {
        return replaced(plan, child, changed);
      }
    }
    return plan;
  }

  /** A side of a join whose scan is filtered by the keys of the other side; itself where that is not possible. */
  private static LogicalPlan target(Join join, LogicalPlan side, LogicalPlan source) throws ReflectiveOperationException {
    DataSourceV2ScanRelation scan = scan(side);
    if (scan == null || join.condition().isEmpty() || !isSmall(source) || !isRepeatable(source)) {
      return side;
    }
    Expression all = null;
    for (EqualTo equal : equalities(join.condition().get())) {
      Expression filter = filter(scan, equal.left(), equal.right(), source);
      filter = filter == null ? filter(scan, equal.right(), equal.left(), source) : filter;
      if (filter != null) {
        all = all == null ? filter : new And(all, filter);
      }
    }
    return all == null ? side : replaced(side, scan, new Filter(all, scan));
  }

  /** The scan of a table of ours below projections and filters; null without one, or where it is filtered already. */
  private static DataSourceV2ScanRelation scan(LogicalPlan side) throws ReflectiveOperationException {
    if (side instanceof DataSourceV2ScanRelation) {
      DataSourceV2ScanRelation relation = (DataSourceV2ScanRelation) side;
      return relation.scan() instanceof ScanPlan ? relation : null;
    }
    if (side instanceof Filter && ((Filter) side).condition().exists(part -> part instanceof DynamicPruningSubquery)) {
      return null;
    }
    return side instanceof Filter || side instanceof Project ? scan(children(side).get(0)) : null;
  }

  private static List<EqualTo> equalities(Expression condition) {
    List<EqualTo> found = new ArrayList<>();
    if (condition instanceof And) {
      found.addAll(equalities(((And) condition).left()));
      found.addAll(equalities(((And) condition).right()));
    } else if (condition instanceof EqualTo) {
      found.add((EqualTo) condition);
    }
    return found;
  }

  /** The filter of a scan's column by the values of the source; null where the engine can't compare them. */
  private static Expression filter(DataSourceV2ScanRelation scan, Expression column, Expression key, LogicalPlan source)
      throws ReflectiveOperationException {
    boolean isWidened = column instanceof Cast && isExactNumber(column.dataType()) && isExactNumber(((Cast) column).child().dataType())
        && Cast.canUpCast(((Cast) column).child().dataType(), column.dataType());
    Expression own = isWidened ? ((Cast) column).child() : column;
    boolean isColumn = own instanceof AttributeReference && scan.outputSet().contains((AttributeReference) own)
        && ((ScanPlan) scan.scan()).isFilterable(((AttributeReference) own).name());
    if (!isColumn || !key.deterministic() || !key.references().subsetOf(source.outputSet()) || key.references().isEmpty()) {
      return null;
    }
    Expression value = isWidened ? narrowed((Cast) column, key) : key;
    return value == null || !value.dataType().equals(own.dataType()) ? null : pruning(own, source, value);
  }

  private static boolean isExactNumber(DataType type) {
    return type instanceof ByteType || type instanceof ShortType || type instanceof IntegerType || type instanceof LongType
        || type instanceof DecimalType;
  }

  /** A key in the type of a column that is widened for the comparison; null for a key that no such value is equal to. */
  private static Expression narrowed(Cast widened, Expression key) throws ReflectiveOperationException {
    Constructor<?> constructor = SparkInternals.longestConstructor(Cast.class);
    Object[] arguments = new Object[constructor.getParameterCount()];
    Class<?>[] types = constructor.getParameterTypes();
    for (int at = 0; at < arguments.length; at++) {
      if (types[at].equals(Expression.class)) {
        arguments[at] = key;
      } else if (types[at].equals(DataType.class)) {
        arguments[at] = widened.child().dataType();
      } else if (types[at].equals(Option.class)) {
        arguments[at] = widened.timeZoneId();
      } else if (types[at].equals(Enumeration.Value.class)) {
        arguments[at] = EvalMode.TRY();
      } else {
        return null;
      }
    }
    return (Expression) constructor.newInstance(arguments);
  }

  /** Spark's filter by the values of a subquery. Its last arguments differ between versions. */
  private static Expression pruning(Expression column, LogicalPlan source, Expression key) throws ReflectiveOperationException {
    Constructor<?> constructor = SparkInternals.longestConstructor(DynamicPruningSubquery.class);
    Class<?>[] types = constructor.getParameterTypes();
    Object[] arguments = new Object[types.length];
    boolean hasKeys = false;
    for (int at = 0; at < arguments.length; at++) {
      if (types[at].equals(Expression.class)) {
        arguments[at] = column;
      } else if (types[at].equals(LogicalPlan.class)) {
        arguments[at] = source;
      } else if (types[at].equals(int.class)) {
        arguments[at] = 0;
      } else if (types[at].equals(boolean.class)) {
        // The source is computed again unless a broadcast of it is there.
        arguments[at] = false;
      } else if (types[at].equals(ExprId.class)) {
        arguments[at] = NamedExpression$.MODULE$.newExprId();
      } else if (types[at].equals(Option.class)) {
        arguments[at] = Option.empty();
      } else {
        arguments[at] = SparkInternals.list(Collections.singletonList(hasKeys ? (Object) 0 : key));
        hasKeys = true;
      }
    }
    return (Expression) constructor.newInstance(arguments);
  }

  private static boolean isSmall(LogicalPlan source) {
    return source.stats().sizeInBytes().bigInteger().bitLength() < Long.SIZE && source.stats().sizeInBytes().toLong() <= MOST_BYTES;
  }

  /** Returns true if a plan has the same rows again: it is deterministic, and its leaves are tables, files, caches and constants. */
  private static boolean isRepeatable(LogicalPlan source) throws ReflectiveOperationException {
    if (!source.deterministic()) {
      return false;
    }
    List<LogicalPlan> children = children(source);
    if (children.isEmpty()) {
      return source instanceof LocalRelation || source instanceof OneRowRelation || source instanceof Range || source instanceof InMemoryRelation
          || source instanceof LogicalRelation && ((LogicalRelation) source).relation() instanceof HadoopFsRelation
          || source instanceof DataSourceV2ScanRelation && isOfFiles((DataSourceV2ScanRelation) source);
    }
    for (LogicalPlan child : children) {
      if (!isRepeatable(child)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isOfFiles(DataSourceV2ScanRelation relation) {
    return relation.scan() instanceof ScanPlan || relation.scan() instanceof FileScan;
  }

  private static List<LogicalPlan> children(LogicalPlan plan) throws ReflectiveOperationException {
    List<LogicalPlan> found = new ArrayList<>();
    for (Object child : SparkInternals.items(plan.getClass().getMethod("children").invoke(plan))) {
      found.add((LogicalPlan) child);
    }
    return found;
  }

  /** A plan with another node in place of one of its nodes. */
  private static LogicalPlan replaced(LogicalPlan plan, LogicalPlan node, LogicalPlan other) {
    if (plan == node) {
      return other;
    }
    return (LogicalPlan) plan.mapChildren(child -> replaced((LogicalPlan) child, node, other));
  }
}
