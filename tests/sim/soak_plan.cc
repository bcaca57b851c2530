#include "tests/sim/soak_plan.h"

namespace canopy::sim {

std::vector<Op> MakeScript(std::mt19937_64& rng, const std::string& nspace,
                           Rank ranks) {
  const auto random = [&rng](uint64_t n) { return rng() % n; };
  std::vector<ProcId> some;
  for (Rank r = 0; r < ranks; ++r) {
    if (random(2) == 0) some.push_back({nspace, r});
  }
  std::vector<Op> script;
  const uint64_t phases = 1 + random(5);
  for (uint32_t phase = 0; phase < phases; ++phase) {
    if (random(4) != 0) script.push_back({Op::Kind::kCommit, phase, {}});
    switch (random(7)) {
      case 0:
        script.push_back({Op::Kind::kFence, phase, {}});
        break;
      case 1:
      case 2:
        script.push_back({Op::Kind::kCollect, phase, {}});
        break;
      case 3:
        if (!some.empty()) script.push_back({Op::Kind::kSome, phase, some});
        break;
      case 4:
        if (script.empty() || script.back().kind != Op::Kind::kCommit ||
            script.back().number != phase) {
          script.push_back({Op::Kind::kCommit, phase, {}});
        }
        script.push_back({Op::Kind::kGet, phase, {}});
        break;
      case 5:
        if (!some.empty()) script.push_back({Op::Kind::kConnect, phase, some});
        break;
      default:
        script.push_back({Op::Kind::kForeign, phase, {}});
    }
  }
  return script;
}

void AddNames(std::mt19937_64& rng, std::vector<Op>* script) {
  const uint64_t count = 1 + rng() % 3;
  for (uint32_t number = 0; number < count; ++number) {
    const auto at = static_cast<ptrdiff_t>(rng() % (script->size() + 1));
    script->insert(script->begin() + at, Op{Op::Kind::kNames, number, {}});
  }
}

}  // namespace canopy::sim
