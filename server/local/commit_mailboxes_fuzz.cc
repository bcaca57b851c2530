// Fuzz target: commit mailboxes with arbitrary content from a rank. The first
// bytes are the two positions of the rank's mailbox, and the rest is its
// content.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/describe.h"
#include "common/local/data.h"
#include "server/local/commit_mailboxes.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::local {
namespace {

constexpr size_t kPositions = 2 * sizeof(uint64_t);

class CountingSink : public InputSink {
 public:
  void OnInput(core::Input input) override {
    const auto& taken = std::get<core::CommitTaken>(input);
    if (taken.proc.rank != 0) std::abort();
    for (const core::ScopedData& data : taken.data) bytes += data.kvals.size();
  }
  size_t bytes = 0;
};

std::string Record() {
  Encoder kval;
  kval.PutString("key");
  kval.PutUint16(PMIX_STRING);
  kval.PutString("value");
  const std::string bytes = kval.Take();
  const std::string payload = wire::Encode(Commit{{{3, bytes}}});
  const auto length = static_cast<shm::CommitLength>(payload.size());
  std::string record(sizeof length, '\0');
  std::memcpy(record.data(), &length, sizeof length);
  return record + payload;
}

std::string Seed(uint64_t written, uint64_t taken, const std::string& data) {
  std::string seed(kPositions, '\0');
  std::memcpy(seed.data(), &written, sizeof written);
  std::memcpy(seed.data() + sizeof written, &taken, sizeof taken);
  return seed + data;
}

// Fills mailbox 0 of 2.
void Fill(void* base, std::string_view input) {
  auto* mailbox = reinterpret_cast<shm::CommitMailbox*>(
      static_cast<shm::CommitHeader*>(base) + 1);
  uint64_t positions[2] = {};
  input.copy(reinterpret_cast<char*>(positions), kPositions);
  mailbox->written = positions[0];
  mailbox->taken = positions[1];
  if (input.size() <= kPositions) return;
  input.remove_prefix(kPositions);
  std::memcpy(static_cast<char*>(base) + shm::CommitMailboxOffset(2, 0),
              input.data(),
              std::min<size_t>(input.size(), shm::kCommitMailboxBytes));
}

UniqueFd MakeFile(std::string_view input) {
  auto made = shm::CommitReader::Create(2);
  if (!made.ok()) std::abort();
  UniqueFd fd(dup((*made)->fd()));
  void* base = mmap(nullptr, (*made)->size(), PROT_READ | PROT_WRITE,
                    MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) std::abort();
  Fill(base, input);
  munmap(base, (*made)->size());
  return fd;
}

// Reads the commits. They must be delivered once, and must not be larger than a
// mailbox.
void TakeFrom(std::string_view input) {
  CountingSink sink;
  auto mailboxes = CommitMailboxes::Make(
      "job", {0, 1}, MakeFile(input), &sink,
      [](const std::function<void()>& work) { work(); }, [](Rank) {});
  if (!mailboxes.ok()) std::abort();
  (*mailboxes)->TakeAll();
  const size_t bytes = sink.bytes;
  if (bytes > shm::kCommitMailboxBytes) std::abort();
  (*mailboxes)->Await(kRankUndef);
  if (sink.bytes != bytes) std::abort();
}

}  // namespace
}  // namespace canopy::local

std::vector<std::string> canopy::fuzz::Seeds() {
  using canopy::local::Record;
  using canopy::local::Seed;
  const std::string record = Record();
  const auto size = static_cast<uint32_t>(record.size());
  const auto at = [](uint32_t turn, uint32_t bytes) {
    return canopy::shm::CommitPosition(turn, bytes);
  };
  return {Seed(at(1, size), 0, record),
          Seed(at(1, 2 * size), at(1, size), record + record),
          Seed(at(2, size), at(1, 7), record),
          Seed(at(1, size), at(1, size), record)};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  canopy::local::TakeFrom({reinterpret_cast<const char*>(data), size});
  return 0;
}
