#include "server/library/blob.h"

#include <cstdint>

#include "common/describe.h"
#include "common/slice.h"
#include "common/wire_input.h"

namespace canopy::library {
namespace {

// The last digit is the version of the format.
constexpr std::string_view kMark = "canopy-modex-1";
constexpr std::string_view kOutsideMark = "canopy-scope-1";
constexpr std::string_view kFailureMark = "canopy-local-1";
static_assert(kMark.size() == kOutsideMark.size());
static_assert(kMark.size() == kFailureMark.size());

// The keys that a process has put for its own node only.
struct Outside {
  std::vector<std::string_view> keys;
};

template <typename V>
void Describe(V& v, wire::Is<Outside> auto& m) {
  v.Field(1, m.keys);
}

// The status with which a collective has failed on a node.
struct Failure {
  int status = 0;
};

template <typename V>
void Describe(V& v, wire::Is<Failure> auto& m) {
  v.Field(1, m.status);
}

bool ReadOutside(std::string_view bytes, std::vector<std::string>* keys) {
  Outside outside;
  if (!wire::Decode(bytes, &outside)) return false;
  if (keys != nullptr) {
    keys->insert(keys->end(), outside.keys.begin(), outside.keys.end());
  }
  return true;
}

// Returns the failure, or kErrUnpackFailure for malformed bytes.
Status ReadFailure(std::string_view bytes) {
  Failure failure;
  if (!wire::Decode(bytes, &failure) || failure.status >= kSuccess) {
    return Status(kErrUnpackFailure, "malformed status of a node");
  }
  return Status(failure.status, "it has failed on another node");
}

std::string Marked(std::string_view mark, std::string_view content) {
  std::string out;
  out.reserve(mark.size() + content.size() + 16);
  out += mark;
  char length[10];
  out.append(length, wire::PutVarint(content.size(), length));
  out += content;
  return out;
}

}  // namespace

std::string MakeBlob(std::string_view records) {
  return Marked(kMark, records);
}

std::string MakeFailure(int status) {
  return Marked(kFailureMark, wire::Encode(Failure{status}));
}

std::string MakeOutside(const std::vector<std::string>& keys) {
  if (keys.empty()) return {};
  return Marked(kOutsideMark,
                wire::Encode(Outside{{keys.begin(), keys.end()}}));
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
    wire::Input in(rest.substr(kMark.size()));
    const std::string_view records = in.Chunk();
    if (!in.ok()) return Status(kErrUnpackFailure, "data was cut off");
    if (is_failure) return ReadFailure(records);
    if (is_outside) {
      if (!ReadOutside(records, outside)) {
        return Status(kErrUnpackFailure, "malformed names of keys");
      }
    } else {
      nodes.push_back(SliceOf(joined, records));
    }
    rest.remove_prefix(kMark.size() + in.position());
  }
  return nodes;
}

}  // namespace canopy::library
