// The directives of PMIx_server_init.
#ifndef CANOPY_CLIENT_ABI_SERVER_OPTIONS_H_
#define CANOPY_CLIENT_ABI_SERVER_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "pmix_server.h"

namespace canopy::client {

struct ServerDirectives {
  ProcId self;  // PMIX_SERVER_NSPACE, PMIX_SERVER_RANK
  // The parent of the server's own directory: PMIX_SERVER_TMPDIR, or the
  // directory for temporary files of this process.
  std::string tmpdir;
  std::string system_tmpdir;            // PMIX_SYSTEM_TMPDIR
  bool tools = false;                   // PMIX_SERVER_TOOL_SUPPORT
  bool system = false;                  // PMIX_SERVER_SYSTEM_SUPPORT
  // True if other users may not read the server's files.
  bool of_one_user = false;
  bool local_output = false;            // PMIX_IOF_LOCAL_OUTPUT
  std::string rendezvous_file;          // PMIX_LAUNCHER_RENDEZVOUS_FILE
  // The names of this node; the first is the host name.
  std::vector<std::string> node_names;
  std::optional<uint32_t> node_id;      // PMIX_NODEID
};

// Returns kErrNotSupported for a required directive that is not honoured, and
// kErrBadParam for a malformed one.
Result<ServerDirectives> ReadServerDirectives(const pmix_info_t* info,
                                              size_t ninfo);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_SERVER_OPTIONS_H_
