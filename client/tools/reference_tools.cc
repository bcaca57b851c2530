#include "client/tools/reference_tools.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>

#include "client/tools/calls.h"
#include "client/tools/reference_tool.h"
#include "client/tools/server_options.h"
#include "common/version.h"

namespace canopy::tools {
namespace {

struct Tool {
  std::string_view name;
  std::string_view words;
  std::string_view about;
  std::unique_ptr<ReferenceTool> (*make)();
};

constexpr Tool kTools[] = {
    {"pps", "", "Lists jobs and their processes.", MakePps},
    {"pquery", " KEY[QUALIFIER=VALUE;...]...",
     "Queries information, as PMIx_Query_info does.", MakePquery},
    {"pattrs", "", "Lists the supported functions and attributes.", MakePattrs},
    {"plookup", " KEY...", "Looks up published values.", MakePlookup},
    {"pevent", "", "Raises an event.", MakePevent},
    {"pctrl", "", "Controls processes.", MakePctrl},
    {"palloc", "", "Requests an allocation from the scheduler.", MakePalloc},
};

const Tool* RowOf(std::string_view name) {
  const Tool* const row = std::ranges::find(kTools, name, &Tool::name);
  return row == std::end(kTools) ? nullptr : row;
}

int Refuse(const Tool& row, const Status& status) {
  Complain(std::string(status.message()) + " ('" + std::string(row.name) +
           " --help' lists the options)");
  return kExitUsage;
}

void PrintHelp(const Tool& row, const cli::OptionTable& table) {
  printf("usage: %s [options]%s\n\n%s\n\noptions:\n%s",
         std::string(row.name).c_str(), std::string(row.words).c_str(),
         std::string(row.about).c_str(), cli::OptionHelp(table).c_str());
}

pmix_status_t Connect(const ServerOptions& options) {
  Infos infos;
  if (!options.uri.empty()) infos.AddText(PMIX_SERVER_URI, options.uri);
  if (!options.nspace.empty()) {
    infos.AddText(PMIX_SERVER_NSPACE, options.nspace);
  }
  const auto pid = static_cast<pid_t>(options.pid);
  if (pid != 0) infos.Add(PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
  if (!options.directory.empty()) {
    infos.AddText(PMIX_SERVER_TMPDIR, options.directory);
    infos.AddText(PMIX_SYSTEM_TMPDIR, options.directory);
  }
  if (options.system_first) infos.AddFlag(PMIX_CONNECT_SYSTEM_FIRST);
  if (options.only_system) infos.AddFlag(PMIX_CONNECT_TO_SYSTEM);
  if (options.no_server) infos.AddFlag(PMIX_TOOL_DO_NOT_CONNECT);
  if (options.retries != 0) {
    infos.Add(PMIX_CONNECT_MAX_RETRIES, &options.retries, PMIX_UINT32);
  }
  if (options.delay_s != 0) {
    infos.Add(PMIX_CONNECT_RETRY_DELAY, &options.delay_s, PMIX_UINT32);
  }
  infos.RequireAll();
  pmix_proc_t self;
  return PMIx_tool_init(&self, infos.data(), infos.size());
}

void TellServer() {
  pmix_proc_t* servers = nullptr;
  size_t count = 0;
  if (PMIx_tool_get_servers(&servers, &count) == PMIX_SUCCESS && count > 0) {
    fprintf(stderr, "connected to %s.%u\n", servers[0].nspace, servers[0].rank);
  }
  PMIX_PROC_FREE(servers, count);
}

}  // namespace

std::string ReferenceName(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  constexpr std::string_view kOurs = "canopy-";
  if (path.starts_with(kOurs)) path.remove_prefix(kOurs.size());
  return RowOf(path) == nullptr ? "" : std::string(path);
}

int RunReferenceTool(const std::string& name,
                     const std::vector<std::string>& args) {
  const Tool& row = *RowOf(name);
  const std::unique_ptr<ReferenceTool> tool = row.make();
  ServerOptions server;
  cli::OptionTable table = tool->Options();
  std::ranges::move(ServerOptionTable(&server), std::back_inserter(table));
  const Result<std::vector<std::string>> words =
      cli::ApplyOptions(table, args, cli::RestRule::kBetween);
  if (!words.ok()) return Refuse(row, words.status());
  if (server.help) {
    PrintHelp(row, table);
    return 0;
  }
  if (server.version) {
    printf("%s (Canopy) %s\n", name.c_str(), kVersion);
    return 0;
  }
  if (Status s = tool->Check(*words); !s.ok()) return Refuse(row, s);
  const pmix_status_t status = Connect(server);
  if (status != PMIX_SUCCESS) return Fail("no server", status);
  if (server.verbose) TellServer();
  const int code = tool->Run(*words);
  (void)PMIx_tool_finalize();
  return code;
}

}  // namespace canopy::tools
