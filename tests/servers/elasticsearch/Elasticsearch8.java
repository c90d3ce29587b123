import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/** A node of Elasticsearch 8 on loopback: `Elasticsearch8 HOME [setting=value ...]`. */
public class Elasticsearch8 {
    public static void main(String[] arguments) throws Exception {
        Settings.Builder settings = Settings.builder().put("path.home", arguments[0]);
        for (int i = 1; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        LogConfigurator.configureWithoutConfig(settings.build());
        Environment environment = InternalSettingsPreparer.prepareEnvironment(
            settings.build(), Map.of(), Path.of(arguments[0], "config"), () -> "test");
        Node node = new Node(environment, PluginsLoader.createPluginsLoader(
            PluginsLoader.loadModulesBundles(environment.modulesDir()),
            PluginsLoader.loadPluginsBundles(environment.pluginsDir()),
            Map.of(),
            false));
        node.start();
        new CountDownLatch(1).await();
    }
}
