#include "server/datastore/maps.h"

#include <charconv>
#include <cstddef>

namespace canopy::datastore {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

struct NumberedName {
  std::string_view prefix;
  size_t width = 0;  // 0: no number
  uint64_t number = 0;
};

NumberedName Split(const std::string& name) {
  size_t begin = name.size();
  while (begin > 0 && IsDigit(name[begin - 1])) --begin;
  NumberedName split;
  split.width = name.size() - begin;
  // Names that are a number, or end in one that is none, are kept whole.
  if (begin == 0 || split.width > 18) split.width = 0;
  split.prefix =
      std::string_view(name).substr(0, split.width == 0 ? name.size() : begin);
  if (split.width != 0) {
    std::from_chars(name.data() + begin, name.data() + name.size(),
                    split.number);
  }
  return split;
}

void AppendRange(std::string* out, uint64_t first, uint64_t last) {
  *out += std::to_string(first);
  if (last != first) *out += "-" + std::to_string(last);
}

// Appends one folded group of names and returns the index behind it.
size_t AppendGroup(const std::vector<NumberedName>& names, size_t i,
                   std::string* out) {
  const NumberedName& head = names[i];
  *out += head.prefix;
  if (head.width == 0) return i + 1;
  *out += "[" + std::to_string(head.width) + ":";
  bool first_range = true;
  while (i < names.size() && names[i].width == head.width &&
         names[i].prefix == head.prefix) {
    const uint64_t first = names[i].number;
    uint64_t last = first;
    for (++i; i < names.size() && names[i].width == head.width &&
              names[i].prefix == head.prefix && names[i].number == last + 1;
         ++i) {
      ++last;
    }
    if (!first_range) *out += ",";
    first_range = false;
    AppendRange(out, first, last);
  }
  *out += "]";
  return i;
}

// So many consecutive ranks on one node.
struct Block {
  uint32_t node;
  uint32_t ranks;
};

std::vector<Block> Blocks(const std::vector<uint32_t>& node_of_rank) {
  std::vector<Block> blocks;
  for (const uint32_t node : node_of_rank) {
    if (!blocks.empty() && blocks.back().node == node) {
      ++blocks.back().ranks;
    } else {
      blocks.push_back({node, 1});
    }
  }
  return blocks;
}

bool Repeats(const std::vector<Block>& blocks, size_t period) {
  for (size_t i = period; i < blocks.size(); ++i) {
    if (blocks[i].node != blocks[i - period].node ||
        blocks[i].ranks != blocks[i - period].ranks) {
      return false;
    }
  }
  return true;
}

// Readers start again at the first group when ranks are left, so a pattern
// that goes round the nodes needs to be written only once.
size_t Period(const std::vector<Block>& blocks) {
  for (size_t i = 1; i < blocks.size(); ++i) {
    if (blocks[i].node == blocks[0].node) {
      return Repeats(blocks, i) ? i : blocks.size();
    }
  }
  return blocks.size();
}

}  // namespace

std::string RankList(const std::vector<Rank>& ranks) {
  std::string out;
  for (const Rank rank : ranks) {
    if (!out.empty()) out += ',';
    out += std::to_string(rank);
  }
  return out;
}

std::string Join(const std::vector<std::string>& texts, char separator) {
  std::string out;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i != 0) out += separator;
    out += texts[i];
  }
  return out;
}

std::string NodeMapRegex(const std::vector<std::string>& names) {
  std::vector<NumberedName> split;
  split.reserve(names.size());
  for (const std::string& name : names) split.push_back(Split(name));
  std::string out = "pmix[";
  for (size_t i = 0; i < split.size();) {
    if (i != 0) out += ',';
    i = AppendGroup(split, i, &out);
  }
  return out + "]";
}

std::string ProcMapRaw(const std::vector<std::vector<Rank>>& ranks) {
  std::string out;
  for (size_t n = 0; n < ranks.size(); ++n) {
    if (n != 0) out += ';';
    out += RankList(ranks[n]);
  }
  return out;
}

std::string ProcMapRegex(const std::vector<std::vector<Rank>>& ranks) {
  std::string out = "pmix[";
  for (size_t n = 0; n < ranks.size(); ++n) {
    if (n != 0) out += ';';
    for (size_t i = 0; i < ranks[n].size();) {
      if (i != 0) out += ',';
      const Rank first = ranks[n][i];
      Rank last = first;
      for (++i; i < ranks[n].size() && ranks[n][i] == last + 1; ++i) ++last;
      AppendRange(&out, first, last);
    }
  }
  return out + "]";
}

std::string ProcessMapping(const std::vector<uint32_t>& node_of_rank) {
  std::vector<Block> blocks = Blocks(node_of_rank);
  blocks.resize(Period(blocks));
  std::string out = "(vector";
  for (size_t i = 0; i < blocks.size();) {
    const Block& head = blocks[i];
    uint32_t nodes = 1;
    for (++i; i < blocks.size() && blocks[i].ranks == head.ranks &&
              blocks[i].node == head.node + nodes;
         ++i) {
      ++nodes;
    }
    out += ",(" + std::to_string(head.node) + "," + std::to_string(nodes) +
           "," + std::to_string(head.ranks) + ")";
  }
  return out + ")";
}

}  // namespace canopy::datastore
