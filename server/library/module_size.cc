#include "server/library/module_size.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "common/posix/unique_fd.h"

namespace canopy::library {
namespace {

constexpr size_t kMaxFile = size_t{1} << 31;
// A larger count cannot come from a linker.
constexpr size_t kMaxMappings = 1 << 17;

// ------------------------------------------------------------ the file ---

// A mapped file; empty if it cannot be mapped.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
    struct stat info;
    if (!fd || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
    const auto size = static_cast<size_t>(info.st_size);
    if (size == 0 || size > kMaxFile) return;
    void* const at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (at != MAP_FAILED) bytes_ = {static_cast<const char*>(at), size};
  }
  ~MappedFile() {
    if (bytes_.empty()) return;
    munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

// Copies the structure at offset `at`. Returns false if it does not lie
// completely in the file.
template <typename T>
bool Read(std::string_view file, uint64_t at, T* out) {
  if (at > file.size() || file.size() - at < sizeof(T)) return false;
  std::memcpy(out, file.data() + at, sizeof(T));
  return true;
}

// Returns the bytes from `address` to the end of the smallest variable in a
// symbol table that contains it.
std::optional<size_t> FindInTable(std::string_view file,
                                  const ElfW(Shdr) & table, uint64_t address) {
  std::optional<size_t> found;
  if (table.sh_entsize != sizeof(ElfW(Sym))) return found;
  for (uint64_t at = 0; at < table.sh_size; at += sizeof(ElfW(Sym))) {
    ElfW(Sym) symbol;
    if (!Read(file, table.sh_offset + at, &symbol)) break;
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) continue;
    const uint64_t offset = address - symbol.st_value;
    if (address < symbol.st_value || offset >= symbol.st_size) continue;
    const size_t left = symbol.st_size - offset;
    found = std::min(found.value_or(left), left);
  }
  return found;
}

std::optional<size_t> FindInFile(std::string_view file, uint64_t address) {
  ElfW(Ehdr) header;
  if (!Read(file, 0, &header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_shentsize != sizeof(ElfW(Shdr))) {
    return std::nullopt;
  }
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    ElfW(Shdr) table;
    const uint64_t at = header.e_shoff + uint64_t{i} * sizeof table;
    if (!Read(file, at, &table)) break;
    if (table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) continue;
    const auto found = FindInTable(file, table, address);
    if (found) return found;
  }
  return std::nullopt;
}

// ---------------------------------------------------------- the process ---

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

// The word may lie beyond the caller's object, which memory sanitizers would
// report.
[[gnu::no_sanitize_address]] uintptr_t WordAt(uintptr_t at) {
  return *reinterpret_cast<const volatile uintptr_t*>(at);
}

}  // namespace

std::optional<size_t> BytesInSymbol(const void* object) {
  Dl_info info = {};
  link_map* map = nullptr;
  if (dladdr1(object, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) ==
          0 ||
      map == nullptr) {
    return std::nullopt;
  }
  const bool is_program = map->l_name == nullptr || map->l_name[0] == '\0';
  const MappedFile file(is_program ? "/proc/self/exe" : map->l_name);
  return FindInFile(file.bytes(),
                    reinterpret_cast<uintptr_t>(object) - map->l_addr);
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

}  // namespace canopy::library
