#include "client/abi/server_options.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "client/session/directives.h"
#include "common/posix/host_name.h"
#include "common/posix/private_dir.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

// Honoured here, or by whoever reads the module; and what asks for no more than
// is done anyway.
constexpr std::string_view kHonoured[] = {PMIX_SERVER_NSPACE,
                                          PMIX_SERVER_RANK,
                                          PMIX_SERVER_TMPDIR,
                                          PMIX_SYSTEM_TMPDIR,
                                          PMIX_HOSTNAME,
                                          PMIX_NODEID,
                                          PMIX_SERVER_TOOL_SUPPORT,
                                          PMIX_SERVER_SYSTEM_SUPPORT,
                                          PMIX_USOCK_DISABLE,
                                          PMIX_SINGLE_LISTENER,
                                          PMIX_TCP_DISABLE_IPV6,
                                          PMIX_HOMOGENEOUS_SYSTEM,
                                          PMIX_IOF_LOCAL_OUTPUT,
                                          CANOPY_SERVER_MODULE_ENTRIES};

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

// The host's name of this node is the first of its names.
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
  if (key == PMIX_SERVER_TOOL_SUPPORT) out->tools = IsTrue(info);
  if (key == PMIX_SERVER_SYSTEM_SUPPORT) out->system = IsTrue(info);
  if (key == PMIX_IOF_LOCAL_OUTPUT) out->local_output = IsTrue(info);
  const bool known = std::ranges::count(kHonoured, key) > 0;
  if (known || !IsRequired(info)) return Status();
  return Status(kErrNotSupported, std::string(key) + " is not supported");
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
