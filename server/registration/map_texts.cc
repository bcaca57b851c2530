#include "server/registration/map_texts.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <unordered_set>

#include "common/status.h"
#include "common/string_util.h"
#include "common/values/info_list.h"
#include "common/values/regex.h"
#include "common/values/value.h"
#include "common/values/zlib_access.h"
#include "pmix_common.h"
#include "server/registration/entry.h"
#include "server/registration/registration.h"

namespace canopy::registration {
namespace {

constexpr std::string_view kBlob = "blob";
constexpr std::string_view kZlib = "component=zlib:";
constexpr std::string_view kSize = "size=";
// The size of the longest map within the limits.
constexpr size_t kMaxMapBytes = size_t{64} << 20;

// Removes and returns the text up to the next NUL, which is removed too.
std::string_view TakeWord(std::string_view* bytes) {
  const size_t end = std::min(bytes->find('\0'), bytes->size());
  const std::string_view word = bytes->substr(0, end);
  bytes->remove_prefix(std::min(end + 1, bytes->size()));
  return word;
}

void SkipChar(char c, std::string_view* bytes) {
  if (bytes->starts_with(c)) bytes->remove_prefix(1);
}

// Decompresses "blob:" NUL "component=zlib:" NUL "size=123:" NUL and 123 bytes;
// releases of OpenPMIx differ in the colons and in "size=".
std::optional<std::string> ReadBlob(std::string_view bytes,
                                    const std::string& name, Problem* problem) {
  (void)TakeWord(&bytes);
  if (TakeWord(&bytes) != kZlib) {
    problem->Say(kErrNotSupported, name + " is compressed in an unknown way");
    return std::nullopt;
  }
  if (bytes.starts_with(kSize)) bytes.remove_prefix(kSize.size());
  const size_t digits =
      std::min(bytes.find_first_not_of("0123456789"), bytes.size());
  const auto size = ParseNumber(bytes.substr(0, digits));
  bytes.remove_prefix(digits);
  SkipChar(':', &bytes);
  SkipChar('\0', &bytes);
  SkipChar(':', &bytes);
  if (!size || *size > bytes.size()) {
    problem->Say(kErrBadParam, name + " is cut off");
    return std::nullopt;
  }
  auto text = Decompress(bytes.substr(0, *size), kMaxMapBytes);
  if (!text) {
    problem->Say(kErrNotSupported, name + " cannot be decompressed");
  }
  return text;
}

std::optional<std::string_view> CharactersOf(const pmix_value_t& value) {
  if (value.type == PMIX_REGEX) {
    return std::string_view(value.data.bo.bytes, value.data.bo.size);
  }
  if (const auto text = StringOf(value)) return text;
  return BytesOf(value);
}

// Returns the text of the map, which still begins with "pmix[" or "raw:".
std::optional<std::string> MapText(const pmix_info_t& info, Problem* problem) {
  const std::string name = NameOf(KeyOf(info));
  if (info.value.type == PMIX_COMPRESSED_STRING) {
    auto text = Decompress(*BytesOf(info.value), kMaxMapBytes);
    if (!text) problem->Say(kErrNotSupported, name + " cannot be decompressed");
    return text;
  }
  const auto characters = CharactersOf(info.value);
  if (!characters) {
    problem->Say(kErrTypeMismatch, name + " is not a text");
    return std::nullopt;
  }
  if (characters->starts_with(kBlob) &&
      characters->find('\0') != std::string_view::npos) {
    return ReadBlob(*characters, name, problem);
  }
  return std::string(characters->substr(0, characters->find('\0')));
}

// Returns the text without the prefix that marks the form.
std::string_view Unmarked(std::string_view text) {
  for (const std::string_view mark : {"raw:", "pmix:"}) {
    if (text.starts_with(mark)) return text.substr(mark.size());
  }
  if (!text.starts_with("pmix[") || !text.ends_with(']')) return text;
  return text.substr(5, text.size() - 6);
}

// Appends the ranks of a list such as "0,2-4". `room` is the number of further
// ranks that are allowed. Returns false if the list is malformed or has too
// many ranks.
bool AppendRanks(std::string_view list, size_t* room, std::vector<Rank>* out) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view part = Trim(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (part.empty()) continue;
    const size_t dash = part.find('-');
    const auto first = ParseNumber(part.substr(0, dash), kMaxProcs - 1);
    const auto last = dash == std::string_view::npos
                          ? first
                          : ParseNumber(part.substr(dash + 1), kMaxProcs - 1);
    if (!first || !last || *last < *first || *last - *first >= *room) {
      return false;
    }
    *room -= *last - *first + 1;
    for (Rank rank = *first; rank <= *last; ++rank) out->push_back(rank);
  }
  return true;
}

bool SayMalformed(const pmix_info_t& info, Problem* problem) {
  return problem->Say(kErrBadParam, NameOf(KeyOf(info)) + " is malformed");
}

// A group "(N,C,P)" of a vector: P ranks on each of C nodes, from node N on.
struct VectorGroup {
  uint32_t node = 0;
  uint32_t nodes = 0;
  uint32_t ranks = 0;
};

// Removes the next group from the text. Returns false if the group is malformed
// or its nodes do not exist.
bool TakeGroup(std::string_view* text, uint32_t num_nodes, VectorGroup* group) {
  const size_t end = text->find(')');
  if (!text->starts_with(",(") || end == std::string_view::npos) return false;
  const std::vector<std::string> parts = Split(text->substr(2, end - 2), ',');
  text->remove_prefix(end + 1);
  if (parts.size() != 3) return false;
  const auto node = ParseNumber(Trim(parts[0]), num_nodes);
  const auto nodes = ParseNumber(Trim(parts[1]), num_nodes);
  const auto ranks = ParseNumber(Trim(parts[2]), kMaxProcs);
  // A group without ranks would be repeated endlessly.
  if (!node || !nodes || ranks.value_or(0) == 0) return false;
  if (*nodes > num_nodes - *node) return false;
  *group = {*node, *nodes, *ranks};
  return true;
}

std::optional<std::vector<VectorGroup>> ParseVector(std::string_view text,
                                                    uint32_t num_nodes) {
  constexpr std::string_view kHead = "(vector";
  if (!text.starts_with(kHead)) return std::nullopt;
  text.remove_prefix(kHead.size());
  std::vector<VectorGroup> groups;
  while (text != ")") {
    if (!TakeGroup(&text, num_nodes, &groups.emplace_back())) {
      return std::nullopt;
    }
  }
  return groups;
}

// Assigns ranks from *next on to nodes, for one round of the groups.
void DealRound(const std::vector<VectorGroup>& groups, uint32_t num_ranks,
               Rank* next, std::vector<std::vector<Rank>>* ranks) {
  for (const VectorGroup& group : groups) {
    for (uint32_t n = 0; n < group.nodes && *next < num_ranks; ++n) {
      for (uint32_t i = 0; i < group.ranks && *next < num_ranks; ++i) {
        (*ranks)[group.node + n].push_back((*next)++);
      }
    }
  }
}

const pmix_data_array_t* ArrayOf(const pmix_value_t& value) {
  return value.type == PMIX_DATA_ARRAY && value.data.darray->array != nullptr
             ? value.data.darray
             : nullptr;
}

std::optional<std::vector<Rank>> RanksOfArray(const pmix_info_t& info,
                                              Problem* problem) {
  const pmix_data_array_t* array = ArrayOf(info.value);
  std::vector<Rank> ranks;
  if (array == nullptr || array->size > kMaxProcs) {
    SayMalformed(info, problem);
    return std::nullopt;
  }
  if (const auto procs = ProcsOf(info.value)) {
    for (const pmix_proc_t& proc : *procs) ranks.push_back(proc.rank);
  } else if (array->type == PMIX_PROC_RANK || array->type == PMIX_UINT32) {
    const auto* all = static_cast<const uint32_t*>(array->array);
    ranks.assign(all, all + array->size);
  } else {
    problem->Say(kErrTypeMismatch, NameOf(KeyOf(info)) + " is not of ranks");
    return std::nullopt;
  }
  const auto too_high = [](Rank rank) { return rank >= kMaxProcs; };
  if (std::ranges::none_of(ranks, too_high)) return ranks;
  SayMalformed(info, problem);
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<std::string>> ReadNodeMap(const pmix_info_t& info,
                                                    Problem* problem) {
  const auto text = MapText(info, problem);
  if (!text) return std::nullopt;
  auto names = ExpandNodeList(*text);
  const std::string key = NameOf(KeyOf(info));
  if (!names) {
    SayMalformed(info, problem);
    return std::nullopt;
  }
  if (names->size() > kMaxNodes) {
    problem->Say(kErrOutOfResource, key + " has more than " +
                                        std::to_string(kMaxNodes) + " nodes");
    return std::nullopt;
  }
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : *names) {
    if (seen.insert(name).second) continue;
    problem->Say(kErrBadParam, key + " names " + name + " twice");
    return std::nullopt;
  }
  return names;
}

std::optional<std::vector<std::vector<Rank>>> ReadRankMap(
    const pmix_info_t& info, Problem* problem) {
  const auto text = MapText(info, problem);
  if (!text) return std::nullopt;
  std::string_view rest = Unmarked(*text);
  std::vector<std::vector<Rank>> ranks;
  size_t room = kMaxProcs;
  for (;;) {
    const size_t end = std::min(rest.find(';'), rest.size());
    if (ranks.size() == kMaxNodes ||
        !AppendRanks(rest.substr(0, end), &room, &ranks.emplace_back())) {
      SayMalformed(info, problem);
      return std::nullopt;
    }
    if (end == rest.size()) return ranks;
    rest.remove_prefix(end + 1);
  }
}

std::optional<std::vector<std::vector<Rank>>> ReadVectorMap(
    const pmix_info_t& info, uint32_t num_nodes, uint32_t num_ranks,
    Problem* problem) {
  const auto text = MapText(info, problem);
  if (!text) return std::nullopt;
  const auto groups = ParseVector(*text, num_nodes);
  std::vector<std::vector<Rank>> ranks(num_nodes);
  Rank next = 0;
  while (groups && next < num_ranks) {
    const Rank before = next;
    DealRound(*groups, num_ranks, &next, &ranks);
    if (next == before) break;
  }
  if (groups && next == num_ranks) return ranks;
  SayMalformed(info, problem);
  return std::nullopt;
}

std::optional<std::vector<Rank>> ReadRankList(const pmix_info_t& info,
                                              Problem* problem) {
  if (info.value.type == PMIX_DATA_ARRAY) return RanksOfArray(info, problem);
  const auto text = ReadText(&info, problem);
  std::vector<Rank> ranks;
  size_t room = kMaxProcs;
  if (!text) return std::nullopt;
  if (!AppendRanks(*text, &room, &ranks)) {
    SayMalformed(info, problem);
    return std::nullopt;
  }
  return ranks;
}

std::optional<std::vector<std::string>> ReadNames(const pmix_info_t& info,
                                                  Problem* problem) {
  std::vector<std::string> names;
  const pmix_data_array_t* array = ArrayOf(info.value);
  if (array != nullptr && array->type == PMIX_STRING) {
    const auto* all = static_cast<char* const*>(array->array);
    for (size_t i = 0; i < array->size; ++i) {
      if (all[i] != nullptr) names.emplace_back(all[i]);
    }
    return names;
  }
  const auto text = ReadText(&info, problem);
  if (!text) return std::nullopt;
  for (std::string& name : Split(*text, ',')) {
    if (!name.empty()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace canopy::registration
