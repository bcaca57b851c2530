#include "client/tool/tool_options.h"

#include <climits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/session/directives.h"
#include "common/support/ignored_directives.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

// The result of reading a directive.
enum class Reading : uint8_t { kRead, kMalformed, kAnother };

Reading Read(bool ok) { return ok ? Reading::kRead : Reading::kMalformed; }

Reading ReadText(const pmix_info_t& info, std::string* out) {
  const auto text = StringOf(info.value);
  if (text) *out = *text;
  return Read(text && !text->empty());
}

Reading ReadNumber(const pmix_info_t& info, uint64_t limit, uint32_t* out) {
  const auto number = Uint64Of(info.value);
  if (number) *out = static_cast<uint32_t>(*number);
  return Read(number && *number <= limit);
}

Reading ReadPid(const pmix_info_t& info, std::optional<int>* out) {
  const auto pid = Int64Of(info.value);
  if (pid) *out = static_cast<int>(*pid);
  return Read(pid && *pid > 0 && *pid <= INT_MAX);
}

Reading ReadName(const pmix_info_t& info, std::string_view key,
                 ToolOptions* out) {
  if (key == PMIX_TOOL_RANK) {
    return ReadNumber(info, kRankValid, &out->name.rank);
  }
  const Reading reading = ReadText(info, &out->name.nspace);
  return out->name.nspace.size() > kMaxNspaceLen ? Reading::kMalformed
                                                 : reading;
}

Reading ReadChoice(const pmix_info_t& info, std::string_view key,
                   ServerChoice* out) {
  if (key == PMIX_TOOL_ATTACHMENT_FILE) {
    return ReadText(info, &out->attachment_file);
  }
  if (key == PMIX_SERVER_URI) return ReadText(info, &out->uri);
  if (key == PMIX_SERVER_PIDINFO) return ReadPid(info, &out->pid);
  if (key == PMIX_SERVER_NSPACE) return ReadText(info, &out->nspace);
  if (key == PMIX_SERVER_HOSTNAME) return ReadText(info, &out->host);
  if (key == PMIX_SERVER_TMPDIR) return ReadText(info, &out->server_tmpdir);
  if (key == PMIX_SYSTEM_TMPDIR) return ReadText(info, &out->system_tmpdir);
  if (key == PMIX_CONNECT_TO_SYSTEM) {
    out->system = IsTrue(info);
  } else if (key == PMIX_CONNECT_SYSTEM_FIRST) {
    out->system_first = IsTrue(info);
  } else {
    return Reading::kAnother;
  }
  return Reading::kRead;
}

Reading ReadOption(const pmix_info_t& info, std::string_view key,
                   ToolOptions* out) {
  if (key == PMIX_TOOL_NSPACE || key == PMIX_TOOL_RANK) {
    return ReadName(info, key, out);
  }
  if (key == PMIX_CONNECT_MAX_RETRIES) {
    return ReadNumber(info, UINT32_MAX, &out->retries);
  }
  if (key == PMIX_CONNECT_RETRY_DELAY) {
    return ReadNumber(info, UINT32_MAX, &out->delay_s);
  }
  if (key == PMIX_TOOL_DO_NOT_CONNECT) {
    out->connects = !IsTrue(info);
  } else if (key == PMIX_PRIMARY_SERVER) {
    out->primary = IsTrue(info);
  } else {
    return ReadChoice(info, key, &out->server);
  }
  return Reading::kRead;
}

// Reads directives of PMIx_tool_init only.
Reading ReadStart(const pmix_info_t& info, std::string_view key,
                  ToolOptions* out) {
  // PMIx_tool_init itself honours PMIX_LAUNCHER: it gives the launcher an
  // address.
  if (key == PMIX_LAUNCHER) return Reading::kRead;
  if (key != PMIX_TOOL_CONNECT_OPTIONAL) return Reading::kAnother;
  out->optional = IsTrue(info);
  return Reading::kRead;
}

// Reads directives that are not specific to tools. A tool that has started has
// its progress thread and its models already.
int ReadOthers(std::string_view function, bool starts,
               const std::vector<pmix_info_t>& infos, ToolOptions* out) {
  if (starts) {
    return ParseInitOptions(function, infos.data(), infos.size(), &out->init);
  }
  // The calls that connect a tool to a further server reject
  // PMIX_TOOL_DO_NOT_CONNECT.
  if (!out->connects) return PMIX_ERR_BAD_PARAM;
  for (const pmix_info_t& info : infos) {
    const int rc = support::NotHonoured(function, info);
    if (rc != PMIX_SUCCESS) return rc;
  }
  return PMIX_SUCCESS;
}

}  // namespace

int ParseToolOptions(std::string_view function, const pmix_info_t* info,
                     size_t ninfo, ToolOptions* out) {
  if (info == nullptr && ninfo > 0) return PMIX_ERR_BAD_PARAM;
  const bool starts = function == "PMIx_tool_init";
  std::vector<pmix_info_t> others;  // refer to the caller's values
  std::string tcp_uri;
  for (size_t i = 0; i < ninfo; ++i) {
    const std::string_view key = KeyOf(info[i]);
    if (key == PMIX_LAUNCHER_RENDEZVOUS_FILE) return PMIX_ERR_NOT_SUPPORTED;
    Reading reading = key == PMIX_TCP_URI ? ReadText(info[i], &tcp_uri)
                                          : ReadOption(info[i], key, out);
    if (reading == Reading::kAnother && starts) {
      reading = ReadStart(info[i], key, out);
    }
    if (reading == Reading::kMalformed) return PMIX_ERR_BAD_PARAM;
    if (reading == Reading::kAnother) others.push_back(info[i]);
  }
  if (!tcp_uri.empty()) {
    if (!out->server.uri.empty()) return PMIX_ERR_BAD_PARAM;
    out->server.uri = std::move(tcp_uri);
    out->server.tcp = true;
  }
  return ReadOthers(function, starts, others, out);
}

}  // namespace canopy::client
