// Test only: small ELF files with the parts that the dynamic loader reads, for
// any machine and C library. They contain no code.
#ifndef CANOPY_COMMON_LOADER_ELF_BUILDER_H_
#define CANOPY_COMMON_LOADER_ELF_BUILDER_H_

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/loader/elf_file.h"

namespace canopy::loader {

struct ElfSpec {
  int bits = 64;
  uint16_t machine = EM_X86_64;
  std::string interpreter;  // empty for a library
  bool dynamic = true;
  std::string soname = {};
  std::vector<std::string> needed = {};
  std::string rpath = {};
  std::string runpath = {};
  std::vector<std::string> defined = {};
  std::vector<std::string> wanted = {};
  std::vector<std::string> weak = {};  // weak undefined symbols
  std::vector<VersionNeed> version_needs = {};
  std::vector<std::string> versions = {};
  bool no_default_directories = false;
  bool gnu_hash = true;  // otherwise the older hash table
};

// Returns the bytes of a file with these parts; WriteElf writes them to `path`.
std::string BuildElf(const ElfSpec& spec);
void WriteElf(const std::string& path, const ElfSpec& spec);

}  // namespace canopy::loader

#endif  // CANOPY_COMMON_LOADER_ELF_BUILDER_H_
