// Fuzz target: an archive writes only below its directory.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>

#include "common/posix/remove_tree.h"
#include "common/preload/archive.h"
#include "tests/fuzz/fuzz.h"

namespace {

using canopy::preload::EncodeHead;
using canopy::preload::kMagic;

std::string File(const std::string& name, const std::string& content) {
  return EncodeHead(
             {static_cast<uint32_t>(name.size()), 0600, content.size()}) +
         name + content;
}

}  // namespace

std::vector<std::string> canopy::fuzz::Seeds() {
  const std::string magic(kMagic);
  return {magic + File("files/a", "content") + File("files/b/c", "") +
              EncodeHead({}),
          magic + File("../x", "content")};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  char top[] = "/tmp/canopy-fuzz-XXXXXX";
  if (mkdtemp(top) == nullptr) abort();
  const std::string directory = std::string(top) + "/to";
  std::filesystem::create_directory(directory);
  canopy::preload::Unpacker unpacker(directory);
  (void)unpacker.Take({reinterpret_cast<const char*>(data), size}).ok();
  const std::filesystem::directory_iterator beside(top);
  if (std::distance(begin(beside), end(beside)) != 1) abort();
  if (!canopy::RemoveTree(top, 10000).ok()) abort();
  return 0;
}
