#include "server/library/module_size.h"

#include <link.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "common/loader/elf_file.h"

namespace canopy::library {
namespace {

// Maximum number of mappings that are read.
constexpr size_t kMaxMappings = 1 << 17;

struct Mapping {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool reads = false;
  bool executes = false;
};

// Returns the mappings in ascending order of addresses.
std::vector<Mapping> Mappings() {
  std::vector<Mapping> out;
  FILE* const file = std::fopen("/proc/self/maps", "re");
  if (file == nullptr) return out;
  char line[4608];
  while (out.size() < kMaxMappings &&
         std::fgets(line, sizeof line, file) != nullptr) {
    unsigned long begin = 0;
    unsigned long end = 0;
    char rights[5] = "";
    if (std::sscanf(line, "%lx-%lx %4s", &begin, &end, rights) != 3) continue;
    out.push_back({begin, end, rights[0] == 'r', rights[2] == 'x'});
  }
  std::fclose(file);
  return out;
}

const Mapping* MappingOf(const std::vector<Mapping>& mappings, uintptr_t at) {
  for (const Mapping& mapping : mappings) {
    if (mapping.begin <= at && at < mapping.end) return &mapping;
  }
  return nullptr;
}

bool CanRead(const std::vector<Mapping>& mappings, uintptr_t at) {
  for (const uintptr_t byte : {at, at + sizeof(uintptr_t) - 1}) {
    const Mapping* const mapping = MappingOf(mappings, byte);
    if (mapping == nullptr || !mapping->reads) return false;
  }
  return true;
}

// Returns the word at an address. The word may lie beyond the caller's object,
// which memory sanitizers would report.
[[gnu::no_sanitize_address]] uintptr_t WordAt(uintptr_t at) {
  return *reinterpret_cast<const volatile uintptr_t*>(at);
}

// The loaded object that contains an address.
struct LoadedFile {
  uintptr_t at = 0;
  size_t visited = 0;
  std::string path;  // empty: not found
  uintptr_t base = 0;
};

// Visits a loaded object, the program first. Returns 1, which ends the visits,
// if the object contains the address.
int VisitLoaded(dl_phdr_info* info, size_t, void* argument) {
  auto& file = *static_cast<LoadedFile*>(argument);
  const bool is_program = file.visited++ == 0;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD || file.at < begin ||
        file.at - begin >= header.p_memsz) {
      continue;
    }
    file.path = is_program ? "/proc/self/exe" : info->dlpi_name;
    file.base = info->dlpi_addr;
    return 1;
  }
  return 0;
}

}  // namespace

std::optional<size_t> BytesInSymbol(const void* object) {
  LoadedFile loaded;
  loaded.at = reinterpret_cast<uintptr_t>(object);
  dl_iterate_phdr(VisitLoaded, &loaded);
  if (loaded.path.empty()) return std::nullopt;
  const auto file = loader::ElfFile::Open(loaded.path);
  if (!file.ok()) return std::nullopt;
  return file->BytesOfObjectAt(loaded.at - loaded.base);
}

size_t PlausibleEntries(const void* words, size_t fewest, size_t most) {
  const std::vector<Mapping> mappings = Mappings();
  const auto begin = reinterpret_cast<uintptr_t>(words);
  for (size_t i = fewest; i < most; ++i) {
    const uintptr_t at = begin + i * sizeof(uintptr_t);
    if (!CanRead(mappings, at)) return i;
    const uintptr_t word = WordAt(at);
    if (word == 0) continue;
    const Mapping* const code = MappingOf(mappings, word);
    if (code == nullptr || !code->executes) return i;
  }
  return most;
}

void CopyWords(const void* words, size_t count, void* to) {
  const auto begin = reinterpret_cast<uintptr_t>(words);
  auto* out = static_cast<char*>(to);
  for (size_t i = 0; i < count; ++i, out += sizeof(uintptr_t)) {
    const uintptr_t word = WordAt(begin + i * sizeof(uintptr_t));
    std::memcpy(out, &word, sizeof word);
  }
}

}  // namespace canopy::library
