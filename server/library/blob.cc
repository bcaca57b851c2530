#include "server/library/blob.h"

#include <cstdint>

#include "common/slice.h"
#include "common/wire.h"

namespace canopy::library {
namespace {

// The last digit is the version of the format.
constexpr std::string_view kMark = "canopy-modex-1";
constexpr std::string_view kOutsideMark = "canopy-scope-1";
constexpr std::string_view kFailureMark = "canopy-local-1";
static_assert(kMark.size() == kOutsideMark.size());
static_assert(kMark.size() == kFailureMark.size());

bool ReadOutside(std::string_view bytes, std::vector<std::string>* keys) {
  WireReader in(bytes);
  const size_t count = in.Count();
  for (size_t i = 0; i < count && in.ok(); ++i) {
    const std::string_view key = in.String();
    if (keys != nullptr) keys->emplace_back(key);
  }
  return in.done();
}

// Never returns a success.
Status ReadFailure(std::string_view bytes) {
  WireReader in(bytes);
  const int64_t status = in.Int();
  if (!in.done() || status >= kSuccess || status < INT32_MIN) {
    return Status(kErrUnpackFailure, "malformed status of a node");
  }
  return Status(static_cast<int>(status), "it has failed on another node");
}

std::string Marked(std::string_view mark, std::string_view content) {
  WireWriter out;
  out.Reserve(mark.size() + content.size() + 16);
  out.Raw(mark);
  out.String(content);
  return out.Take();
}

}  // namespace

std::string MakeBlob(std::string_view records) {
  return Marked(kMark, records);
}

std::string MakeFailure(int status) {
  WireWriter content;
  content.Int(status);
  return Marked(kFailureMark, content.Take());
}

std::string MakeOutside(const std::vector<std::string>& keys) {
  if (keys.empty()) return {};
  WireWriter names;
  names.Uint(keys.size());
  for (const std::string& key : keys) names.String(key);
  return Marked(kOutsideMark, names.Take());
}

Result<std::vector<Bytes>> SplitBlobs(const Bytes& joined,
                                      std::vector<std::string>* outside) {
  std::vector<Bytes> nodes;
  std::string_view rest = joined.view();
  while (!rest.empty()) {
    const bool is_outside = rest.starts_with(kOutsideMark);
    const bool is_failure = rest.starts_with(kFailureMark);
    if (!is_outside && !is_failure && !rest.starts_with(kMark)) {
      return Status(kErrUnpackFailure, "data of another kind of server");
    }
    WireReader in(rest.substr(kMark.size()));
    const std::string_view records = in.String();
    if (!in.ok()) return Status(kErrUnpackFailure, "data was cut off");
    if (is_failure) return ReadFailure(records);
    if (is_outside) {
      if (!ReadOutside(records, outside)) {
        return Status(kErrUnpackFailure, "malformed names of keys");
      }
    } else {
      nodes.push_back(SliceOf(joined, records));
    }
    rest = in.rest();
  }
  return nodes;
}

}  // namespace canopy::library
