#include "hostmodule/map_policy.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>
#include <vector>

#include "common/string_util.h"

namespace canopy::host {
namespace {

using Level = TopologyLevel;

struct LevelWord {
  std::string_view word;
  Level level;
};
constexpr LevelWord kLevelWords[] = {
    {"package", Level::kPackage}, {"socket", Level::kPackage},
    {"numa", Level::kNuma},       {"l3cache", Level::kL3},
    {"l2cache", Level::kL2},      {"l1cache", Level::kL1},
    {"core", Level::kCore},       {"hwthread", Level::kHwthread},
};

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Splits at ':' and ','. Empty words are omitted, except an empty first word,
// which means the default policy.
std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find_first_of(":,", at), text.size());
    if (end > at || at == 0) words.push_back(Lower(text.substr(at, end - at)));
    at = end + 1;
  }
  return words;
}

std::optional<Level> FindLevel(std::string_view word) {
  for (const LevelWord& known : kLevelWords) {
    if (known.word == word) return known.level;
  }
  return std::nullopt;
}

std::optional<uint32_t> ParseCount(std::string_view text) {
  uint32_t n = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc() || stop != end || n == 0) return std::nullopt;
  return n;
}

// Returns the edit distance (insert, remove, replace) of two words.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

Status Unknown(std::string_view option, std::string_view word,
               std::span<const std::string_view> known) {
  std::string text =
      "unknown " + std::string(option) + " '" + std::string(word) + "'";
  const auto nearest = std::ranges::min_element(
      known, {}, [&](std::string_view k) { return Distance(word, k); });
  if (nearest != known.end() && Distance(word, *nearest) <= 2) {
    return {kErrBadParam,
            text + "; did you mean '" + std::string(*nearest) + "'?"};
  }
  text += "; use one of";
  for (const std::string_view k : known) text += " " + std::string(k);
  return {kErrBadParam, std::move(text)};
}

Status NotSupported(std::string_view option, std::string_view word) {
  return {kErrNotSupported,
          std::string(option) + " " + std::string(word) + " is not supported"};
}

constexpr std::string_view kMapWords[] = {
    "slot", "node",    "core",    "hwthread", "package", "socket",
    "numa", "l1cache", "l2cache", "l3cache",  "ppr",     "seq"};
constexpr std::string_view kMapModifiers[] = {
    "pe=N",          "span",
    "oversubscribe", "nooversubscribe",
    "nolocal",       "overload-allowed",
    "hwtcpus",       "corecpus"};
constexpr std::string_view kRankWords[] = {
    "slot",    "fill",   "node", "span",    "core",    "hwthread",
    "package", "socket", "numa", "l1cache", "l2cache", "l3cache"};
constexpr std::string_view kBindWords[] = {"none",    "core",    "hwthread",
                                           "package", "socket",  "numa",
                                           "l1cache", "l2cache", "l3cache"};
constexpr std::string_view kBindModifiers[] = {"overload-allowed",
                                               "no-overload", "if-supported"};

Status ApplyMapModifier(const std::string& word, MapPolicy* policy) {
  if (word.starts_with("pe=")) {
    const std::optional<uint32_t> n = ParseCount(word.substr(3));
    if (!n) return {kErrBadParam, "--map-by " + word + ": pe needs a number"};
    policy->pe = *n;
    policy->pe_given = true;
  } else if (word == "span") {
    policy->span = true;
  } else if (word == "oversubscribe") {
    policy->oversubscribe = true;
  } else if (word == "nooversubscribe" || word == "no-oversubscribe") {
    policy->oversubscribe = false;
  } else if (word == "nolocal") {
    policy->no_local = true;
  } else if (word == "overload-allowed") {
    policy->overload_allowed = true;
  } else if (word == "hwtcpus") {
    policy->hwthread_cpus = true;
  } else if (word == "corecpus") {
    policy->hwthread_cpus = false;
  } else if (word.starts_with("pe-list=") || word.starts_with("file=") ||
             word == "inherit" || word == "noinherit") {
    return NotSupported("--map-by modifier", word);
  } else {
    return Unknown("--map-by modifier", word, kMapModifiers);
  }
  return {};
}

// Parses the two words after words[0], which is "ppr".
Status ParsePpr(const std::vector<std::string>& words, MapPolicy* policy) {
  policy->kind = MapPolicy::Kind::kPpr;
  const std::optional<uint32_t> n =
      words.size() > 2 ? ParseCount(words[1]) : std::nullopt;
  if (!n) {
    return {kErrBadParam,
            "--map-by ppr needs a number and a resource, as in ppr:2:node"};
  }
  policy->per_resource = *n;
  if (words[2] == "node") return {};
  policy->level = FindLevel(words[2]);
  if (policy->level) return {};
  constexpr std::string_view kResources[] = {"node",    "package", "socket",
                                             "numa",    "core",    "hwthread",
                                             "l1cache", "l2cache", "l3cache"};
  return Unknown("resource in --map-by ppr", words[2], kResources);
}

}  // namespace

