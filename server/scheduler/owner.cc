#include "server/scheduler/owner.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace canopy::scheduler {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr char kListens[] = "0A";  // TCP_LISTEN
constexpr int kHex = 16;

Status Foreign(const std::string& address, uid_t owner) {
  return {kErrNoPermissions,
          address + " is served by user " + std::to_string(owner)};
}

Status CheckSocket(const std::string& address, uid_t uid) {
  struct stat info;
  if (lstat(address.c_str() + kUnix.size(), &info) != 0) {
    return {kErrUnreach, std::strerror(errno)};
  }
  if (info.st_uid == uid || info.st_uid == 0) return {};
  return Foreign(address, info.st_uid);
}

std::vector<uid_t> Listeners(const char* path, uint16_t port) {
  std::ifstream in(path);
  const std::string table{std::istreambuf_iterator<char>(in), {}};
  return ListenersOf(table, port);
}

Status CheckPort(const std::string& address, uid_t uid) {
  const auto port = static_cast<uint16_t>(
      std::strtoul(address.c_str() + address.rfind(':') + 1, nullptr, 10));
  bool served = false;
  for (const char* path : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    for (const uid_t owner : Listeners(path, port)) {
      if (owner != uid && owner != 0) return Foreign(address, owner);
      served = true;
    }
  }
  return served ? Status() : Status(kErrUnreach, "nothing listens there");
}

}  // namespace

// The format of a line is "sl local_address rem_address st tx:rx tr:when
// retrnsmt uid ...".
std::vector<uid_t> ListenersOf(std::string_view table, uint16_t port) {
  std::vector<uid_t> owners;
  std::istringstream lines{std::string(table)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, again;
    uid_t owner = 0;
    if (!(words >> number >> local >> remote >> state >> queues >> timer >>
          again >> owner) ||
        state != kListens) {
      continue;
    }
    const size_t colon = local.rfind(':');
    if (colon == std::string::npos) continue;
    if (std::strtoul(local.c_str() + colon + 1, nullptr, kHex) == port) {
      owners.push_back(owner);
    }
  }
  return owners;
}

Status CheckOwner(const std::string& address, uid_t uid) {
  return address.starts_with(kUnix) ? CheckSocket(address, uid)
                                    : CheckPort(address, uid);
}

}  // namespace canopy::scheduler
