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
import scala.collection.Iterator;
import scala.runtime.BoxedUnit;

/**
 * Frames and tables that Spark keeps in memory. Spark itself refreshes those alone that read by the options and the name that a write has, so
 * an upsert by option {@code key}, or a write by location to a table of a catalog, would leave them stale.
 */
final class CachedFrames {
  private CachedFrames() {}

  /** Has Spark read those again that read a location. The write has been committed, so nothing that goes wrong here is its error. */
  static void refresh(String location) {
    try {
      SparkSession session = SparkSession.active();
      Object manager = call(call(session, "sharedState"), "cacheManager");
      for (LogicalPlan plan : readersOf(FreshVersions.place(location), manager)) {
        recache(manager, session, plan);
      }
    } catch (ReflectiveOperationException | RuntimeException | LinkageError error) {
      LoggerFactory.getLogger(CachedFrames.class).warn(
          "{}: frames of it that are cached may lack the rows that were just written: use unpersist() or REFRESH TABLE", Locations.shown(location), error);
    }
  }

  /** Has Spark forget those that read a location, of which nothing is left. */
  static void forget(String location) {
    try {
      SparkSession session = SparkSession.active();
      Object manager = call(call(session, "sharedState"), "cacheManager");
      for (LogicalPlan plan : readersOf(FreshVersions.place(location), manager)) {
        uncache(manager, session, plan);
      }
    } catch (ReflectiveOperationException | RuntimeException | LinkageError error) {
      LoggerFactory.getLogger(CachedFrames.class).warn(
          "{}: frames of it that are cached still have its rows: use unpersist()", Locations.shown(location), error);
    }
  }

  /** The plans of what is cached that read at a place, be it in a subquery. */
  private static List<LogicalPlan> readersOf(String place, Object manager) throws ReflectiveOperationException {
    List<LogicalPlan> found = new ArrayList<>();
    for (Object entry : list(field(manager, "cachedData"))) {
      LogicalPlan plan = ((CachedData) entry).plan();
      boolean isReader = reads(plan, place);
      for (Object subquery : list(call(plan, "subqueriesAll"))) {
        isReader |= reads((LogicalPlan) subquery, place);
      }
      if (isReader) {
        found.add(plan);
      }
    }
    // What is cached of another cached frame is larger, and is read again from what that has by then.
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

  /** A collection of Scala's: its classes differ between the versions that Spark is built with, and its iterators do not. */
  private static List<Object> list(Object collection) {
    List<Object> found = new ArrayList<>();
    Iterator<?> items = ((scala.collection.Iterable<?>) collection).iterator();
    while (items.hasNext()) {
      found.add(items.next());
    }
    return found;
  }

  /** The class of the session is another one in Spark 4. */
  private static void recache(Object manager, SparkSession session, LogicalPlan plan) throws ReflectiveOperationException {
    for (Method method : manager.getClass().getMethods()) {
      if (method.getName().equals("recacheByPlan") && method.getParameterCount() == 2) {
        method.invoke(manager, session, plan);
        return;
      }
    }
    throw new NoSuchMethodException("recacheByPlan");
  }

  /** With what depends on it. The arguments are a session, a plan, and one or two flags, as the version of Spark has it. */
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
