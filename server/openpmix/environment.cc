#include "server/openpmix/environment.h"

namespace canopy::openpmix {

std::string ServerUri(const ProcId& server, const std::string& address) {
  const char* scheme = address.starts_with('[') ? "tcp6://" : "tcp4://";
  return server.nspace + "." + std::to_string(server.rank) + ";" + scheme +
         address;
}

std::vector<std::string> ServerEnvironment(const ProcId& server,
                                           const std::string& address) {
  const std::string uri = ServerUri(server, address);
  return {
      // A library reads one of these three variables, according to its codec;
      // 41 is for 4.1 and newer.
      "PMIX_SERVER_URI41=" + uri,
      "PMIX_SERVER_URI4=" + uri,
      "PMIX_SERVER_URI3=" + uri,
      "PMIX_SECURITY_MODE=native,none",
      "PMIX_BFROP_BUFFER_TYPE=PMIX_BFROP_BUFFER_NON_DESC",
      // The layouts of the library's other data stores depend on its version.
      "PMIX_GDS_MODULE=hash",
  };
}

const std::vector<std::string>& UnsetNames() {
  // These are settings that an outer launcher chose for its own server.
  static const auto* names = new std::vector<std::string>{
      "PMIX_MCA_bfrops*",
      "PMIX_MCA_gds*",
      "PMIX_MCA_psec*",
      "PMIX_MCA_ptl*",
  };
  return *names;
}

}  // namespace canopy::openpmix
