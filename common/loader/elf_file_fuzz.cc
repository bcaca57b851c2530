// Fuzz target for the readers of ELF files and of the loader's index: no input
// may cause a failure.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/loader/elf_builder.h"
#include "common/loader/elf_file.h"
#include "common/loader/ld_cache.h"
#include "common/loader/library_fit.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::loader {
namespace {

void TryFile(const uint8_t* data, size_t size) {
  const UniqueFd fd(memfd_create("elf", MFD_CLOEXEC));
  if (!fd || write(fd.get(), data, size) != static_cast<ssize_t>(size)) return;
  const auto file = ElfFile::Open("/proc/self/fd/" + std::to_string(fd.get()));
  if (file.ok()) (void)file->ReadSymbols();
}

void TryCache(const uint8_t* data, size_t size) {
  const LdCache cache(std::vector<char>(data, data + size));
  (void)cache.Find("libc.so.6");
}

void TryFinding(const uint8_t* data, size_t size) {
  LibraryFinding finding;
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  if (!DecodeFinding(in, &finding)) return;
  LibraryFinding copy;
  const std::string once = EncodeFinding(finding);
  if (!DecodeFinding(once, &copy) || EncodeFinding(copy) != once) abort();
}

std::vector<std::string> Corpus() {
  ElfSpec spec;
  spec.soname = "liba.so.1";
  spec.needed = {"libb.so", "libc.so.6"};
  spec.runpath = "$ORIGIN/../lib";
  spec.defined = {"a", "b"};
  spec.wanted = {"x"};
  spec.version_needs = {{"libc.so.6", {"GLIBC_2.34"}}};
  spec.versions = {"A_1"};
  std::vector<std::string> corpus = {BuildElf(spec)};
  spec.gnu_hash = false;
  corpus.push_back(BuildElf(spec));
  spec.bits = 32;
  spec.interpreter = "/lib/ld-linux.so.2";
  corpus.push_back(BuildElf(spec));
  std::string cache = "glibc-ld.so.cache1.1";
  cache.push_back(1);
  cache.resize(48);
  cache += std::string(4, '\3') + std::string("\x48\0\0\0\x52\0\0\0", 8) +
           std::string(12, '\0') + std::string("libc.so.6\0/l/libc.so.6", 22) +
           '\0';
  corpus.push_back(cache);
  LibraryFinding finding;
  finding.fit = LibraryFit::kLacksSymbols;
  finding.reason = "a lacks b";
  finding.details = {{"program", "a"}};
  finding.evidence = {{"/a", {1, 2, 3}}};
  corpus.push_back(EncodeFinding(finding));
  return corpus;
}

}  // namespace
}  // namespace canopy::loader

std::vector<std::string> canopy::fuzz::Seeds() {
  return canopy::loader::Corpus();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  canopy::loader::TryFile(data, size);
  canopy::loader::TryCache(data, size);
  canopy::loader::TryFinding(data, size);
  return 0;
}
