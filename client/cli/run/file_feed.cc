#include "client/cli/run/file_feed.h"

namespace canopy::cli {
namespace {

constexpr uint64_t kFileWindow = 1 << 20;
constexpr size_t kFilePiece = 64 << 10;

}  // namespace

Result<std::string> FileFeed::Next() {
  if (!wanted_ || sent_ >= taken_ + kFileWindow) return std::string();
  Result<std::string> piece = source_.Next(kFilePiece);
  if (piece.ok()) sent_ += piece->size();
  return piece;
}

}  // namespace canopy::cli
