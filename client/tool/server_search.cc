#include "client/tool/server_search.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "client/session/tool_bootstrap.h"
#include "client/tool/rendezvous.h"
#include "common/posix/host_name.h"
#include "common/posix/private_dir.h"

namespace canopy::client {
namespace {

constexpr std::string_view kFileUri = "file:";

std::string TmpDir() {
  const char* value = getenv("TMPDIR");
  return value == nullptr || *value == '\0' ? "/tmp" : value;
}

std::string SystemFile(const ServerChoice& choice) {
  const std::string& directory = choice.system_tmpdir;
  return (directory.empty() ? TmpDir() : directory) + "/pmix.sys." +
         LocalHostName();
}

// Where this user's servers write their files.
std::vector<std::string> Directories(const ServerChoice& choice) {
  if (!choice.server_tmpdir.empty()) return {choice.server_tmpdir};
  std::vector<std::string> directories;
  if (const char* tmpdir = getenv("PMIX_SERVER_TMPDIR")) {
    directories.emplace_back(tmpdir);
  }
  if (getenv("TMPDIR") != nullptr) directories.push_back(TmpDir());
  // Of agents that were not told another place.
  directories.push_back(RuntimeBase() + "/canopy-" + std::to_string(geteuid()));
  return directories;
}

class Search {
 public:
  explicit Search(const ToolOptions& options)
      : choice_(options.server), name_(options.name) {}

  Result<Bootstrap> Once() const {
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
      Result<Bootstrap> system = BySystem();
      if (system.ok()) return system;
    }
    return BySearch();
  }

 private:
  bool IsWanted(const ServerContact& contact) const {
    if (!choice_.uri.empty()) return contact.uri == choice_.uri;
    if (choice_.pid) return contact.pid == *choice_.pid;
    return choice_.nspace.empty() || contact.server.nspace == choice_.nspace;
  }

  Result<Bootstrap> Connect(const ServerContact& contact) const {
    if (contact.socket.empty()) {
      return Status(kErrNotSupported,
                    contact.uri + " is not an agent of this machine");
    }
    return ConnectTool(contact.socket, name_);
  }

  Result<Bootstrap> ByFile(const std::string& path) const {
    const Result<ServerContact> contact = ReadRendezvousFile(path);
    if (!contact.ok()) return contact.status();
    return Connect(*contact);
  }

  Result<Bootstrap> BySystem() const {
    Result<Bootstrap> found = ByFile(SystemFile(choice_));
    if (found.code() != kErrNotFound) return found;
    return Status(kErrUnreach, "this machine has no system server");
  }

  Result<Bootstrap> BySearch() const {
    Status last(kErrUnreach, "no server was found");
    for (const std::string& directory : Directories(choice_)) {
      for (const ServerContact& contact : SearchRendezvous(directory)) {
        if (!IsWanted(contact)) continue;
        Result<Bootstrap> connected = Connect(contact);
        if (connected.ok()) return connected;
        last = connected.status();
      }
    }
    return last;
  }

  const ServerChoice& choice_;
  const ProcId& name_;
};

}  // namespace

Result<Bootstrap> ConnectToServer(const ToolOptions& options) {
  const Search search(options);
  for (uint32_t tried = 0;; ++tried) {
    Result<Bootstrap> found = search.Once();
    if (found.ok() || tried == options.retries) return found;
    std::this_thread::sleep_for(std::chrono::seconds(options.delay_s));
  }
}

}  // namespace canopy::client
