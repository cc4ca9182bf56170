import jakarta.servlet.DispatcherType;
import jakarta.servlet.FilterChain;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.FilterHolder;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;

/**
 * Iceberg's REST catalog over a JDBC catalog on SQLite: HOST PORT DATABASE WAREHOUSE. Who brings no
 * token is refused; one is had for any credential.
 */
public class RestCatalogServer {
  public static void main(String[] args) throws Exception {
    Map<String, String> properties = new HashMap<>();
    properties.put("uri", "jdbc:sqlite:" + args[2]);
    properties.put("warehouse", args[3]);
    properties.put("jdbc.schema-version", "V1");
    properties.put("jdbc.busy_timeout", "30000");
    JdbcCatalog catalog = new JdbcCatalog();
    catalog.setConf(new Configuration());
    catalog.initialize("lake", properties);

    ServletContextHandler served = new ServletContextHandler();
    RESTCatalogServlet servlet = new RESTCatalogServlet(new RESTCatalogAdapter(catalog));
    served.addServlet(new ServletHolder(servlet), "/*");
    served.addFilter(new FilterHolder(new TokenFilter()), "/*", EnumSet.of(DispatcherType.REQUEST));
    Server server = new Server(new InetSocketAddress(args[0], Integer.parseInt(args[1])));
    server.setHandler(served);
    server.start();
    server.join();
  }

  private static class TokenFilter extends HttpFilter {
    @Override
    protected void doFilter(
        HttpServletRequest request, HttpServletResponse response, FilterChain chain)
        throws IOException, jakarta.servlet.ServletException {
      boolean asksForOne = request.getRequestURI().endsWith("/v1/oauth/tokens");
      if (asksForOne || request.getHeader("Authorization") != null) {
        chain.doFilter(request, response);
      } else {
        response.sendError(HttpServletResponse.SC_UNAUTHORIZED, "no token");
      }
    }
  }
}
