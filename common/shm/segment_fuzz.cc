// Fuzz target: reads a damaged segment. The input overwrites bytes of a good
// segment: it is a sequence of records, each with a position of four bytes and
// one byte of content.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/shm/segment_reader.h"
#include "common/shm/segment_writer.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::shm {
namespace {

// Enough of the arena for the blocks of the good segment.
constexpr uint64_t kArenaBytes = 1024;

struct Good {
  Good() {
    SegmentContents contents;
    contents.nspace = "job";
    contents.proc_id_prefix = std::string("\x16\x08job\0", 6);
    contents.self_node = 0;
    contents.session = {{"pmix.univ.size", "\x0e\x08"}};
    contents.job = {{"pmix.job.size", "\x0e\x02"}};
    contents.apps = {{{"pmix.app.size", "\x0e\x02"}}};
    contents.nodes.push_back({"a",
                              {"b"},
                              "\x03\x04"
                              "a",
                              {{"k", "v"}}});
    contents.procs.resize(2);
    SegmentLimits limits;
    limits.arena_bytes = kWindow;
    auto writer = SegmentWriter::Create(contents, limits);
    if (!writer.ok()) abort();
    (void)(*writer)->Publish(0, {{"key", "value", 0}, {"other", "x", 0}});
    Header header;
    Read((*writer)->fd(), &header, sizeof header, 0);
    size = header.file_size;
    arena_begin = header.arena_begin;
    fixed.resize(header.fixed_size);
    Read((*writer)->fd(), fixed.data(), fixed.size(), 0);
    arena.resize(kArenaBytes);
    Read((*writer)->fd(), arena.data(), arena.size(), arena_begin);
  }
  static void Read(int fd, void* to, size_t size, uint64_t offset) {
    if (pread(fd, to, size, static_cast<off_t>(offset)) !=
        static_cast<ssize_t>(size)) {
      abort();
    }
  }
  std::string fixed;
  std::string arena;
  uint64_t size = 0;
  uint64_t arena_begin = 0;
};

void Write(int fd, const std::string& bytes, uint64_t offset) {
  if (pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)) < 0) {
    abort();
  }
}

void ReadEverything(const SegmentReader& reader) {
  size_t sum = 0;
  const auto visit = [&sum](std::string_view key, std::string_view value) {
    for (const char c : key) sum += static_cast<unsigned char>(c);
    for (const char c : value) sum += static_cast<unsigned char>(c);
  };
  for (Rank rank = 0; rank < 3; ++rank) {
    (void)reader.ForEachProcKey(rank, visit);
    for (const char* key : {"key", "none", "pmix.hname", "pmix.procid"}) {
      visit(key, reader.FindProc(rank, key).value());
    }
    for (const uint32_t on : reader.RanksOn(rank)) sum += on;
    reader.ForEachNodeKey(rank, visit);
    reader.ForEachAppKey(rank, visit);
  }
  reader.ForEachJobKey(visit);
  reader.ForEachSessionKey(visit);
  sum += reader.NodeByName("b").value_or(0);
  volatile size_t result = sum;
  (void)result;
}

void Run(const uint8_t* data, size_t size) {
  static const Good good;
  static const int fd = [] {
    const int made = memfd_create("fuzz", MFD_CLOEXEC);
    if (ftruncate(made, static_cast<off_t>(good.size)) != 0) abort();
    return made;
  }();
  std::string fixed = good.fixed;
  std::string arena = good.arena;
  for (; size >= 5; data += 5, size -= 5) {
    uint32_t place;
    std::memcpy(&place, data, sizeof place);
    place %= static_cast<uint32_t>(fixed.size() + arena.size());
    char& byte =
        place < fixed.size() ? fixed[place] : arena[place - fixed.size()];
    byte = static_cast<char>(data[4]);
  }
  Write(fd, fixed, 0);
  Write(fd, arena, good.arena_begin);
  auto reader = SegmentReader::Map(fd, good.size);
  if (reader.ok()) ReadEverything(**reader);
}

}  // namespace
}  // namespace canopy::shm

// One seed changes no byte. Each other seed makes one word of the beginning
// large, because the beginning contains the offsets of all other parts.
std::vector<std::string> canopy::fuzz::Seeds() {
  std::vector<std::string> seeds = {""};
  for (uint32_t place = 0; place < 256; place += 4) {
    std::string seed(reinterpret_cast<const char*>(&place), sizeof place);
    seeds.push_back(seed + '\xff');
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  canopy::shm::Run(data, size);
  return 0;
}
