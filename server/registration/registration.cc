#include "server/registration/registration.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

#include "common/required.h"
#include "common/string_util.h"
#include "common/values/info_list.h"
#include "common/values/regex.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "pmix_deprecated.h"
#include "server/registration/applications.h"
#include "server/registration/draft.h"
#include "server/registration/entry.h"
#include "server/registration/map_texts.h"
#include "server/registration/placement.h"
#include "server/registration/realm_keys.h"

namespace canopy::registration {
namespace {

// The keys for which Proc has members, and the keys that follow from its place
// in the job.
constexpr std::array kProcMembers = std::to_array<std::string_view>(
    {PMIX_RANK, PMIX_PROCID, PMIX_APPNUM, PMIX_HOSTNAME, PMIX_NODEID,
     PMIX_APP_RANK, PMIX_GLOBAL_RANK, PMIX_LOCAL_RANK, PMIX_NODE_RANK,
     PMIX_PACKAGE_RANK, PMIX_REINCARNATION, PMIX_CPUSET, PMIX_CPUSET_BITMAP,
     PMIX_LOCALITY_STRING, PMIX_PROCDIR});

// Merges the entries of several levels. Among entries of one key, the later one
// counts.
class Merger {
 public:
  explicit Merger(Problem* problem) : problem_(*problem) {}

  void Add(const Level& level) {
    for (const pmix_info_t* info : level.infos) infos_.push_back(info);
  }
  void AddOf(const Level& level, std::span<const std::string_view> keys) {
    for (const pmix_info_t* info : level.infos) {
      if (IsAnyOf(KeyOf(*info), keys)) infos_.push_back(info);
    }
  }
  void AddOthers(const Level& level, std::span<const std::string_view> keys) {
    for (const pmix_info_t* info : level.infos) {
      if (!IsAnyOf(KeyOf(*info), keys)) infos_.push_back(info);
    }
  }
  Keys Take();

 private:
  void Encode(const pmix_info_t& info, Keys* keys);

  Problem& problem_;
  std::vector<const pmix_info_t*> infos_;
};

// Returns true for arrays. Arrays with the same key are all kept, because each
// describes another object. Of other keys only the last entry is kept.
bool IsArray(std::string_view key) {
  return key == PMIX_NODE_INFO_ARRAY || key == PMIX_JOB_INFO_ARRAY;
}

Keys Merger::Take() {
  std::unordered_set<std::string_view> seen;
  Keys keys;
  for (size_t i = infos_.size(); i-- > 0;) {
    const std::string_view key = KeyOf(*infos_[i]);
    if (IsArray(key) || seen.insert(key).second) Encode(*infos_[i], &keys);
  }
  std::ranges::reverse(keys);
  return keys;
}

void Merger::Encode(const pmix_info_t& info, Keys* keys) {
  std::string value = EncodeEntry(info);
  if (!value.empty()) {
    keys->emplace_back(KeyOf(info), std::move(value));
  } else if (MustHonour(info.flags)) {
    problem_.Say(kErrNotSupported, "the value of " + NameOf(KeyOf(info)) +
                                       " cannot be passed to processes");
  }
}

class Builder {
 public:
  Builder(const Call& call, const Draft& draft, Registration* out,
          Problem* problem)
      : call_(call), draft_(draft), out_(*out), problem_(*problem) {}

  bool Run();

 private:
  void AddNodes();
  void AddOtherNodes();
  void AddApps();
  void AddProcs();
  void AddNumbers();
  void AddSession();
  void AddPolicies();
  void AddKeys();
  void DescribeNode(uint32_t index, uint32_t num_procs);
  Level LevelOf(uint32_t node) const;
  std::vector<std::string> AliasesOf(uint32_t node) const;
  void DescribeApp(const Level& level, JobApp* app);
  void DescribeProc(Rank rank, const DraftProc& draft);
  bool CheckLocalRanks();

