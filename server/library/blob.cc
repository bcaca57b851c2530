#include "server/library/blob.h"

#include "common/wire.h"

namespace canopy::library {
namespace {

// The last digit is the version of what follows.
constexpr std::string_view kMark = "canopy-modex-1";

}  // namespace

std::string MakeBlob(std::string_view records) {
  WireWriter out;
  out.Reserve(kMark.size() + records.size() + 16);
  out.Raw(kMark);
  out.String(records);
  return out.Take();
}

Result<std::vector<Bytes>> SplitBlobs(const Bytes& joined) {
  std::vector<Bytes> nodes;
  std::string_view rest = joined.view();
  while (!rest.empty()) {
    if (!rest.starts_with(kMark)) {
      return Status(kErrUnpackFailure, "data of another kind of server");
    }
    WireReader in(rest.substr(kMark.size()));
    const std::string_view records = in.String();
    if (!in.ok()) return Status(kErrUnpackFailure, "data was cut off");
    nodes.push_back(
        joined.Slice(static_cast<size_t>(records.data() - joined.view().data()),
                     records.size()));
    rest = in.rest();
  }
  return nodes;
}

}  // namespace canopy::library
