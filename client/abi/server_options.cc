#include "client/abi/server_options.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "client/session/directives.h"
#include "common/posix/host_name.h"
#include "common/posix/private_dir.h"
#include "common/support/ignored_directives.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

struct FlagName {
  std::string_view key;
  bool ServerDirectives::*member;
};
constexpr FlagName kFlagNames[] = {
    {PMIX_SERVER_TOOL_SUPPORT, &ServerDirectives::tools},
    {PMIX_SERVER_SYSTEM_SUPPORT, &ServerDirectives::system},
    {PMIX_IOF_LOCAL_OUTPUT, &ServerDirectives::local_output},
};

// Flags that the server does not honour. A flag that is true is refused if it
// is required, and reported if not.
constexpr std::string_view kRefusedFlags[] = {
    PMIX_USOCK_DISABLE,          PMIX_SINGLE_LISTENER,
    PMIX_TCP_DISABLE_IPV4,       PMIX_HOMOGENEOUS_SYSTEM,
    PMIX_SERVER_SESSION_SUPPORT, PMIX_SERVER_GATEWAY,
    PMIX_SERVER_SCHEDULER,       PMIX_SERVER_REMOTE_CONNECTIONS,
    PMIX_SERVER_SHARE_TOPOLOGY,  PMIX_SERVER_ENABLE_MONITORING,
    PMIX_EXTERNAL_PROGRESS,
};

Status Malformed(const pmix_info_t& info) {
  return Status(kErrBadParam, std::string(KeyOf(info)) + " is malformed");
}

Status ReadText(const pmix_info_t& info, std::string* text) {
  const auto value = StringOf(info.value);
  if (!value || value->empty()) return Malformed(info);
  *text = *value;
  return Status();
}

Status ReadNumber(const pmix_info_t& info, uint32_t* number) {
  const auto value = Uint64Of(info.value);
  if (!value || *value > UINT32_MAX) return Malformed(info);
  *number = static_cast<uint32_t>(*value);
  return Status();
}

Status ReadName(const pmix_info_t& info, std::string* nspace) {
  const Status status = ReadText(info, nspace);
  if (!status.ok()) return status;
  return nspace->size() <= kMaxNspaceLen ? Status() : Malformed(info);
}

// Puts the name that the host has for this node in front of the node's other
// names.
Status ReadHost(const pmix_info_t& info, ServerDirectives* out) {
  std::string name;
  const Status status = ReadText(info, &name);
  if (status.ok()) out->node_names.insert(out->node_names.begin(), name);
  return status;
}

Status ReadNodeId(const pmix_info_t& info, ServerDirectives* out) {
  uint32_t id = 0;
  const Status status = ReadNumber(info, &id);
  if (status.ok()) out->node_id = id;
  return status;
}

Status ReadRefused(const pmix_info_t& info, std::string_view key) {
  const bool is_flag = std::ranges::count(kRefusedFlags, key) > 0;
  if (is_flag && !IsTrue(info)) return Status();
  if (support::NotHonoured("PMIx_server_init", info) == kSuccess) {
    return Status();
  }
  return Status(kErrNotSupported, std::string(key) + " is not supported");
}

Status ReadDirective(const pmix_info_t& info, ServerDirectives* out) {
  const std::string_view key = KeyOf(info);
  if (key == PMIX_SERVER_NSPACE) return ReadName(info, &out->self.nspace);
  if (key == PMIX_SERVER_RANK) return ReadNumber(info, &out->self.rank);
  if (key == PMIX_SERVER_TMPDIR) return ReadText(info, &out->tmpdir);
  if (key == PMIX_SYSTEM_TMPDIR) return ReadText(info, &out->system_tmpdir);
  if (key == PMIX_HOSTNAME) return ReadHost(info, out);
  if (key == PMIX_NODEID) return ReadNodeId(info, out);
  if (key == PMIX_LAUNCHER_RENDEZVOUS_FILE) {
    return ReadText(info, &out->rendezvous_file);
  }
  // Nothing to record: the server never has IPv6 sockets, and NumEntries reads
  // the number of the module's entries.
  if (key == PMIX_TCP_DISABLE_IPV6 || key == CANOPY_SERVER_MODULE_ENTRIES) {
    return Status();
  }
  for (const FlagName& flag : kFlagNames) {
    if (key != flag.key) continue;
    out->*flag.member = IsTrue(info);
    return Status();
  }
  return ReadRefused(info, key);
}

}  // namespace

Result<ServerDirectives> ReadServerDirectives(const pmix_info_t* info,
                                              size_t ninfo) {
  if (info == nullptr && ninfo > 0) {
    return Status(kErrBadParam, "there are no directives");
  }
  ServerDirectives out;
  const std::string host = LocalHostName();
  out.self = {"pmix-server." + host + "." + std::to_string(getpid()), 0};
  out.tmpdir = TemporaryBase();
  out.system_tmpdir = TemporaryBase();
  out.node_names = {host};
  for (size_t i = 0; i < ninfo; ++i) {
    const Status status = ReadDirective(info[i], &out);
    if (!status.ok()) return status;
  }
  return out;
}

}  // namespace canopy::client
