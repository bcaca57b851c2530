#include "client/cli/options/hostfile.h"

#include "client/cli/base/file_util.h"

namespace canopy::cli {
namespace {

constexpr size_t kMaxHostfile = 16u << 20;

}  // namespace

Result<std::vector<Host>> LoadHostfile(const std::string& path) {
  Result<std::string> content = ReadFile(path, kMaxHostfile);
  if (!content.ok()) {
    return Status(content.code(),
                  "cannot read hostfile " + content.status().message());
  }
  return ParseHostfile(*content, path);
}

}  // namespace canopy::cli
