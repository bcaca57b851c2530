// The fuzz target for the memory file of a journal as another process has left
// it. The input is padded with zeros to the size of a small journal.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "common/posix/unique_fd.h"
#include "server/agent/persistence/journal.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::agent {
namespace {

constexpr size_t kSmallest = 64 << 10;

std::string ContentOf(const Journal& journal) {
  std::string content(4096, '\0');
  if (pread(journal.fd(), content.data(), content.size(), 0) < 0) abort();
  return content;
}

std::string Seed(
    const std::vector<std::pair<std::string, std::string>>& records) {
  auto journal = Journal::Create();
  bool moved = false;
  for (const auto& [key, value] : records) {
    if (!(*journal)->Persist(key, value, &moved).ok()) abort();
  }
  return ContentOf(**journal);
}

}  // namespace
}  // namespace canopy::agent

std::vector<std::string> canopy::fuzz::Seeds() {
  return {agent::Seed({}), agent::Seed({{"key", "value"}}),
          agent::Seed({{"a", "1"}, {"b", ""}, {"a", "22"}, {"a", "33"}})};
}

// If a journal can be opened, it must be possible to add a record and open it
// again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using canopy::agent::Journal;
  canopy::UniqueFd fd(memfd_create("journal-fuzz", MFD_CLOEXEC));
  const size_t whole = std::max(size, canopy::agent::kSmallest);
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(whole)) != 0 ||
      pwrite(fd.get(), data, size, 0) != static_cast<ssize_t>(size)) {
    return 0;
  }
  auto journal = Journal::Open(std::move(fd));
  if (!journal.ok()) return 0;
  const size_t records = (*journal)->Records().size();
  bool moved = false;
  if (!(*journal)->Persist("another record", "value", &moved).ok()) return 0;
  auto again = Journal::Open(canopy::DuplicateFd((*journal)->fd()));
  if (!again.ok() || (*again)->Records().size() < records) abort();
  return 0;
}
