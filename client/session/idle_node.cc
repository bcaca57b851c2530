#include "client/session/idle_node.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/codec/decoder.h"
#include "common/string_util.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

std::optional<Value> Decoded(const std::optional<std::string_view>& encoded) {
  if (!encoded) return std::nullopt;
  Result<Value> value = DecodeValue(*encoded);
  if (!value.ok()) return std::nullopt;
  return *std::move(value);
}

std::vector<std::string> SessionNodes(const JobView& job) {
  const auto list = Decoded(job.FindSession(PMIX_ALLOCATED_NODELIST));
  const auto text = list ? StringOf(list->raw()) : std::nullopt;
  if (!text || text->empty()) return {};
  return Split(*text, ',');
}

// Returns true if each node of the job has its PMIX_NODEID as its position in
// the list `names`.
bool IsByNumber(const JobView& job, const std::vector<std::string>& names) {
  for (uint32_t node = 0; node < job.num_nodes(); ++node) {
    const auto id = Decoded(job.FindNode(node, PMIX_NODEID));
    const auto name = Decoded(job.FindNode(node, PMIX_HOSTNAME));
    if (!id || !name) return false;
    const uint64_t number = Uint64Of(id->raw()).value_or(names.size());
    if (number >= names.size() ||
        names[number] != StringOf(name->raw()).value_or("")) {
      return false;
    }
  }
  return true;
}

std::optional<uint32_t> PlaceOf(const GetOptions& options,
                                const std::vector<std::string>& names) {
  if (options.hostname.empty()) {
    return *options.nodeid < names.size() ? options.nodeid : std::nullopt;
  }
  const auto found = std::ranges::find(names, options.hostname);
  if (found == names.end()) return std::nullopt;
  return static_cast<uint32_t>(found - names.begin());
}

}  // namespace

int FindIdleNode(const JobView& job, std::string_view key,
                 const GetOptions& options, pmix_value_t* value) {
  if (options.hostname.empty() && !options.nodeid) return PMIX_ERR_NOT_FOUND;
  const bool of_job = options.hostname.empty()
                          ? job.NodeById(*options.nodeid).has_value()
                          : job.NodeByName(options.hostname).has_value();
  if (of_job) return PMIX_ERR_NOT_FOUND;
  const std::vector<std::string> names = SessionNodes(job);
  const std::optional<uint32_t> place = PlaceOf(options, names);
  if (!place || !IsByNumber(job, names)) return PMIX_ERR_NOT_FOUND;
  if (key == PMIX_HOSTNAME) {
    *value = Value::String(names[*place]).Release();
  } else if (key == PMIX_NODEID) {
    *value = Value::Uint32(*place).Release();
  } else if (key == PMIX_LOCAL_SIZE) {
    *value = Value::Uint32(0).Release();
  } else {
    return PMIX_ERR_NOT_FOUND;
  }
  return PMIX_SUCCESS;
}

}  // namespace canopy::client
