import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.transport.Netty4Plugin;

/** A node of Elasticsearch 7 on loopback: `Elasticsearch7 HOME [setting=value ...]`. */
public class Elasticsearch7 {
    private static class WithNetty extends Node {
        WithNetty(org.elasticsearch.env.Environment environment) {
            super(environment, List.of(Netty4Plugin.class), false);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Settings.Builder settings = Settings.builder().put("path.home", arguments[0]);
        for (int i = 1; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        LogConfigurator.configureWithoutConfig(settings.build());
        new WithNetty(InternalSettingsPreparer.prepareEnvironment(
            settings.build(), Map.of(), Path.of(arguments[0], "config"), () -> "test")).start();
        new CountDownLatch(1).await();
    }
}
