#include "client/tool/server_search.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "client/session/tool_bootstrap.h"
#include "client/tool/rendezvous.h"
#include "common/posix/host_name.h"
#include "common/posix/private_dir.h"

namespace canopy::client {
namespace {

constexpr std::string_view kFileUri = "file:";

std::string SystemFile(const ServerChoice& choice) {
  const std::string& directory = choice.system_tmpdir;
  return (directory.empty() ? TemporaryBase() : directory) + "/pmix.sys." +
         LocalHostName();
}

// Returns the directories in which this user's servers write their files.
std::vector<std::string> Directories(const ServerChoice& choice) {
  if (!choice.server_tmpdir.empty()) return {choice.server_tmpdir};
  std::vector<std::string> directories;
  if (const char* tmpdir = getenv("PMIX_SERVER_TMPDIR")) {
    directories.emplace_back(tmpdir);
  }
  const bool has_tmpdir = getenv("TMPDIR") != nullptr;
  if (has_tmpdir) directories.push_back(TemporaryBase());
  // Agents use this directory by default.
  directories.push_back(UserRuntimeDir());
  // Programs that are servers make their directories in /tmp by default. They
  // serve the tools that they start, and these tools choose them explicitly.
  if (choice.explicit_choice() && !has_tmpdir) {
    for (std::string& own : ServerDirectoriesIn(TemporaryBase())) {
      directories.push_back(std::move(own));
    }
  }
  return directories;
}

std::string HostOf(const ServerChoice& choice) {
  return choice.host.empty() || choice.host == "localhost" ? LocalHostName()
                                                           : choice.host;
}

class Search {
 public:
  Search(const ToolOptions& options, const std::vector<ProcId>& known)
      : choice_(options.server),
        name_(options.name),
        known_(known),
        host_(HostOf(choice_)),
        elsewhere_(host_ != LocalHostName()) {}

  Result<ServerFound> Once() const {
    if (!choice_.attachment_file.empty()) {
      return ByFile(choice_.attachment_file);
    }
    if (choice_.uri.starts_with(kFileUri)) {
      return ByFile(choice_.uri.substr(kFileUri.size()));
    }
    if (!choice_.uri.empty() || choice_.pid || !choice_.nspace.empty()) {
      return BySearch();
    }
    if (choice_.system) return BySystem();
    if (choice_.system_first) {
      Result<ServerFound> system = BySystem();
      if (system.ok() && system->connection) return system;
    }
    return BySearch();
  }

 private:
  bool IsWanted(const ServerContact& contact) const {
    if (!choice_.uri.empty()) return contact.uri == choice_.uri;
    if (choice_.pid) {
      return std::find(contact.pids.begin(), contact.pids.end(),
                       *choice_.pid) != contact.pids.end();
    }
    return choice_.nspace.empty() || contact.server.nspace == choice_.nspace;
  }

  bool IsKnown(const ProcId& server) const {
    return std::find(known_.begin(), known_.end(), server) != known_.end();
  }

  Result<ServerFound> Connect(const ServerContact& contact) const {
    if (IsKnown(contact.server)) return ServerFound{contact.server, {}};
    if (contact.socket.empty()) {
      return Status(kErrNotSupported,
                    contact.uri + " is not an agent of this machine");
    }
    Result<Bootstrap> connected = ConnectTool(contact.socket, name_);
    if (!connected.ok()) return connected.status();
    const ProcId server = connected->server;
    return ServerFound{server, std::move(*connected)};
  }

  Result<ServerFound> ByFile(const std::string& path) const {
    const Result<ServerContact> contact = ReadRendezvousFile(path);
    if (!contact.ok()) return contact.status();
    return Connect(*contact);
  }

  Result<ServerFound> BySystem() const {
    if (elsewhere_) return NoneFound();
    Result<ServerFound> found = ByFile(SystemFile(choice_));
    if (found.code() != kErrNotFound) return found;
    return Status(kErrUnreach, "this machine has no system server");
  }

  // Returns the error for the case that no server was found. A server of
  // another machine can be found only through a relay on this machine, which
  // also has a TCP address.
  Status NoneFound() const {
    if (elsewhere_) {
      return Status(kErrNotSupported,
                    host_ + " is another machine, and no relay leads there");
    }
    if (choice_.tcp) {
      return Status(
          kErrNotSupported,
          choice_.uri + " does not belong to a server on this machine");
    }
    return Status(kErrUnreach, "no server was found");
  }

  // Searches the directories. A server that is already connected is an
  // acceptable choice if it was chosen explicitly and no other server is found.
  Result<ServerFound> BySearch() const {
    Result<ServerFound> found = NoneFound();
    for (const std::string& directory : Directories(choice_)) {
      for (const ServerContact& contact : SearchRendezvous(directory, host_)) {
        if (!IsWanted(contact)) continue;
        Result<ServerFound> next = Connect(contact);
        if (next.ok() && next->connection) return next;
        if (next.ok() && !choice_.explicit_choice()) continue;
        if (!found.ok()) found = std::move(next);
      }
    }
    return found;
  }

  const ServerChoice& choice_;
  const ProcId& name_;
  const std::vector<ProcId>& known_;
  const std::string host_;
  const bool elsewhere_;
};

}  // namespace

Result<ServerFound> ConnectToServer(const ToolOptions& options,
                                    const std::vector<ProcId>& known) {
  const Search search(options, known);
  for (uint32_t tried = 0;; ++tried) {
    Result<ServerFound> found = search.Once();
    if (found.ok() || tried == options.retries) return found;
    std::this_thread::sleep_for(std::chrono::seconds(options.delay_s));
  }
}

}  // namespace canopy::client
