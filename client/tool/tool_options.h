// The directives by which a tool gives its name and chooses its server.
#ifndef CANOPY_CLIENT_TOOL_TOOL_OPTIONS_H_
#define CANOPY_CLIENT_TOOL_TOOL_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/session/init_options.h"
#include "common/ids.h"
#include "pmix.h"

namespace canopy::client {

// The choice of a server, in the order of the Standard's chapter on tools: of
// the members up to `system`, only the first that is set counts.
struct ServerChoice {
  std::string attachment_file;  // PMIX_TOOL_ATTACHMENT_FILE
  std::string uri;              // PMIX_SERVER_URI or PMIX_TCP_URI
  bool tcp = false;             // `uri` comes from PMIX_TCP_URI
  std::optional<int> pid;       // PMIX_SERVER_PIDINFO
  std::string nspace;           // PMIX_SERVER_NSPACE
  bool system = false;          // PMIX_CONNECT_TO_SYSTEM
  // PMIX_CONNECT_SYSTEM_FIRST: if there is no system server, the search
  // continues.
  bool system_first = false;
  std::string host;  // PMIX_SERVER_HOSTNAME; empty: this machine
  // The directories to search; empty: the usual ones of this user's servers.
  std::string server_tmpdir;  // PMIX_SERVER_TMPDIR
  std::string system_tmpdir;  // PMIX_SYSTEM_TMPDIR

  bool explicit_choice() const {
    return !attachment_file.empty() || !uri.empty() || pid || !nspace.empty() ||
           system;
  }
};

struct ToolOptions {
  ProcId name{"", 0};     // PMIX_TOOL_NSPACE and _RANK; no namespace: none
  bool connects = true;   // not PMIX_TOOL_DO_NOT_CONNECT
  bool primary = false;   // PMIX_PRIMARY_SERVER
  bool optional = false;  // PMIX_TOOL_CONNECT_OPTIONAL: may have no server
  uint32_t retries = 0;   // PMIX_CONNECT_MAX_RETRIES
  uint32_t delay_s = 1;   // PMIX_CONNECT_RETRY_DELAY: seconds between tries
  ServerChoice server;
  InitOptions init;
};

// Reads the directives of `function`: PMIx_tool_init or
// PMIx_tool_attach_to_server. Returns a PMIx status: PMIX_ERR_BAD_PARAM for a
// value of a wrong type and for contradictory directives;
// PMIX_ERR_NOT_SUPPORTED for a required directive that is not honoured, and for
// PMIX_LAUNCHER_RENDEZVOUS_FILE, because a tool that is not a server has no
// address to write there.
int ParseToolOptions(std::string_view function, const pmix_info_t* info,
                     size_t ninfo, ToolOptions* out);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_TOOL_OPTIONS_H_
