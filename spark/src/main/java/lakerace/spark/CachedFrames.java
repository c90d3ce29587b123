package lakerace.spark;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.CachedData;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.slf4j.LoggerFactory;
import scala.runtime.BoxedUnit;

/**
 * Frames and tables that Spark keeps in memory. Spark itself only refreshes those that were read with the options and
 * the name of a write, so that an upsert by option {@code key}, or a write by location to a table of a catalog, would
 * leave them stale.
 */
final class CachedFrames {
  private CachedFrames() {}

  /**
   * Makes Spark read the frames of a location again. The write has been committed, so that a failure here is not its
   * error.
   */
  static void refresh(String location) {
    try {
      SparkSession session = SparkSession.active();
      Object manager = call(call(session, "sharedState"), "cacheManager");
      for (LogicalPlan plan : readersOf(FreshVersions.place(location), manager)) {
        recache(manager, session, plan);
      }
    } catch (ReflectiveOperationException | RuntimeException | LinkageError error) {
      LoggerFactory.getLogger(CachedFrames.class).warn(
          "{}: cached frames of it may lack the rows that were just written: use unpersist() or REFRESH TABLE", Locations.shown(location), error);
    }
  }

  /** Makes Spark drop the frames of a location that no longer exists. */
  static void forget(String location) {
    try {
      SparkSession session = SparkSession.active();
      Object manager = call(call(session, "sharedState"), "cacheManager");
      for (LogicalPlan plan : readersOf(FreshVersions.place(location), manager)) {
        uncache(manager, session, plan);
      }
    } catch (ReflectiveOperationException | RuntimeException | LinkageError error) {
      LoggerFactory.getLogger(CachedFrames.class).warn(
          "{}: cached frames of it still have its rows: use unpersist()", Locations.shown(location), error);
    }
  }

  /** The plans of cached frames that read a location, also in a subquery. */
  private static List<LogicalPlan> readersOf(String place, Object manager) throws ReflectiveOperationException {
    List<LogicalPlan> found = new ArrayList<>();
    for (Object entry : SparkInternals.items(field(manager, "cachedData"))) {
      LogicalPlan plan = ((CachedData) entry).plan();
      boolean isReader = reads(plan, place);
      for (Object subquery : SparkInternals.items(call(plan, "subqueriesAll"))) {
        isReader |= reads((LogicalPlan) subquery, place);
      }
      if (isReader) {
        found.add(plan);
      }
    }
    // A frame that was cached from another cached frame is larger, and is read again after that one.
    found.sort(Comparator.comparingInt(CachedFrames::size));
    return found;
  }

  private static int size(LogicalPlan plan) {
    return plan.treeString().length();
  }

  private static boolean reads(LogicalPlan plan, String place) {
    boolean[] found = {false};
    plan.foreach(node -> {
      Table table = node instanceof DataSourceV2Relation ? ((DataSourceV2Relation) node).table() : null;
      found[0] |= table instanceof LakeraceTable && FreshVersions.place(((LakeraceTable) table).location).equals(place);
      return BoxedUnit.UNIT;
    });
    return found[0];
  }

  /** Recaches a plan by reflection: Spark 4 has another class for the session. */
  private static void recache(Object manager, SparkSession session, LogicalPlan plan) throws ReflectiveOperationException {
    for (Method method : manager.getClass().getMethods()) {
      if (method.getName().equals("recacheByPlan") && method.getParameterCount() == 2) {
        method.invoke(manager, session, plan);
        return;
      }
    }
    throw new NoSuchMethodException("recacheByPlan");
  }

  /**
   * Uncaches a plan and its dependents. The arguments are a session, a plan, and one or two flags, depending on the
   * version of Spark.
   */
  private static void uncache(Object manager, SparkSession session, LogicalPlan plan) throws ReflectiveOperationException {
    for (Method method : manager.getClass().getMethods()) {
      Class<?>[] types = method.getParameterTypes();
      if (method.getName().equals("uncacheQuery") && types.length >= 3 && types[1].equals(LogicalPlan.class)) {
        Object[] arguments = types.length == 3 ? new Object[] {session, plan, true} : new Object[] {session, plan, true, false};
        method.invoke(manager, arguments);
        return;
      }
    }
    throw new NoSuchMethodException("uncacheQuery");
  }

  private static Object call(Object object, String name) throws ReflectiveOperationException {
    return object.getClass().getMethod(name).invoke(object);
  }

  private static Object field(Object object, String name) throws ReflectiveOperationException {
    for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
      for (Field field : type.getDeclaredFields()) {
        if (field.getName().equals(name)) {
          field.setAccessible(true);
          return field.get(object);
        }
      }
    }
    throw new NoSuchFieldException(name);
  }
}
