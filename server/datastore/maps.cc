#include "server/datastore/maps.h"

#include <cstddef>

namespace canopy::datastore {
namespace {

void AppendRange(std::string* out, uint64_t first, uint64_t last) {
  *out += std::to_string(first);
  if (last != first) *out += "-" + std::to_string(last);
}

// Consecutive ranks on one node.
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

// Returns the number of blocks after which the pattern repeats. Readers start
// again at the first group while ranks are left, so a round-robin pattern is
// written only once.
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