  std::optional<uint32_t> Number(const Level& level, std::string_view key,
                                 uint32_t max = UINT32_MAX) {
    return ReadNumber(level.Find(key), max, &problem_);
  }
  // Returns the number from the first of these levels that has it.
  std::optional<uint32_t> Number(std::string_view key, const Level& level,
                                 const Level& other) {
    const auto number = Number(level, key);
    return number ? number : Number(other, key);
  }
  std::string Text(const Level& level, std::string_view key) {
    return std::string(ReadText(level.Find(key), &problem_).value_or(""));
  }
  static std::string Encoded(const Level& level, std::string_view key) {
    const pmix_info_t* info = level.Find(key);
    return info == nullptr ? "" : EncodeEntry(*info);
  }

  const Call& call_;
  const Draft& draft_;
  Registration& out_;
  Problem& problem_;
  Placement placement_;
  Applications apps_;
};

// Returns all entries about a node. For the host's own node, the entries of the
// job whose keys are in kNodeKeys come first.
Level Builder::LevelOf(uint32_t index) const {
  Level level;
  if (index == placement_.self) {
    for (const pmix_info_t* info : draft_.job.infos) {
      if (IsAnyOf(KeyOf(*info), kNodeKeys)) level.Add(*info);
    }
  }
  for (const size_t i : placement_.nodes[index].drafts) {
    for (const pmix_info_t* info : draft_.nodes[i].level.infos) {
      level.Add(*info);
    }
  }
  return level;
}

std::vector<std::string> Builder::AliasesOf(uint32_t index) const {
  const PlacedNode& placed = placement_.nodes[index];
  std::vector<std::string> said;
  if (index == placement_.self) said = placement_.self_names;
  for (const size_t i : placed.drafts) {
    const DraftNode& draft = draft_.nodes[i];
    said.push_back(draft.name);
    said.insert(said.end(), draft.aliases.begin(), draft.aliases.end());
  }
  std::vector<std::string> aliases;
  for (const std::string& name : said) {
    if (!name.empty() && name != placed.name &&
        std::ranges::find(aliases, name) == aliases.end()) {
      aliases.push_back(name);
    }
  }
  return aliases;
}

void Builder::DescribeNode(uint32_t index, uint32_t num_procs) {
  const Level level = LevelOf(index);
  JobNode& node = out_.job.nodes[index];
  node.name = placement_.nodes[index].name;
  node.agent = placement_.nodes[index].id;
  node.aliases = AliasesOf(index);
  node.slots = Number(level, PMIX_NUM_SLOTS).value_or(0);
  const uint32_t size = Number(level, PMIX_NODE_SIZE).value_or(0);
  node.other_procs = size - std::min(size, num_procs);
  const pmix_info_t* flag = level.Find(PMIX_NODE_OVERSUBSCRIBED);
  out_.job.oversubscribed |= ReadFlag(flag, &problem_).value_or(false);
  Merger keys(&problem_);
  keys.Add(level);
  out_.nodes[index] = keys.Take();
}

void Builder::AddNodes() {
  const size_t count = placement_.nodes.size();
  out_.job.nodes.resize(count);
  out_.nodes.resize(count);
  std::vector<uint32_t> procs(count);
  for (const uint32_t node : placement_.node_of) ++procs[node];
  for (uint32_t i = 0; i < count; ++i) DescribeNode(i, procs[i]);
  out_.self_node = placement_.self;
}

void Builder::AddOtherNodes() {
  for (const size_t i : placement_.unused) {
    const DraftNode& draft = draft_.nodes[i];
    Merger keys(&problem_);
    keys.Add(draft.level);
    out_.other_nodes.push_back(
        {draft.name, draft.aliases, draft.id, keys.Take()});
  }
}

void Builder::DescribeApp(const Level& level, JobApp* app) {
  app->cwd = Text(level, PMIX_WDIR);
  const pmix_info_t* argv = level.Find(PMIX_APP_ARGV);
  const auto text = argv == nullptr ? std::nullopt : StringOf(argv->value);
  for (std::string& word : Split(text.value_or(""), ' ')) {
    if (!word.empty()) app->argv.push_back(std::move(word));
  }
  if (!app->argv.empty()) app->cmd = app->argv.front();
}

void Builder::AddApps() {
  out_.job.apps.resize(apps_.count);
  out_.apps.resize(apps_.count);
  for (const uint32_t app : apps_.app_of) ++out_.job.apps[app].num_procs;
  static const Level kNothing;
  for (uint32_t a = 0; a < apps_.count; ++a) {
    const auto known = draft_.apps.find(a);
    const Level& level = known == draft_.apps.end() ? kNothing : known->second;
    Merger keys(&problem_);
    if (apps_.count == 1) {
      DescribeApp(draft_.job, &out_.job.apps[a]);
      keys.AddOf(draft_.job, kAppKeys);
    }
    if (!level.infos.empty()) {
      out_.job.apps[a].argv.clear();
      DescribeApp(level, &out_.job.apps[a]);
    }
    keys.Add(level);
    out_.apps[a] = keys.Take();
  }
}

void Builder::DescribeProc(Rank rank, const DraftProc& draft) {
  Proc& proc = out_.procs[rank];
  const Level& level = draft.level;
  const auto set = [&](std::string_view key, auto* member) {
    using T = std::remove_pointer_t<decltype(member)>;
    const auto number = Number(level, key, std::numeric_limits<T>::max());
    if (number) *member = static_cast<T>(*number);
  };
  set(PMIX_APP_RANK, &proc.numbers.app_rank);
  set(PMIX_LOCAL_RANK, &proc.numbers.local_rank);
  set(PMIX_NODE_RANK, &proc.numbers.node_rank);
  set(PMIX_GLOBAL_RANK, &proc.global_rank);
  set(PMIX_REINCARNATION, &proc.reincarnation);
  if (const auto number = Number(level, PMIX_PACKAGE_RANK, UINT16_MAX)) {
    proc.package_rank = static_cast<uint16_t>(*number);
  }
  proc.cpuset = Encoded(level, PMIX_CPUSET);
  proc.cpuset_bitmap = Encoded(level, PMIX_CPUSET_BITMAP);
  proc.locality = Encoded(level, PMIX_LOCALITY_STRING);
  proc.procdir = Encoded(level, PMIX_PROCDIR);
  Merger keys(&problem_);
  keys.AddOthers(level, kProcMembers);
  proc.keys = keys.Take();
}

// Sets the numbers of ranks that follow from the map, for ranks without
// explicit numbers.
void Builder::AddNumbers() {
  const JobLayout layout(out_.job);
  for (Rank rank = 0; rank < out_.procs.size(); ++rank) {
    out_.procs[rank].numbers = layout.numbers(rank);
    out_.procs[rank].global_rank = out_.job.nproc_offset + rank;
  }
}

void Builder::AddProcs() {
  const size_t count = placement_.node_of.size();
  for (Rank rank = 0; rank < count; ++rank) {
    out_.job.procs.push_back(
        {placement_.node_of[rank], apps_.app_of[rank], std::string()});
  }
  // The first process of a node determines the lowest node rank of the job
  // there.
  for (const auto& [rank, draft] : draft_.procs) {
    const auto local = Number(draft.level, PMIX_LOCAL_RANK, UINT16_MAX);
    const auto node = Number(draft.level, PMIX_NODE_RANK, UINT16_MAX);
    if (local == 0u && node) {
      out_.job.nodes[placement_.node_of[rank]].first_node_rank = *node;
    }
  }
  out_.procs.resize(count);
  AddNumbers();
  for (const auto& [rank, draft] : draft_.procs) DescribeProc(rank, draft);
}

bool Builder::CheckLocalRanks() {
  std::vector<std::unordered_map<uint32_t, Rank>> seen(out_.job.nodes.size());
  for (const auto& [rank, draft] : draft_.procs) {
    if (draft.level.Find(PMIX_LOCAL_RANK) == nullptr) continue;
    const uint16_t local = out_.procs[rank].numbers.local_rank;
    const uint32_t node = placement_.node_of[rank];
    const auto [it, added] = seen[node].emplace(local, rank);
    if (added) continue;
    return problem_.Say(
        kErrBadParam, "PMIX_LOCAL_RANK of ranks " + std::to_string(it->second) +
                          " and " + std::to_string(rank) + ", both on " +
                          out_.job.nodes[node].name + ", is the same");
  }
  return true;
}

void Builder::AddSession() {
  JobSpec& job = out_.job;
  const Level& session = draft_.session;
  const auto id = Number(session, PMIX_SESSION_ID);
  const auto jobs = Number(draft_.job, PMIX_SESSION_ID);
  if (id && jobs && id != jobs) {
    problem_.Say(kErrBadParam, "two values of PMIX_SESSION_ID");
  }
  job.session_id = id ? *id : jobs.value_or(0);
  auto size = Number(PMIX_UNIV_SIZE, session, draft_.job);
  if (!size) size = Number(session, PMIX_MAX_PROCS);
  job.universe_size = size.value_or(static_cast<uint32_t>(job.procs.size()));
  const pmix_info_t* nodes = draft_.job.Find(PMIX_ALLOCATED_NODELIST);
  if (nodes == nullptr) nodes = session.Find(PMIX_ALLOCATED_NODELIST);
  if (nodes == nullptr) return;
  auto names = ReadNodeMap(*nodes, &problem_);
  if (names) job.allocation = *std::move(names);
}

void Builder::AddPolicies() {
  JobSpec& job = out_.job;
  const Level& level = draft_.job;
  job.nproc_offset = Number(level, PMIX_NPROC_OFFSET).value_or(0);
  job.max_procs = Number(level, PMIX_MAX_PROCS).value_or(0);
  job.map_by = Text(level, PMIX_MAPBY);
  job.rank_by = Text(level, PMIX_RANKBY);
  job.bind_to = Text(level, PMIX_BINDTO);
  const pmix_info_t* parent = level.Find(PMIX_PARENT_ID);
  if (parent == nullptr) return;
  if (const auto proc = ProcOf(parent->value)) {
    job.parent = *proc;
  } else {
    problem_.Say(kErrTypeMismatch, "PMIX_PARENT_ID is not a process");
  }
}

void Builder::AddKeys() {
  Merger session(&problem_);
  session.AddOf(draft_.job, kSessionKeys);
  session.Add(draft_.session);
  out_.session = session.Take();
  Merger job(&problem_);
  job.AddOf(draft_.session, kSessionKeys);
  job.Add(draft_.job);
  out_.job_keys = job.Take();
}

bool Builder::Run() {
  if (!Place(call_, draft_, &placement_, &problem_)) return false;
  const auto count = static_cast<uint32_t>(placement_.node_of.size());
  if (!Assign(draft_, count, &apps_, &problem_)) return false;
  AddPolicies();
  AddNodes();
  AddOtherNodes();
  AddApps();
  AddProcs();
  AddSession();
  AddKeys();
  return problem_.ok() && CheckLocalRanks();
}

bool IsNoData(const Call& call, Problem* problem) {
  const pmix_info_t* info = FindInfo(call.infos, PMIX_REGISTER_NODATA);
  return ReadFlag(info, problem).value_or(false);
}

bool CheckCall(const Call& call, Problem* problem) {
  if (call.nspace.empty() || call.nspace.size() > kMaxNspaceLen) {
    return problem->Say(kErrBadParam, "the namespace has no name");
  }
  return true;
}

}  // namespace

Result<Registration> ReadRegistration(const Call& call) {
  Problem problem;
  Registration registration;
  registration.job.nspace = call.nspace;
  if (!CheckCall(call, &problem)) return problem.status();
  registration.no_data = IsNoData(call, &problem);
  if (registration.no_data || !problem.ok()) {
    if (problem.ok()) return registration;
    return problem.status();
  }
  Draft draft;
  if (!MakeDraft(call.nspace, call.infos, &draft, &problem) ||
      !Builder(call, draft, &registration, &problem).Run()) {
    return problem.status();
  }
  return registration;
}

}  // namespace canopy::registration
