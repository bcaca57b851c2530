#include "client/cli/run/file_feed.h"

namespace canopy::cli {
namespace {

constexpr uint64_t kWindow = 1 << 20;
constexpr size_t kChunk = 64 << 10;

}  // namespace

Result<std::string> FileFeed::Next() {
  if (!wanted_ || sent_ >= taken_ + kWindow) return std::string();
  Result<std::string> piece = source_.Next(kChunk);
  if (piece.ok()) sent_ += piece->size();
  return piece;
}

}  // namespace canopy::cli