Result<MapPolicy> ParseMapBy(std::string_view text) {
  MapPolicy policy;
  const std::vector<std::string> words = Words(text);
  const std::string& word = words[0];
  size_t next = 1;
  if (word == "node") {
    policy.kind = MapPolicy::Kind::kNode;
  } else if (word == "seq") {
    policy.kind = MapPolicy::Kind::kSeq;
  } else if (word == "ppr") {
    if (Status s = ParsePpr(words, &policy); !s.ok()) return s;
    next = 3;
  } else if (std::optional<Level> level = FindLevel(word)) {
    policy.kind = MapPolicy::Kind::kObject;
    policy.level = level;
  } else if (word == "board" || word == "dist" || word == "rankfile" ||
             word == "likwid" || word == "minnuma") {
    return NotSupported("--map-by", word);
  } else if (!word.empty() && word != "slot") {
    // "span" or "pe=2" alone is a modifier of the default policy.
    MapPolicy probe;
    if (!ApplyMapModifier(word, &probe).ok()) {
      return Unknown("--map-by", word, kMapWords);
    }
    next = 0;
  }
  for (size_t i = next; i < words.size(); ++i) {
    if (Status s = ApplyMapModifier(words[i], &policy); !s.ok()) return s;
  }
  return policy;
}

Result<RankPolicy> ParseRankBy(std::string_view text) {
  RankPolicy policy;
  const std::string word = Lower(text);
  if (word.empty()) return policy;
  if (word == "slot" || word == "fill") {
    policy.kind = RankPolicy::Kind::kSlot;
  } else if (word == "node") {
    policy.kind = RankPolicy::Kind::kNode;
  } else if (word == "span") {
    policy.kind = RankPolicy::Kind::kSpan;
  } else if (std::optional<Level> level = FindLevel(word)) {
    policy.kind = RankPolicy::Kind::kObject;
    policy.level = *level;
  } else if (word == "board") {
    return NotSupported("--rank-by", word);
  } else {
    return Unknown("--rank-by", word, kRankWords);
  }
  return policy;
}

Result<BindPolicy> ParseBindTo(std::string_view text) {
  BindPolicy policy;
  constexpr std::string_view kSlots = "slots=";
  if (text.starts_with(kSlots)) {
    policy.given = true;
    policy.level = Level::kCore;
    policy.slots = Split(text.substr(kSlots.size()), '|');
    return policy;
  }
  const std::vector<std::string> words = Words(text);
  if (!words[0].empty()) {
    policy.given = true;
    policy.level = FindLevel(words[0]);
    if (!policy.level && words[0] != "none") {
      if (words[0] == "board") return NotSupported("--bind-to", words[0]);
      return Unknown("--bind-to", words[0], kBindWords);
    }
  }
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "overload-allowed") {
      policy.overload_allowed = true;
    } else if (words[i] == "no-overload") {
      policy.overload_allowed = false;
    } else if (words[i] == "if-supported") {
      policy.if_supported = true;
    } else {
      return Unknown("--bind-to modifier", words[i], kBindModifiers);
    }
  }
  return policy;
}

std::string ToString(const MapPolicy& policy) {
  std::string out;
  switch (policy.kind) {
    case MapPolicy::Kind::kSlot:
      out = "slot";
      break;
    case MapPolicy::Kind::kNode:
      out = "node";
      break;
    case MapPolicy::Kind::kSeq:
      out = "seq";
      break;
    case MapPolicy::Kind::kObject:
      out = canopy::ToString(*policy.level);
      break;
    case MapPolicy::Kind::kPpr:
      out = "ppr:" + std::to_string(policy.per_resource) + ":";
      out += policy.level ? canopy::ToString(*policy.level) : "node";
      break;
  }
  if (policy.pe > 1) out += ":pe=" + std::to_string(policy.pe);
  if (policy.span) out += ":span";
  if (policy.oversubscribe) {
    out += *policy.oversubscribe ? ":oversubscribe" : ":nooversubscribe";
  }
  if (policy.no_local) out += ":nolocal";
  if (policy.hwthread_cpus) out += ":hwtcpus";
  return out;
}

std::string ToString(const RankPolicy& policy) {
  switch (policy.kind) {
    case RankPolicy::Kind::kNode:
      return "node";
    case RankPolicy::Kind::kSpan:
      return "span";
    case RankPolicy::Kind::kObject:
      return std::string(canopy::ToString(policy.level));
    case RankPolicy::Kind::kAsMapped:
    case RankPolicy::Kind::kSlot:
      break;
  }
  return "slot";
}

std::string ToString(const BindPolicy& policy) {
  if (!policy.level) return "none";
  return std::string(canopy::ToString(*policy.level));
}

}  // namespace canopy::host
