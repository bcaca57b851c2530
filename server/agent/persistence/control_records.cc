#include "server/agent/persistence/control_records.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "common/posix/unique_fd.h"
#include "server/agent/persistence/private_file.h"

namespace canopy::agent {
namespace {

constexpr char kPrefix[] = "job-";
constexpr char kSuffix[] = ".control";
constexpr char kLastSuffix[] = ".last";
struct Head {
  uint32_t key_size;
  uint32_t value_size;
};

}  // namespace

size_t ControlRecords::Parse(std::string_view text, Values* values) {
  size_t at = 0;
  while (text.size() - at >= sizeof(Head)) {
    Head head;
    std::memcpy(&head, text.data() + at, sizeof head);
    const uint64_t size =
        sizeof head + uint64_t{head.key_size} + head.value_size;
    if (text.size() - at < size) break;
    const std::string_view body = text.substr(at + sizeof head);
    (*values)[std::string(body.substr(0, head.key_size))] =
        body.substr(head.key_size, head.value_size);
    at += size;
  }
  return at;
}

std::string ControlRecords::PathOf(const std::string& nspace) const {
  return directory_ + "/" + kPrefix + nspace + kSuffix;
}

Status ControlRecords::Persist(const std::string& nspace, std::string_view key,
                               std::string_view value) {
  if (nspace.empty() || nspace.find('/') != std::string::npos ||
      key.size() > kMaxPrivateFile || value.size() > kMaxPrivateFile) {
    return Status(kErrBadParam, "no record can be stored of job " + nspace);
  }
  const std::string path = PathOf(nspace);
  const int make = known_.contains(nspace) ? 0 : O_CREAT | O_EXCL;
  const UniqueFd fd(open(
      path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | make, 0600));
  if (!fd) return CannotWrite(path);
  known_.insert(nspace);
  const Head head{static_cast<uint32_t>(key.size()),
                  static_cast<uint32_t>(value.size())};
  std::string record(sizeof head, '\0');
  std::memcpy(record.data(), &head, sizeof head);
  record.append(key).append(value);
  return WriteAll(fd.get(), record) ? Status() : CannotWrite(path);
}

std::string ControlRecords::LastPathOf(const std::string& nspace) const {
  return directory_ + "/" + kPrefix + nspace + kLastSuffix;
}

Status ControlRecords::Replace(const std::string& nspace,
                               std::string_view value) {
  const std::string path = LastPathOf(nspace);
  const std::string fresh = path + ".new";
  const UniqueFd fd(open(fresh.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                         0600));
  return fd && WriteAll(fd.get(), value) &&
                 rename(fresh.c_str(), path.c_str()) == 0
             ? Status()
             : CannotWrite(path);
}

std::string ControlRecords::Replaced(const std::string& nspace) const {
  const UniqueFd fd(
      open(LastPathOf(nspace).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return fd ? ReadPrivate(fd.get()).value_or("") : "";
}

void ControlRecords::Drop(const std::string& nspace) {
  if (known_.erase(nspace) == 0) return;
  unlink(PathOf(nspace).c_str());
  unlink(LastPathOf(nspace).c_str());
}

void ControlRecords::DropAll() {
  while (!known_.empty()) Drop(std::string(*known_.begin()));
}

std::map<std::string, ControlRecords::Values> ControlRecords::Load() {
  std::map<std::string, Values> out;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory_, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    const UniqueFd fd(
        open(entry.path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    const auto text = fd ? ReadPrivate(fd.get()) : std::nullopt;
    if (!text) continue;
    const size_t prefix = sizeof kPrefix - 1;
    const std::string nspace =
        name.substr(prefix, name.size() - prefix - (sizeof kSuffix - 1));
    const size_t whole = Parse(*text, &out[nspace]);
    // The next record must not follow an incomplete one.
    if (whole == text->size() ||
        ftruncate(fd.get(), static_cast<off_t>(whole)) == 0) {
      known_.insert(nspace);
    }
  }
  return out;
}

}  // namespace canopy::agent
