package lakerace.spark;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import scala.collection.Iterator;

/**
 * Access to classes of Spark that differ between its versions: the arguments of their constructors, and the classes of Scala's
 * sequences, whose iterators and lists are the same in all of them.
 */
final class SparkInternals {
  private SparkInternals() {}

  /** The items of a Scala collection. */
  static List<Object> items(Object collection) {
    List<Object> found = new ArrayList<>();
    Iterator<?> items = ((scala.collection.Iterable<?>) collection).iterator();
    while (items.hasNext()) {
      found.add(items.next());
    }
    return found;
  }

  /** A Scala list of these items, which is a sequence to all versions. */
  static scala.collection.immutable.List<Object> list(List<?> items) {
    scala.collection.immutable.List<Object> list = scala.collection.immutable.List$.MODULE$.empty();
    for (int at = items.size() - 1; at >= 0; at--) {
      list = list.$colon$colon(items.get(at));
    }
    return list;
  }

  /** The constructor with the most parameters. */
  static Constructor<?> longestConstructor(Class<?> type) {
    return Collections.max(Arrays.asList(type.getConstructors()), (a, b) -> Integer.compare(a.getParameterCount(), b.getParameterCount()));
  }
}
